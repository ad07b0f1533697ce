"""Two texts on the same inputs: what differs is found and named, the rest is proved equal."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import GOOD_PAD, OVERFLOWING_PAD, line_of, text, texts
from planted import release

from proofs.source.diff import diff_sources
from proofs.source.differences import CHANGED, DiffReport, together
from proofs.source.errors import CANNOT_TELL, SourceError
from proofs.source.fetch import fetch_release
from proofs.source.loader import Text
from proofs.source.sandbox import Pair, diff_in_sandbox
from proofs.symbolic import Limits
from proofs.verdict import ASYNC, MODES, PROVED, SYNC, UNDECIDED

NAMES = ("old", "new")


def _diff(old: tuple[Text, ...], new: tuple[Text, ...], **options: object) -> DiffReport:
    return diff_sources(old, new, NAMES, modes=[SYNC], **options)  # type: ignore[arg-type]


@cache
def _releases(old: str, new: str) -> DiffReport:
    try:
        before, after = fetch_release(old), fetch_release(new)
    except SourceError as error:
        if error.status == CANNOT_TELL:
            pytest.skip(str(error))
        raise
    return diff_sources(before.texts, after.texts, (old, new), (old, new))


def test_a_text_equals_itself() -> None:
    report = _diff(texts(), texts())
    assert report.differences == () and report.undecided == () and report.exit_status == 0
    assert {same.verdict for same in report.populations} == {PROVED}


def test_the_same_rule_in_other_words_is_equal() -> None:
    other = GOOD_PAD.replace(
        "computed + 1 + self.num_spec_tokens + 1 <= self.max_model_len",
        "self.max_model_len - computed > 1 + self.num_spec_tokens",
    )
    assert other != GOOD_PAD
    assert _diff(texts(), texts(other)).exit_status == 0


def test_a_dropped_bound_is_one_class_with_its_smallest_example() -> None:
    bound = GOOD_PAD.replace("room and ", "")
    report = _diff(texts(), texts(bound))
    assert report.exit_status == 1 and report.undecided == ()
    assert all("C + 1 + K + s > L" in d.conditions for d in report.differences)
    told = "on a rank with nothing running: 1 row before, 1 + K rows after"
    (found,) = (d for d in report.differences if d.sentence.endswith(told))
    assert "one waiting request with C > 0" in found.sentence
    assert found.config["max_model_len"] == 3 and found.config["num_spec_tokens"] == 1
    content = text(bound)
    assert found.after.line == line_of(content, "rows, padded = 1 + self.num_spec_tokens, True")
    assert found.before.requests[-1].num_scheduled_tokens == 1
    assert found.after.requests[-1].num_scheduled_tokens == 2
    assert report.population("ordinary prefills") == PROVED
    assert report.population("diffusion") == PROVED


def test_the_same_news_in_other_company_is_told_once() -> None:
    report = _diff(texts(), texts(GOOD_PAD.replace("room and ", "")))
    news = {found.news for found in report.differences}
    lines = report.lines()
    assert len(news) < len(report.differences)
    assert sum(line[:1].isdigit() for line in lines) == len(news) + len(report.besides)
    again = [line for line in lines if line.startswith("   the same ")]
    assert len(again) == len(report.differences) - len(news)
    assert any(line.startswith("   the same behind another waiting request") for line in again)


def test_a_new_assertion_is_a_difference_of_the_request_it_stops_at() -> None:
    report = _diff(texts(), texts(admit="assert rows != 2, 'two'"))
    assert {d.request for d in report.differences} == {"W"}
    assert all(d.sentence.endswith("raises AssertionError after") for d in report.differences)
    assert report.population("running decodes") == PROVED
    assert report.population("ordinary prefills") == CHANGED


def test_other_counters_after_the_same_rows_are_a_difference() -> None:
    moved = text().replace(
        "request.num_computed_tokens += rows", "request.num_computed_tokens += 1"
    )
    report = _diff(texts(), (Text("scheduler.py", moved),))
    assert any("but left otherwise" in d.sentence for d in report.differences)


def test_what_the_profile_does_not_know_is_undecided() -> None:
    report = _diff(texts(), texts(schedule="self.kv_cache_manager.defragment()"))
    assert report.exit_status == 3 and "defragment" in report.undecided[0]
    assert {same.verdict for same in report.populations} <= {UNDECIDED}


def test_a_cut_comparison_proves_nothing() -> None:
    report = _diff(texts(), texts(), limits=Limits(paths=2))
    assert report.undecided and report.exit_status == 3
    assert PROVED not in {same.verdict for same in report.populations}


def test_a_mode_that_only_one_knows_is_not_called_equal() -> None:
    sync_only = text(GOOD_PAD).partition("class AsyncScheduler")[0]
    both = f"{sync_only}\n\nclass AsyncScheduler(Scheduler):\n    pass\n"
    one, two = ((Text("scheduler.py", content),) for content in (sync_only, both))
    report = diff_sources(one, two, NAMES, modes=[ASYNC])
    assert report.undecided == ("async: only one of the two schedules so",)
    assert report.exit_status == 3
    assert diff_sources(one, two, NAMES, modes=[SYNC]).exit_status == 0


def test_a_hostile_text_is_rejected() -> None:
    report = _diff(texts(), (Text("s.py", "import os\nos.system('true')\n"),))
    assert report.rejected.startswith("new: rejected: s.py:1") and report.exit_status == 2


def test_a_text_without_a_scheduler() -> None:
    with pytest.raises(SourceError, match=r"new: s\.py: no class Scheduler"):
        _diff(texts(), (Text("s.py", "x = 1\n"),))


def test_the_sandbox_answers_the_same_and_a_report_survives_the_pipe() -> None:
    here = _diff(texts(), texts(OVERFLOWING_PAD))
    assert DiffReport.from_json(json.loads(json.dumps(here.to_json()))) == here
    there = diff_in_sandbox(Pair(texts(), texts(OVERFLOWING_PAD), NAMES, modes=(SYNC,)))
    assert there.differences == here.differences and there.populations == here.populations
    endless = diff_in_sandbox(Pair(texts(), texts(schedule="while True:\n            pass"), NAMES))
    assert "runs on" in endless.rejected and endless.exit_status == 2


def test_reports_on_two_modes_become_one() -> None:
    sync = _diff(texts(), texts(OVERFLOWING_PAD))
    (first, *_) = sync.differences
    larger = replace(first, modes=(ASYNC,), config=first.config | {"max_model_len": 99})
    other = replace(
        sync, differences=(replace(larger, conditions=first.conditions[1:]),), undecided=("cut",)
    )
    both = together([sync, other])
    (found,) = (d for d in both.differences if d.sentence == first.sentence)
    assert found.modes == (SYNC, ASYNC) and found.conditions == first.conditions[1:]
    assert found.config == first.config, "the smaller example is shown"
    assert len(both.differences) == len(sync.differences) and both.undecided == ("cut",)
    assert PROVED not in {same.verdict for same in both.populations}, "something is undecided"
    assert both.statistics.paths == 2 * sync.statistics.paths
    refused = replace(sync, rejected="rejected: why")
    assert together([sync, refused]).exit_status == 2


def test_0_29_to_0_30_is_55126_and_nothing_else() -> None:
    report = _releases("0.29.0", "0.30.0")
    assert report.undecided == ()
    assert report.differences[0].sentence == (
        "one waiting request with C > 0 on a rank with nothing running: "
        "1 row before, 1 + K rows after"
    )
    assert report.differences[0].modes == MODES
    for found in report.differences:
        assert found.sentence.startswith("one waiting request with C > 0 ")
        assert {"one token left", "K > 0", "s = 1"} <= set(found.conditions)
    assert {same.verdict for same in report.populations} == {PROVED}
    assert len(report.populations) == 5
    readme = Path(__file__).parents[3] / "proofs/source/README.md"
    shown = readme.read_text(encoding="utf-8").split("```text\n1. one waiting")[1].split("\n```")[0]
    assert f"1. one waiting{shown}" in "\n".join(report.lines()), "the README shows another report"


def test_0_28_to_0_29_is_the_bound_of_53962_and_its_assertion() -> None:
    report = _releases("0.28.0", "0.29.0")
    assert report.undecided == ()
    for found in report.differences:
        past = "C + 1 + K + s > L" in found.conditions
        cut = "K drafts on other than 1 + K rows before" in found.sentence
        assert past or cut, found.sentence
    for start in ("ordinary prefills", "diffusion", "requests whose KV", "running decodes"):
        assert report.population(start) == PROVED


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("self.waiting.prepend_request(request)", "pass", "place = "),
        (
            "self.waiting.prepend_request(request)",
            "self.waiting.add_request(request)",
            "place = waiting, 1 in front",
        ),
        ("self.running.append(request)", "self.running.insert(0, request)", "place = running, 0"),
        (
            "self.kv_cache_manager.free(request)\n        request.status = RequestStatus.PREEMPTED",
            "request.status = RequestStatus.PREEMPTED",
            "KV blocks = kept",
        ),
        ("request.num_preemptions += 1", "request.max_tokens += 5", "max_tokens = "),
    ],
)
def test_a_request_left_otherwise_is_a_difference(old: str, new: str, told: str) -> None:
    content = text()
    assert content.count(old) == 1
    report = _diff(texts(), (Text("scheduler.py", content.replace(old, new)),))
    assert any(told in found.after.decision for found in report.differences)


def test_another_queue_is_another_place() -> None:
    (content,) = (t for t in release("0.33.0") if t.name == "scheduler.py")
    moved = content.content.replace("if self._holds_kv_blocks(request_to_skip):", "if False:")
    assert moved != content.content
    texts = tuple(Text(t.name, moved) if t is content else t for t in release("0.33.0"))
    report = diff_sources(
        release("0.33.0"),
        texts,
        NAMES,
        ("0.33.0", "0.33.0"),
        modes=[SYNC],
        limits=Limits(seconds=60),
    )
    told = [found.after.decision for found in report.differences]
    assert told and all("place = waiting" in decision for decision in told)


def test_texts_with_other_queues_are_compared_by_turns() -> None:
    apart = "self.kv_holding_waiting = create_request_queue(self.policy)\n        "
    report = _diff(texts(), texts(init=apart + "assert not self.kv_holding_waiting"))
    assert report.differences == () and report.undecided == ()
    assert report.scope.endswith("the two keep different ones")
