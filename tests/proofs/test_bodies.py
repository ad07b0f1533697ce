"""The bodies are not vacuous: they have executions, and every promise is claimed in some body."""

from __future__ import annotations

from typing import Any

import pytest

from model.policies import RECOMMENDED
from proofs.bodies import BODIES, run_body
from proofs.clauses import SERVES
from proofs.goal import Goal
from proofs.harness import Harness
from proofs.symbolic import Context, Exploration, Refuted
from proofs.verdict import ASYNC, MODES
from spec.invariants import CATALOGUE, about
from spec.logic import not_
from spec.records import BLOCKED, LOADING, SCHEDULED, SKIPPED


def goals_of(body: str, mode: str) -> tuple[set[str], set[str], set[str]]:
    """Names claimed, outcomes decided, and promises that bite on some path of one body."""
    outcomes: set[str] = set()
    conditions: list[tuple[str, Any]] = []

    def run(context: Context) -> list[Goal]:
        conditions.clear()
        harness = Harness(context, RECOMMENDED, mode == ASYNC, SERVES)
        as_judged = harness.as_judged

        def listen(record: object) -> object:
            judged = as_judged(record)
            outcomes.add(getattr(judged, "outcome", ""))
            for entry in about(type(judged)):
                conditions.append((entry.claim.__name__, entry.claim(judged).when))
            return judged

        harness.as_judged = listen  # type: ignore[method-assign]
        return run_body(body, harness)

    names, biting = set[str](), set[str]()
    paths = 0
    with Exploration(run) as exploration:
        for path in exploration:
            assert path.error is None, path.error
            paths += 1
            names |= {goal.name for goal in path.value or ()}
            for name, when in conditions:
                if name not in biting and isinstance(path.holds(not_(when)), Refuted):
                    biting.add(name)
    assert exploration.complete, exploration.reasons
    assert paths >= 1, f"{body} has no execution: its assumptions contradict each other"
    return names, outcomes, biting


@pytest.mark.parametrize("mode", MODES)
def test_every_promise_and_clause_is_claimed_somewhere_and_bites(mode: str) -> None:
    claimed, biting = set[str](), set[str]()
    for body in BODIES:
        names, _, bites = goals_of(body, mode)
        claimed |= names
        biting |= bites
    promises = {entry.claim.__name__ for entry in CATALOGUE}
    assert promises <= claimed
    # A promise whose condition no execution meets is kept by any scheduler.
    always_due, only_async = {"no_reachable_assert"}, {"placeholders_end"}
    never = promises - biting - always_due - (only_async if mode != ASYNC else set())
    assert not never, f"never due: {sorted(never)}"
    only_sync = {"sync-all-booked"}
    assert set(SERVES) - (only_sync if mode == ASYNC else set()) <= claimed


@pytest.mark.parametrize("mode", MODES)
def test_the_two_passes_reach_every_outcome(mode: str) -> None:
    _, running, _ = goals_of("running-pass", mode)
    assert {SCHEDULED, SKIPPED, BLOCKED} <= running
    _, waiting, _ = goals_of("waiting-pass", mode)
    assert {SCHEDULED, SKIPPED, BLOCKED, LOADING} <= waiting
