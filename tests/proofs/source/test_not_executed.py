"""What two texts say otherwise, and no run executes, is told; nothing is called equal for it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import line_of, text, texts
from planted import VERSION, Plant, release

from proofs.source import diff
from proofs.source.compare.definitions import not_executed
from proofs.source.diff import diff_sources
from proofs.source.differences import DiffReport, NotExecuted, together
from proofs.source.gate import parse
from proofs.source.loader import Text
from proofs.source.runs.scenarios import shapes
from proofs.verdict import PROVED, SYNC, Statistics

ASKS = '''
    def has_request(self, request_id: str) -> bool:
        """Whether it is known."""
        return request_id in self.requests
'''
IDLE = "\n    def is_idle(self):\n        return not self.running\n"
FAILS = """for request in self.running:
            if request.num_computed_tokens < 0:
                {}
                raise ValueError("computed")"""
OFF = """low = 0
        if self.vllm_config.lora_config is not None:
            low = {}
        assert low >= 0"""


def _diff(old: tuple[Text, ...], new: tuple[Text, ...]) -> DiffReport:
    return diff_sources(old, new, ("old", "new"), modes=[SYNC])


def test_a_method_that_nobody_runs_is_told_and_nothing_is_called_equal() -> None:
    changed = ASKS.replace("in self.requests", "not in self.requests")
    report = _diff(texts(methods=ASKS), texts(methods=changed))
    (one,) = report.not_executed
    at = line_of(text(methods=changed), "def has_request")
    assert one == NotExecuted(
        "Scheduler.has_request", "changed", "scheduler.py", True, (at + 2,), (at, at + 2)
    )
    assert report.exit_status == 3 and report.undecided == ()
    assert {same.verdict for same in report.populations} == {PROVED}
    told = report.lines()
    assert "no difference found in what is run" in told
    assert f"changed, and run by nobody here: has_request (scheduler.py:{at})" in told


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Whether it is known", "Whether somebody knows it"),
        ("request_id: str) -> bool", "request_id)"),
        ("return", "# a word in between\n        return"),
    ],
)
def test_what_changes_no_code_is_no_change(old: str, new: str) -> None:
    assert ASKS.replace(old, new) != ASKS
    report = _diff(texts(methods=ASKS), texts(methods=ASKS.replace(old, new)))
    assert report.not_executed == () and report.exit_status == 0


def test_methods_that_only_one_has() -> None:
    report = _diff(texts(methods=ASKS), texts(methods=IDLE))
    assert [(one.name, one.change) for one in report.not_executed] == [
        ("Scheduler.has_request", "removed"),
        ("Scheduler.is_idle", "added"),
    ]
    was = line_of(text(methods=ASKS), "def has_request")
    assert f"has_request (scheduler.py:{was} before)" in "\n".join(report.lines())


def test_a_new_method_that_is_run_is_compared() -> None:
    new = texts(schedule="self.is_idle()", methods=IDLE)
    report = _diff(texts(), new)
    assert report.not_executed == () and report.exit_status == 0


@pytest.mark.parametrize("words", ["low = 0", "self.low = 0", "print(request)"])
def test_a_part_that_nobody_runs_of_what_is_run(words: str) -> None:
    """No state has such a request: the clauses exclude it."""
    report = _diff(texts(schedule="pass"), texts(schedule=FAILS.format(words)))
    (one,) = report.not_executed
    at = line_of(text(schedule=FAILS.format(words)), words)
    assert (one.name, one.whole, one.after) == ("Scheduler.schedule", False, (at, at + 1))
    assert f"changed, and in part run by nobody here: schedule (scheduler.py:{at})" in (
        report.lines()
    )


def test_a_part_that_is_computed_ahead_is_executed_only_where_it_counts() -> None:
    """``if c: x = e`` becomes one value: ``e`` is asked for unless ``c`` is known to be false."""
    report = _diff(texts(schedule=OFF.format(1)), texts(schedule=OFF.format(2)))
    (one,) = report.not_executed
    at = line_of(text(schedule=OFF.format(2)), "low = 2")
    assert (one.before, one.after) == ((at,), (at,)) and report.exit_status == 3


def test_a_part_that_is_computed_ahead_of_its_condition_is_executed() -> None:
    counts = OFF.replace("self.vllm_config.lora_config is not None", "self.num_spec_tokens > 1")
    report = _diff(texts(schedule=counts.format("1")), texts(schedule=counts.format("2 - 1")))
    assert report.not_executed == () and report.exit_status == 0


def test_beside_a_difference_it_is_only_listed() -> None:
    busy = ASKS.replace("in self.requests", "in self.running")
    pad = "\n                pass\n"
    report = _diff(texts(methods=ASKS), texts(pad, methods=busy))
    assert report.exit_status == 1 and [one.name for one in report.not_executed] == [
        "Scheduler.has_request"
    ]


def test_it_goes_through_a_pipe() -> None:
    report = _diff(texts(methods=ASKS), texts(methods=IDLE))
    assert DiffReport.from_json(json.loads(json.dumps(report.to_json()))) == report


def test_what_one_mode_runs_is_run() -> None:
    """The mode that ran nothing knows nothing."""
    part = NotExecuted("Scheduler.a", "changed", "s.py", False, (), (2, 3))
    whole = replace(part, whole=True, before=(1, 7), after=(1, 2))
    other = replace(whole, name="Scheduler.b")
    empty = DiffReport("old", "new", "", (), ())
    reports = [
        replace(empty, not_executed=found, statistics=Statistics(paths=paths))
        for found, paths in (((whole, other), 5), ((part,), 5), ((), 0))
    ]
    assert together(reports).not_executed == (replace(part, after=(2,)),)


def test_a_long_list_is_cut_where_it_is_printed() -> None:
    def many(sign: str) -> tuple[Text, ...]:
        methods = "".join(
            f"\n    def f{n}(self):\n        return {sign}{n}\n" for n in range(1, 11)
        )
        return texts(methods=methods)

    report = _diff(many(""), many("-"))
    assert len(report.not_executed) == 10
    (told,) = (line for line in report.lines() if line.startswith("changed, and run by nobody"))
    assert told.endswith("4 more") and "f6 " in told and "f7 " not in told


def test_where_a_statement_moves_under_a_condition_it_is_another() -> None:
    old = "def f(x):\n    x.a()\n    x.b()\n"
    new = "def f(x):\n    x.a()\n    if x.c:\n        x.b()\n"
    one, two = ({"s.py": parse(source, "s.py")} for source in (old, new))
    (found,) = not_executed(one, two, {("s.py", 1, 0)}, {("s.py", 1, 0), ("s.py", 3, 7)})
    assert (found.before, found.after, found.whole) == ((3,), (4,), False)


PLANTS = {
    "another error where the drafts of a grammar are cut": Plant(
        "Scheduler.update_draft_token_ids_in_output",
        (),
        "del spec_token_ids[orig_num_spec_tokens:]",
        "del spec_token_ids[orig_num_spec_tokens + 1:]",
    ),
    "who is known": Plant(
        "Scheduler.has_request", (), "return request_id in self.requests", "return True"
    ),
    "adapters": Plant(
        "Scheduler.schedule",
        (),
        "scheduled_loras.add(request.lora_request.lora_int_id)",
        "scheduled_loras.discard(request.lora_request.lora_int_id)",
    ),
}


@pytest.mark.parametrize("name", PLANTS)
def test_what_no_run_of_a_release_executes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant = PLANTS[name]
    monkeypatch.setattr(diff, "shapes", lambda *given: shapes(*given)[:2])
    versions = (VERSION, VERSION)
    found = diff_sources(release(VERSION), plant.texts(), ("o", "n"), versions, modes=[SYNC])
    assert [one.name for one in found.not_executed] == [plant.invariant]
    assert found.exit_status == 3
