"""A run as SARIF 2.1.0, for code-scanning tabs: a violation at its line of the scheduler source.

A violation of the model is located at the policy's definition.  Proofs are no results; what is
undecided is a notification of the run, because it is no statement about the code.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from proofs.report.locations import Place, place_of
from proofs.report.run import ACCEPTED, FAILED, OPEN, Report, headline, key
from proofs.report.trace_markdown import render as trace_markdown
from proofs.report.trace_text import render as trace_text
from proofs.report.trace_view import command, link, sources, statement, why
from proofs.trace import Trace
from proofs.verdict import Obligation
from spec.invariants import IDS

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
VERSION = "2.1.0"


def render(report: Report) -> str:
    """The document as text, one trailing newline."""
    return json.dumps(document(report), indent=1, ensure_ascii=False) + "\n"


def document(report: Report) -> dict[str, Any]:
    """The document as plain data."""
    shown = [o for o in report.outcome.obligations if report.state(o) in (FAILED, ACCEPTED)]
    undecided = [o for o in report.outcome.obligations if report.state(o) == OPEN]
    told = [_notification(headline(report, o), o.invariant) for o in undecided]
    told += [_notification(f"stale entry of the baseline: {line}", None) for line in report.stale]
    run = {
        "tool": {
            "driver": {
                "name": "schedproof",
                "version": version(),
                "rules": [_rule(name) for name in IDS],
            }
        },
        "invocations": [{"executionSuccessful": not undecided, "toolExecutionNotifications": told}],
        "columnKind": "unicodeCodePoints",
        "properties": {"target": report.outcome.target, "verdict": report.verdict},
        "results": [_result(report, o) for o in shown],
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


@cache
def version() -> str:
    """The version of this program: of the checkout it runs from, or as installed."""
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    if project.is_file():
        told = tomllib.loads(project.read_text(encoding="utf-8"))
        return str(told["project"]["version"])
    return metadata.version("schedproof")


def _rule(name: str) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": name,
        "name": "".join(word.capitalize() for word in name.split("-")),
        "shortDescription": {"text": statement(name)},
        "fullDescription": {"text": f"{statement(name)} {why(name)}"},
        "help": {
            "text": f"{why(name)} Read more: python -m proofs explain {name}",
            "markdown": f"{why(name)}\n\nRead more: `python -m proofs explain {name}`",
        },
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["scheduler", "formal-verification"], "precision": "very-high"},
    }
    links = [link(source) for source in sources(name) if link(source)]
    return rule | ({"helpUri": links[0]} if links else {})


def _notification(text: str, invariant: str | None) -> dict[str, Any]:
    told: dict[str, Any] = {"level": "warning", "message": {"text": text}}
    if invariant is not None:
        told["associatedRule"] = {"id": invariant, "index": IDS.index(invariant)}
    return told


def _result(report: Report, obligation: Obligation) -> dict[str, Any]:
    trace = obligation.trace
    place = place_of(obligation)
    result: dict[str, Any] = {
        "ruleId": obligation.invariant,
        "ruleIndex": IDS.index(obligation.invariant),
        "level": "error",
        "kind": "fail",
        "message": {"text": headline(report, obligation)},
        "locations": [_location(place, obligation.policy)],
        "partialFingerprints": {"schedproof/v1": fingerprint(obligation)},
        "properties": {"policy": obligation.policy, "mode": obligation.mode},
    }
    if trace is not None:
        result["message"] = {
            "text": f"{headline(report, obligation)}\n\n{trace_text(trace)}",
            "markdown": trace_markdown(trace, heading=3),
        }
        result["codeFlows"] = [_flow(trace, place)]
        result["properties"]["command"] = command(trace)
    if obligation.site:
        result["properties"]["site"] = obligation.site
    reason = report.reason(obligation)
    if reason:
        result["suppressions"] = [{"kind": "external", "justification": reason}]
    return result


def fingerprint(obligation: Obligation) -> str:
    """The same for the same violation in another run, whatever lines moved."""
    text = "\0".join(key(obligation))
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:32]


def _location(place: Place | None, policy: str, text: str = "") -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": policy or "scheduler"}]}
    if place is not None:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": uri(place.file)},
            "region": {"startLine": max(place.line, 1)},
        }
    if text:
        location["message"] = {"text": text}
    return location


def uri(file: str) -> str:
    """A file name as a relative or ``file:`` reference."""
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _flow(trace: Trace, end: Place | None) -> dict[str, Any]:
    """The branches that were taken, then the steps, ending where the promise breaks."""
    stops = []
    for branch in trace.branches:
        place = Place(str(branch["file"]), int(branch["line"]))
        taken = "branch taken" if branch["taken"] else "branch not taken"
        stops.append(_location(place, trace.policy, taken))
    for step in trace.steps:
        text = f"step {step.step}, rank {step.rank}: {step.decision}"
        if step.violated is not None:
            text += f"; breaks here: {step.violated.sentence}"
        stops.append(_location(end, trace.policy, text))
    return {"threadFlows": [{"locations": [{"location": stop} for stop in stops]}]}
