"""Verdicts on a scheduler of our own: proved, violated with a line, undecided with a row."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import GOOD_PAD, OVERFLOWING_PAD, line_of, text, texts

from proofs.source.check import check_source
from proofs.source.errors import SourceError
from proofs.source.loader import Text
from proofs.source.objects import merging
from proofs.source.proving import induct
from proofs.source.verdicts import SourceReport
from proofs.symbolic import Limits
from proofs.verdict import ASYNC, PROVED, SYNC, UNDECIDED, VIOLATED


def _verdicts(report: SourceReport) -> dict[str, str]:
    return {finding.invariant: finding.verdict for finding in report.findings}


@pytest.mark.parametrize("whole_loop", [False, True])
def test_a_correct_scheduler_is_proved(whole_loop: bool) -> None:
    report = check_source(texts(GOOD_PAD), "mini", whole_loop_too=whole_loop, modes=[SYNC])
    assert set(_verdicts(report).values()) == {PROVED}, report
    assert report.verdict == PROVED and report.exit_status == 0 and report.dropped == ()


def test_padding_past_the_model_length_is_found_at_its_line() -> None:
    content = text(OVERFLOWING_PAD)
    report = check_source((Text("s.py", content),), "mini", whole_loop_too=True, modes=[SYNC])
    found = report.finding("within-model-len", SYNC)
    assert found is not None and found.trace is not None and found.verdict == VIOLATED
    assert found.line == line_of(content, "rows, padded = 1 + self.num_spec_tokens, True")
    assert found.trace.source == {"file": "s.py", "line": found.line}
    violation = found.trace.violation
    assert violation.left > violation.right == found.trace.config["max_model_len"]
    assert "room-to-sample (sync)" in report.dropped
    assert report.exit_status == 1


def test_an_assertion_is_found_at_its_line() -> None:
    content = text(admit="assert not padded or rows == 1 + self.num_spec_tokens, 'width'")
    content = content.replace("if room and self.threshold_allows():", "if room:")
    report = check_source((Text("s.py", content),), "mini", modes=[SYNC])
    found = report.finding("no-reachable-assert", SYNC)
    assert found is not None and found.verdict == VIOLATED and found.trace is not None
    assert found.line == line_of(content, "assert not padded")
    assert found.trace.violation.sentence.endswith("width")
    config = found.trace.config
    assert 0 < config["long_prefill_token_threshold"] < 1 + config["num_spec_tokens"]


def test_a_queue_that_is_forgotten_is_no_progress() -> None:
    content = text(GOOD_PAD)
    assert content.count("while not preempted and self.waiting") == 1
    content = content.replace("while not preempted and", "while not preempted and self.running and")
    report = check_source((Text("s.py", content),), "mini", modes=[SYNC])
    found = report.finding("progress", SYNC)
    assert found is not None and found.verdict == VIOLATED and found.trace is not None
    assert "not looked at" in str(found.trace.to_json())


@pytest.mark.parametrize("whole_loop", [False, True])
def test_a_request_that_leaves_every_queue_is_lost(whole_loop: bool) -> None:
    content = text(
        admit="if rows > 3:\n                self.waiting.pop_request()\n                continue"
    )
    report = check_source((Text("s.py", content),), "mini", whole_loop_too=whole_loop, modes=[SYNC])
    found = report.finding("request-conservation", SYNC)
    assert found is not None and found.verdict == VIOLATED and found.trace is not None


def test_every_trace_shows_the_branches_before_its_line() -> None:
    report = check_source(texts(OVERFLOWING_PAD), "mini", modes=[SYNC])
    for finding in report.findings:
        if finding.trace is not None:
            assert finding.trace.branches
            assert all(b["file"] == "scheduler.py" for b in finding.trace.branches)


def test_an_unknown_attribute_is_undecided_with_line_and_row() -> None:
    content = text(schedule="self.kv_cache_manager.defragment()")
    report = check_source((Text("s.py", content),), "mini", modes=[SYNC])
    assert set(_verdicts(report).values()) == {UNDECIDED} and report.exit_status == 3
    (gap,) = report.findings[0].gaps
    assert gap.attribute == "kv_cache_manager.defragment"
    assert gap.line == line_of(content, "defragment")
    assert gap.settle.startswith("kv_cache_manager.defragment() | call | ")
    assert gap.settle in report.findings[0].reason


@pytest.mark.parametrize(
    ("use", "rows"),
    [
        ("Thing()", 1),
        ("isinstance(self, Thing)", 1),
        ("Thing.part", 2),
        ("Thing.part()", 2),
        ("self.kv_cache_manager.defragment()", 1),
        ("self.vllm_config.fork_config", 1),
        ("self.vllm_config.fork_config.knob", 2),
        ("self.vllm_config.fork_config.get('knob')", 2),
    ],
)
def test_the_rows_the_report_asks_for_settle_it(use: str, rows: int) -> None:
    content, profile = texts(imports="from fork.thing import Thing", schedule=use), ""
    for _ in range(rows):
        report = check_source(content, "mini", modes=[SYNC], profile=profile)
        (gap,) = report.findings[0].gaps
        profile += gap.settle + "\n"
    assert check_source(content, "mini", modes=[SYNC], profile=profile).verdict == PROVED


def test_an_unknown_import_is_undecided_only_where_it_is_used() -> None:
    unused = check_source(texts(imports="from fork.thing import Thing"), "mini", modes=[SYNC])
    assert unused.verdict == PROVED
    used = check_source(
        texts(imports="from fork.thing import Thing", schedule="Thing()"), "mini", modes=[SYNC]
    )
    assert used.verdict == UNDECIDED
    assert any(gap.attribute == "import Thing" for gap in used.findings[0].gaps)


def test_unknown_state_is_undecided() -> None:
    report = check_source(
        texts(init="self.debt = 0", schedule="self.debt += 1"), "mini", modes=[SYNC]
    )
    assert report.verdict == UNDECIDED
    assert "scheduler.debt" in report.findings[0].gaps[0].attribute


def test_a_cut_exploration_is_never_proved() -> None:
    report = check_source(texts(), "mini", modes=[SYNC], limits=Limits(paths=3))
    assert PROVED not in _verdicts(report).values()


def test_without_an_async_class_async_is_not_judged() -> None:
    report = check_source(texts(), "mini")
    assert {finding.mode for finding in report.findings} == {SYNC}
    assert any("async" in note for note in report.notes)


def test_a_text_without_a_scheduler() -> None:
    with pytest.raises(SourceError, match="no class Scheduler") as error:
        check_source((Text("s.py", "x = 1\n"),), "s.py")
    assert error.value.status == 2


def test_a_renamed_method() -> None:
    content = text().replace("def schedule(", "def plan(")
    with pytest.raises(SourceError, match="no method schedule") as error:
        check_source((Text("s.py", content),), "s.py")
    assert error.value.status == 3


def test_a_text_that_fails_while_loading() -> None:
    with pytest.raises(SourceError, match=r"s\.py:1: the file does not load: ZeroDivisionError"):
        check_source((Text("s.py", "x = 1 // 0\n"),), "s.py")


def test_a_report_survives_the_pipe() -> None:
    import json

    report = check_source(texts(OVERFLOWING_PAD), "mini", modes=[SYNC])
    assert SourceReport.from_json(json.loads(json.dumps(report.to_json()))) == report


def test_verdicts_do_not_depend_on_the_order_of_runs() -> None:
    first = check_source(texts(OVERFLOWING_PAD), "mini", modes=[SYNC])
    check_source(texts(GOOD_PAD), "mini", modes=[SYNC])
    again = check_source(texts(OVERFLOWING_PAD), "mini", modes=[SYNC])
    assert first.findings == again.findings


def test_modes_are_named() -> None:
    assert (SYNC, ASYNC) == ("sync", "async")


@pytest.mark.parametrize("field", ["num_prompt_tokens", "max_tokens", "priority", "arrival_time"])
def test_what_the_client_asked_for_may_not_change(field: str) -> None:
    report = check_source(texts(admit=f"request.{field} += 1"), "mini", modes=[SYNC])
    found = report.finding("request-conservation", SYNC)
    assert found is not None and found.verdict == VIOLATED
    assert found.trace is not None and field in str(found.trace.to_json())


def test_a_fault_of_merging_is_no_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    """On integers the text runs as it is written: what merging made of it breaks nothing there."""

    merge = merging.merge

    def forgets(condition: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
        return merge(condition, other, other)

    monkeypatch.setitem(merging.FUNCTIONS, merging.MERGE, forgets)
    report = check_source(texts(), "mini", modes=[SYNC])
    assert {finding.verdict for finding in report.findings} == {UNDECIDED}
    assert any("run as it is written" in finding.reason for finding in report.findings)


def test_every_path_is_run_again_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def listens(*given: Any) -> str:
        ran.append(given[1].name)
        return ""

    monkeypatch.setattr(induct, "disagreement", listens)
    report = check_source(texts(), "mini", modes=[SYNC])
    assert len(ran) == report.statistics.paths > 10
