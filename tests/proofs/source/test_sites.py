"""Exceptions one by one: each statement that raises is an obligation of its own."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import GOOD_PAD, OVERFLOWING_PAD, text, texts

from proofs import baseline
from proofs.report.from_source import outcome_of
from proofs.source.check import check_source
from proofs.source.loader import Text
from proofs.source.proving.sites import _named
from proofs.source.verdicts import Finding, SourceReport
from proofs.verdict import PROVED, SYNC, UNDECIDED, VIOLATED

ASSERT = "no-reachable-assert"
NARROW = "assert rows < 2 + self.num_spec_tokens, 'narrow'"
WIDE = "assert not self.running or rows > 0 or budget == 0"
NAME = "Scheduler.schedule: assert rows < 2 + self.num_spec_tokens"


def _check(content: str) -> SourceReport:
    return check_source((Text("s.py", content),), "mini", modes=[SYNC])


def _raised(report: SourceReport) -> dict[str, Finding]:
    return {f.site: f for f in report.findings if f.invariant == ASSERT}


@pytest.fixture(scope="module")
def two() -> SourceReport:
    return _check(text(schedule="assert len(self.waiting) < 9, 'crowd'", admit=NARROW))


def test_two_assertions_are_two_obligations(two: SourceReport) -> None:
    found = _raised(two)
    assert set(found) == {NAME, "Scheduler.schedule: assert len(self.waiting) < 9"}
    assert {f.verdict for f in found.values()} == {VIOLATED}
    assert len({f.line for f in found.values()}) == 2


def test_a_known_assertion_does_not_hide_a_new_one(two: SourceReport) -> None:
    entry = baseline.Entry(ASSERT, "known", source="mini", site=NAME)
    report = baseline.apply(outcome_of(two), [entry])
    assert report.verdict == VIOLATED
    assert [o.site for o in report.failures()] == [
        "Scheduler.schedule: assert len(self.waiting) < 9"
    ]
    nameless = baseline.Entry(ASSERT, "known", source="mini")
    assert len(list(baseline.apply(outcome_of(two), [nameless]).failures())) == 2


def test_an_entry_moves_with_its_statement_and_not_with_its_line() -> None:
    entry = baseline.Entry(ASSERT, "known", source="mini", site=NAME)
    shifted = "# a line\n# and another\n" + text(admit=NARROW.replace("narrow", "said otherwise"))
    for content in (text(admit=NARROW), shifted):
        report = baseline.apply(outcome_of(_check(content)), [entry])
        assert report.verdict == PROVED and report.stale == ()
    changed = text(admit=NARROW.replace("2 +", "1 +"))
    report = baseline.apply(outcome_of(_check(changed)), [entry])
    assert report.verdict == VIOLATED and len(report.stale) == 1


def test_an_entry_whose_assertion_holds_is_stale() -> None:
    entry = baseline.Entry(ASSERT, "known", source="mini", site=NAME)
    report = baseline.apply(outcome_of(_check(text())), [entry])
    assert report.stale and NAME in report.stale[0]


def test_what_is_undecided_makes_no_entry_stale() -> None:
    entry = baseline.Entry(ASSERT, "known", source="mini", site=NAME)
    report = _check(text(schedule="self.kv_cache_manager.defragment()"))
    assert baseline.apply(outcome_of(report), [entry]).stale == ()


def test_statements_that_read_the_same_are_numbered() -> None:
    tree = ast.parse("class A:\n def f(self):\n  assert x\n  assert x, 'again'\n  x(); y()\n")
    assert [_named(tree, line) for line in (3, 4, 5)] == [
        ("A.f", "assert x"),
        ("A.f", "assert x #2"),
        ("A.f", "x(); y()"),
    ]


def test_a_line_inside_a_statement_belongs_to_it() -> None:
    tree = ast.parse(
        "def f():\n while (a and\n   b):\n  assert (\n   c,\n  )\n def g():\n  assert (\n   c,)\n"
    )
    assert {_named(tree, line) for line in (2, 3)} == {("f", "while a and b:")}
    assert {_named(tree, line) for line in (4, 5, 6)} == {("f", "assert (c,)")}
    assert {_named(tree, line) for line in (8, 9)} == {("f.g", "assert (c,)")}


def test_the_numbers_are_those_of_the_comparison(two: SourceReport) -> None:
    trace = _raised(two)[NAME].trace
    assert trace is not None
    violation, k = trace.violation, trace.config["num_spec_tokens"]
    assert (violation.relation, violation.right) == ("<", 2 + k)
    assert violation.left >= violation.right
    assert violation.sentence.startswith(
        f"rows = {violation.left} >= {2 + k} = 2 + num_spec_tokens: AssertionError"
    )
    assert violation.sentence.endswith(": narrow")


@pytest.mark.parametrize(
    ("test", "promised"),
    [
        ("not (rows >= 3)", "rows < 3"),
        ("padded or rows <= 2", "rows <= 2"),
        ("rows <= 2 and not padded", "rows <= 2"),
        ("len(self.running) - 1 < 0", "len(running) - 1 < 0"),
        ("rows in (1, 2)", "exceptions == 0"),
        ("rows <= min(2, 3)", "exceptions == 0"),
    ],
)
def test_a_comparison_is_read_back_where_it_is_whole_numbers(test: str, promised: str) -> None:
    from proofs.report.trace_view import promised as in_names

    (found,) = _raised(_check(text(admit=f"assert {test}"))).values()
    assert found.trace is not None and in_names(found.trace.violation) == promised


def test_other_exceptions_have_their_statement_too() -> None:
    found = _raised(_check(text(admit="x = [1, 2][2 if padded else 0]")))
    (site,) = found
    assert site == "Scheduler.schedule: IndexError in x = [1, 2][2 if padded else 0]"
    (site,) = _raised(_check(text(admit="if rows > 3:\n                raise ValueError('x')")))
    assert site == "Scheduler.schedule: raise ValueError('x')"


def test_a_promise_is_not_proved_of_paths_that_raised_without_saying_so() -> None:
    guarded = "assert rows <= 1 or padded\n            rows += rows > 1 and not padded"
    report = _check(text(admit=guarded))
    for finding in report.findings:
        if finding.verdict == PROVED:
            assert "crash-is-the-end" in finding.assumptions
            assert "up to the first exception" in finding.scope
    assert not any("exception" in finding.scope for finding in _check(text()).findings)


def test_one_assertion_is_violated_and_the_others_are_undecided() -> None:
    unknown = "assert rows < 3\n            self.kv_cache_manager.defragment()"
    report = _check(text(admit=unknown))
    found = _raised(report)
    assert found["Scheduler.schedule: assert rows < 3"].verdict == VIOLATED
    assert found[""].verdict == UNDECIDED
    worst = report.finding(ASSERT, SYNC)
    assert worst is not None and worst.verdict == VIOLATED


def test_the_step_that_raises_shows_what_was_given_out_before() -> None:
    content = text(GOOD_PAD, admit="assert not rows_of, 'late'")
    content = content.replace("rows_of", "num_scheduled_tokens")
    (found,) = _raised(_check(content)).values()
    assert found.trace is not None
    first, second = found.trace.steps[-1].requests
    assert (first.outcome, first.num_scheduled_tokens > 0) == ("scheduled", True)
    assert second.outcome == "raised"
    assert found.trace.violation.request == second.request_id


def test_no_field_is_shown_that_is_not_modelled() -> None:
    for finding in _check(text(OVERFLOWING_PAD)).findings:
        if finding.trace is not None:
            assert not {"num_gpu_blocks", "block_size", "draft_slots"} & set(finding.trace.config)
    assert texts()


def test_an_assertion_about_the_whole_step_is_about_no_request() -> None:
    content = text().replace(
        "        output = SchedulerOutput(\n",
        "        assert len(rows_of) < 2\n        output = SchedulerOutput(\n",
    )
    (found,) = _raised(_check(content)).values()
    assert found.trace is not None
    assert found.trace.violation.request == ""
    assert found.trace.steps[-1].decision.endswith("the step raises")


def test_an_exception_in_booking_is_told_as_one() -> None:
    content = text(update="assert len(stopped) < 1, 'nobody may stop'")
    report = check_source((Text("s.py", content),), "mini", whole_loop_too=True, modes=[SYNC])
    (found,) = _raised(report).values()
    assert found.trace is not None
    (step,) = found.trace.steps
    assert [line.outcome for line in step.requests] == ["raised"]
    assert step.decision == "no step is decided: output comes back"
