"""The whole table: computed, as expected, replayed, and equal to what the README shows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from model.policies import DROP, POLICIES, RECOMMENDED
from proofs.campaign import Outcome
from proofs.check import Task, check
from proofs.commands.table import markdown
from proofs.induction import Cache
from proofs.known import ALIKE, BROKEN
from proofs.replay import replay
from proofs.report.run import Report
from proofs.report.verdicts_text import policy_cells, summary
from proofs.scenario import Scenario
from proofs.verdict import ASYNC, MODES, PROVED, SYNC, UNDECIDED, VIOLATED
from spec.assumptions import ASSUMPTIONS
from spec.invariants import IDS
from spec.waivers import WAIVERS

README = Path(__file__).resolve().parents[2] / "README.md"


def test_every_cell_is_decided(whole_check: Outcome) -> None:
    undecided = [o for o in whole_check.obligations if o.verdict == UNDECIDED]
    assert not undecided, [(o.policy, o.invariant, o.mode, o.reason) for o in undecided]
    assert len(whole_check.obligations) == len(POLICIES) * len(IDS) * len(MODES)


def test_the_recommended_policy_keeps_every_invariant(whole_check: Outcome) -> None:
    verdicts = {o.verdict for o in whole_check.obligations if o.policy == RECOMMENDED.name}
    assert verdicts == {PROVED}


def test_every_cell_is_as_the_table_of_known_bugs_says(whole_check: Outcome) -> None:
    odd = [
        (o.policy, o.invariant, o.mode, o.verdict)
        for o in whole_check.obligations
        if not o.as_expected
    ]
    assert not odd
    assert whole_check.verdict == PROVED
    assert set(BROKEN) == set(POLICIES), "every policy has a row in proofs/known.py"


def test_every_violation_replays_to_the_same_breach(whole_check: Outcome) -> None:
    violated = [o for o in whole_check.obligations if o.verdict == VIOLATED]
    assert violated
    for obligation in violated:
        assert obligation.trace is not None
        again = replay(Scenario.from_json(obligation.trace.scenario), obligation.invariant)
        assert again.steps == obligation.trace.steps
        assert again.violation.id == obligation.invariant


def test_the_readme_shows_this_table(whole_check: Outcome) -> None:
    text = README.read_text(encoding="utf-8")
    shown = re.search(r"<!-- table -->\n(.*?)\n<!-- /table -->", text, re.S)
    assert shown, "README.md lost its <!-- table --> markers"
    computed = markdown(policy_cells(whole_check.obligations))
    assert shown.group(1) == computed, "regenerate it: python -m proofs table"


def test_proofs_name_what_they_rest_on(whole_check: Outcome) -> None:
    known = {a.id for a in ASSUMPTIONS}
    waivers = {w.id for w in WAIVERS}
    recommended = [o for o in whole_check.obligations if o.policy == RECOMMENDED.name]
    for obligation in recommended:
        assert set(obligation.assumptions) <= known
        assert set(obligation.waivers) <= waivers
    uniform = {o.mode: o for o in recommended if o.invariant == "uniform-decode"}
    assert set(uniform[SYNC].waivers) == waivers, "each waiver is needed by the proof"
    assert "fewer-drafts" not in uniform[ASYNC].waivers, "async scheduling always has K drafts"
    accounting = [o for o in recommended if o.invariant == "placeholder-accounting"]
    assert all("placeholders-rejected" in o.assumptions for o in accounting)


@pytest.mark.parametrize("mode", MODES)
def test_no_time_left_is_undecided_not_proved(mode: str) -> None:
    results = check(Task(RECOMMENDED, mode, frozenset(IDS), deadline=0.0), Cache())
    assert {o.verdict for o in results} == {UNDECIDED}
    assert all("time limit" in o.reason for o in results)


def test_a_known_bug_that_hides_behind_another_is_missed() -> None:
    unclipped = replace(POLICIES["50342"], when_clipped=DROP)  # without the bug of #54392
    task = Task(unclipped, ASYNC, frozenset({"placeholder-accounting"}))
    (obligation,) = check(task, Cache())
    assert (obligation.verdict, obligation.lost) == (VIOLATED, ("mamba",))
    outcome = Outcome("50342", (obligation,), 0.0)
    assert outcome.verdict == VIOLATED
    assert "also with mamba" in summary(Report(outcome))


def test_a_policy_that_lost_its_own_change_is_missed() -> None:
    drops = replace(POLICIES["54102"], when_clipped=DROP)  # as #53962 does
    (obligation,) = check(Task(drops, ASYNC, frozenset({"uniform-decode"})), Cache())
    assert (obligation.verdict, obligation.lost) == (VIOLATED, ("a decision other than 53962's",))
    assert not obligation.as_expected


def test_policies_with_the_same_row_are_told_apart() -> None:
    rows = list(BROKEN.values())
    alike = {name for name, row in BROKEN.items() if rows.count(row) > 1}
    assert alike == ALIKE.keys() | {other for other, _ in ALIKE.values()}
