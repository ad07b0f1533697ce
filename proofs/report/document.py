"""The JSON document of a run (design §6): an interface other programs read."""

from __future__ import annotations

import json
from typing import Any

from proofs.campaign import Outcome

SCHEMA = 1


def document(outcome: Outcome) -> dict[str, Any]:
    """Plain data; keys are documented in README.md."""
    return {
        "schema": SCHEMA,
        "target": outcome.target,
        "verdict": outcome.verdict,
        "seconds": round(outcome.seconds, 3),
        "obligations": [obligation.to_json() for obligation in outcome.obligations],
    }


def dumps(outcome: Outcome) -> str:
    """The document as text, one trailing newline."""
    return json.dumps(document(outcome), indent=1, ensure_ascii=False) + "\n"
