"""What GitHub Actions shows: annotations on the pull request and a summary of the run.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from proofs.report.locations import place_of
from proofs.report.run import ACCEPTED, FAILED, LOST, OPEN, Report, headline
from proofs.report.verdicts_markdown import render as markdown

LEVELS = {FAILED: "error", LOST: "error", OPEN: "warning", ACCEPTED: "notice"}
LARGEST_SUMMARY = 900_000
"""Bytes; GitHub takes up to 1 MiB of one step."""


def is_actions(environment: Mapping[str, str]) -> bool:
    """Whether this runs as a step of GitHub Actions."""
    return environment.get("GITHUB_ACTIONS") == "true"


def workflow_commands(report: Report) -> list[str]:
    """Workflow commands, one line each: nothing of a message can end one or start another."""
    lines = []
    for obligation in report.outcome.obligations:
        level = LEVELS.get(report.state(obligation))
        if level is None:
            continue
        place = place_of(obligation)
        where = {} if place is None else {"file": place.file, "line": str(place.line)}
        where["title"] = f"schedproof: {obligation.invariant} ({obligation.mode})"
        lines.append(_command(level, where, headline(report, obligation)))
    lines += [
        _command("error", {"title": "schedproof: stale baseline"}, line) for line in report.stale
    ]
    return lines


def _command(level: str, properties: Mapping[str, str], message: str) -> str:
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {written}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def write_summary(report: Report, environment: Mapping[str, str]) -> str:
    """Append the table to the step's summary.

    Returns:
        What went wrong, in one line; empty if nothing did.  A summary that cannot be written does
        not change a verdict.
    """
    path = environment.get("GITHUB_STEP_SUMMARY")
    if not path:
        return ""
    text = markdown(report).encode()
    if len(text) > LARGEST_SUMMARY:
        text = markdown(report, traces=False).encode()[:LARGEST_SUMMARY]
    try:
        with Path(path).open("ab") as file:
            file.write(text)
    except OSError as error:
        return f"cannot write the step summary {path}: {error.strerror}"
    return ""
