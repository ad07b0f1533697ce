"""From a violation in an arbitrary state to an execution that starts with ``add_request``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import GOOD_PAD, OVERFLOWING_PAD, texts

from proofs.source.check import check_source
from proofs.source.loader import Text, load
from proofs.source.profile import profile_for
from proofs.source.proving.concrete import NotReplayed, Numbers, replay
from proofs.source.proving.reach import Corner
from proofs.source.runs.life import life
from proofs.source.runs.narrow import Narrowed
from proofs.source.runs.shapes import Task
from proofs.source.verdicts import NOT_SHOWN, REACHABLE, Finding, SourceReport
from proofs.verdict import SYNC, VIOLATED


def _check(content: tuple[Text, ...], paths: int) -> SourceReport:
    return check_source(content, "mini", modes=[SYNC], reach_paths=paths)


def _violated(report: SourceReport) -> list[Finding]:
    return [f for f in report.findings if f.verdict == VIOLATED]


@pytest.fixture(scope="module")
def overflowing() -> SourceReport:
    return _check(texts(OVERFLOWING_PAD), 2_000)


def test_padding_past_the_model_length_is_reached_in_one_step(overflowing: SourceReport) -> None:
    found = overflowing.finding("within-model-len", SYNC)
    assert found is not None and found.trace is not None
    assert found.reachability == REACHABLE
    (step,) = found.trace.steps
    assert step.events[0].startswith("A arrives: 2 prompt tokens, max_tokens ")
    assert step.events[1] == "1 token of A in the prefix cache"
    assert step.violated is not None
    assert step.violated.sentence == "1 + 2 + 1 = 4 > 3 = max_model_len"


def test_every_execution_runs_again_on_its_numbers(overflowing: SourceReport) -> None:
    loaded = load(texts(OVERFLOWING_PAD), profile_for(None))
    for finding in _violated(overflowing):
        trace = finding.trace
        assert trace is not None and trace.scenario is not None
        steps, requests = (int(w) for w in trace.scenario["scenario"].split() if w.isdigit())
        before = check_source(texts(OVERFLOWING_PAD), "mini", modes=[SYNC])
        one_state = before.finding(finding.invariant, SYNC)
        assert one_state is not None
        corner = Corner.of(one_state)
        ranges = corner.ranges(requests, int(trace.config["max_model_len"]), ())
        play = life(steps, requests, {finding.invariant}, corner.end)
        task = Task(trace.scenario["scenario"], play, corner.features, tuple(ranges.items()))
        again = replay(loaded, task, trace.scenario["answers"], finding.invariant)
        assert again.steps == trace.steps


def test_a_crash_in_a_later_step_is_reached_after_the_steps_before_it() -> None:
    report = _check(texts(schedule="assert len(self.running) < 2, 'two'"), 2_000)
    found = report.finding("no-reachable-assert", SYNC)
    assert found is None or found.verdict != VIOLATED  # one running request at most in one step
    late = "assert not self.running or self.running[0].num_output_tokens < 2, 'late'"
    found = _check(texts(schedule=late), 2_000).finding("no-reachable-assert", SYNC)
    assert found is not None and found.trace is not None
    assert found.reachability == REACHABLE
    assert [step.step for step in found.trace.steps] == [0, 1, 2]
    assert [bool(step.violated) for step in found.trace.steps] == [False, False, True]
    assert found.trace.steps[0].booked[0] == "output of A booked: 1 token, 2 in all"


def test_what_no_short_execution_reaches_is_not_called_reachable() -> None:
    never = "assert not self.waiting or self.waiting.peek_request().num_computed_tokens >= 0\n"
    never += "        assert self.max_model_len < 1000, 'too long for the search'"
    found = _check(texts(schedule=never), 200).finding("no-reachable-assert", SYNC)
    assert found is not None and found.verdict == VIOLATED
    assert found.reachability == NOT_SHOWN
    assert found.trace is not None and len(found.trace.steps) == 1


def test_a_correct_scheduler_has_no_execution_to_show() -> None:
    assert _violated(_check(texts(GOOD_PAD), 10)) == []


def test_a_narrowed_context_answers_what_it_was_told() -> None:
    narrowed = Narrowed(Numbers({"a": 7, "b": 9}), {"fixed": (3, 3), "a": (0, 5), "flag": (1, 1)})
    assert narrowed.int("fixed #2") == 3
    assert narrowed.int("b", 0) == 9
    assert narrowed.bool("flag of A") is True and narrowed.bool("other") is False
    with pytest.raises(NotReplayed, match="do not satisfy"):
        narrowed.assume(False)
    with pytest.raises(NotReplayed, match="outside"):
        narrowed.unsupported("outside")
