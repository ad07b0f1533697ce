"""A baseline accepts what it names, says why, and fails when it no longer applies."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs import baseline
from proofs.campaign import Outcome
from proofs.errors import UsageError
from proofs.trace import Trace
from proofs.verdict import ASYNC, PROVED, SYNC, UNDECIDED, VIOLATED, Obligation

ENTRY = """
[[accepted]]
invariant = "progress"
policy = "53812"
reason = "starves, fixed by #53962"
"""


def _outcome(*cells: tuple[str, str, str], policy: str = "53812") -> Outcome:
    found = tuple(Obligation(i, policy, m, v, "") for i, m, v in cells)
    return Outcome(policy, found, 0.0)


def _entries(tmp_path: Path, text: str) -> tuple[baseline.Entry, ...]:
    file = tmp_path / "accepted.toml"
    file.write_text(text, encoding="utf-8")
    return baseline.load(file)


def test_an_accepted_violation_does_not_block(tmp_path: Path) -> None:
    outcome = _outcome(("progress", SYNC, VIOLATED), ("progress", ASYNC, PROVED))
    report = baseline.apply(outcome, _entries(tmp_path, ENTRY))
    assert report.verdict == PROVED
    assert report.reason(outcome.obligations[0]) == "starves, fixed by #53962"
    assert baseline.apply(outcome, ()).verdict == VIOLATED


def test_another_violation_still_blocks(tmp_path: Path) -> None:
    outcome = _outcome(("progress", SYNC, VIOLATED), ("within-model-len", SYNC, VIOLATED))
    assert baseline.apply(outcome, _entries(tmp_path, ENTRY)).verdict == VIOLATED


def test_an_entry_that_no_longer_applies_fails(tmp_path: Path) -> None:
    report = baseline.apply(_outcome(("progress", SYNC, PROVED)), _entries(tmp_path, ENTRY))
    assert report.verdict == VIOLATED
    assert report.stale == (
        "progress (53812): proved now; remove the entry (starves, fixed by #53962)",
    )


@pytest.mark.parametrize(
    "outcome",
    [
        _outcome(("within-model-len", SYNC, PROVED)),
        _outcome(("progress", SYNC, PROVED), policy="55126"),
    ],
)
def test_an_entry_about_something_else_says_nothing(outcome: Outcome, tmp_path: Path) -> None:
    assert baseline.apply(outcome, _entries(tmp_path, ENTRY)).verdict == PROVED


def test_undecided_is_neither_accepted_nor_stale(tmp_path: Path) -> None:
    report = baseline.apply(_outcome(("progress", SYNC, UNDECIDED)), _entries(tmp_path, ENTRY))
    assert report.verdict == UNDECIDED
    assert report.stale == ()


def test_an_entry_of_one_mode_leaves_the_other_alone(tmp_path: Path) -> None:
    text = ENTRY + 'mode = "async"\n'
    outcome = _outcome(("progress", SYNC, VIOLATED), ("progress", ASYNC, VIOLATED))
    assert baseline.apply(outcome, _entries(tmp_path, text)).verdict == VIOLATED


def test_a_source_is_named_by_the_end_of_its_path(tmp_path: Path) -> None:
    text = ENTRY.replace('policy = "53812"', 'source = "sched/scheduler.py"')
    entries = _entries(tmp_path, text)
    cell = ("progress", SYNC, VIOLATED)
    assert baseline.apply(_outcome(cell, policy="/x/sched/scheduler.py"), entries).verdict == PROVED
    assert baseline.apply(_outcome(cell, policy="x/my_scheduler.py"), entries).verdict == VIOLATED
    trace = Trace("progress", "", {}, (), source={"file": "a/sched/scheduler.py", "line": 1})
    found = Obligation("progress", "0.33.0", SYNC, VIOLATED, "", trace=trace)
    assert entries[0].about(found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = ", "is not TOML"),
        ("[other]\n", "may only have [[accepted]] tables"),
        ("accepted = 1\n", "may only have [[accepted]] tables"),
        ("accepted = [1]\n", "entry 1: not a table"),
        (ENTRY.replace("progress", "progres"), "invariant 'progres' is not one"),
        (ENTRY + 'source = "a.py"\n', "either a policy or a source"),
        (ENTRY.replace('policy = "53812"', ""), "either a policy or a source"),
        (ENTRY + 'mode = "both"\n', "mode 'both' is not one of sync, async"),
        (ENTRY + 'until = "x"\n', "unknown key 'until'"),
        (ENTRY + "mode = 1\n", "mode must be text"),
        (ENTRY.replace("starves, fixed by #53962", " "), "reason must be text"),
        (ENTRY.replace('reason = "starves, fixed by #53962"', ""), "give the reason"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        _entries(tmp_path, text)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*none\.toml"):
        baseline.load(tmp_path / "none.toml")
