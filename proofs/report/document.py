"""The JSON document of a run (design §6): an interface other programs read."""

from __future__ import annotations

import json
from typing import Any

from proofs.report.run import Report

SCHEMA = 1


def document(report: Report) -> dict[str, Any]:
    """Plain data; keys are documented in README.md."""
    outcome = report.outcome
    return {
        "schema": SCHEMA,
        "target": outcome.target,
        "verdict": report.verdict,
        "seconds": round(outcome.seconds, 3),
        "obligations": [
            obligation.to_json() | {"accepted": report.reason(obligation) or None}
            for obligation in outcome.obligations
        ],
        "stale": list(report.stale),
    }


def dumps(report: Report) -> str:
    """The document as text, one trailing newline."""
    return json.dumps(document(report), indent=1, ensure_ascii=False) + "\n"
