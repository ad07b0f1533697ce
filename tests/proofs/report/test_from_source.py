"""A checked source goes through every report, with its lines and its text."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from proofs.campaign import Outcome
from proofs.report import outputs, sarif, trace_file, trace_text
from proofs.report.from_source import outcome_of
from proofs.report.run import Report
from proofs.source.check import check_source
from proofs.verdict import SYNC, VIOLATED

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "source"))

from mini import OVERFLOWING_PAD, texts

TARGET = "--source mini/scheduler.py"


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    given = tuple(texts(OVERFLOWING_PAD))
    report = check_source(given, "mini/scheduler.py", modes=[SYNC])
    return outcome_of(report, given, TARGET)


def test_every_finding_becomes_an_obligation(outcome: Outcome) -> None:
    assert Report(outcome).verdict == VIOLATED
    assert {o.policy for o in outcome.obligations} == {"mini/scheduler.py"}


def test_a_trace_quotes_the_source_and_says_how_to_see_it_again(outcome: Outcome) -> None:
    trace = next(o.trace for o in outcome.obligations if o.trace is not None)
    assert trace.source is not None
    text = trace_text.render(trace)
    assert f"check {TARGET} --only {trace.invariant}" in text
    lines = dict(enumerate(next(iter(texts(OVERFLOWING_PAD))).content.splitlines(), 1))
    branch = trace.branches[-1]
    assert f"| {lines[branch['line']].strip()}" in text
    assert trace_file.loads(trace_file.dumps(trace), "a") == trace


def test_code_scanning_gets_the_line_of_the_source(outcome: Outcome) -> None:
    results = json.loads(sarif.render(Report(outcome)))["runs"][0]["results"]
    for result in results:
        place = result["locations"][0]["physicalLocation"]
        assert place["region"]["startLine"] > 1
        assert result["codeFlows"][0]["threadFlows"][0]["locations"][0]["location"]["message"]


@pytest.mark.parametrize("name", outputs.FORMATS)
def test_every_format_can_be_written(outcome: Outcome, name: str) -> None:
    assert "within-model-len" in outputs.FORMATS[name](Report(outcome), True)
