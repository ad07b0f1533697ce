"""The bodies are not vacuous: they have executions, and every promise is claimed in some body."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from model.policies import RECOMMENDED
from proofs.bodies import BODIES, run_body
from proofs.clauses import SERVES
from proofs.harness import NOTHING, Goal, Harness
from proofs.symbolic import Context, Exploration
from proofs.verdict import ASYNC, MODES
from spec.invariants import CATALOGUE
from spec.records import BLOCKED, LOADING, SCHEDULED, SKIPPED


def goals_of(body: str, mode: str) -> tuple[set[str], set[str], int]:
    """Names claimed, outcomes decided, and number of paths of one body."""
    outcomes: set[str] = set()

    def run(context: Context) -> list[Goal]:
        harness = Harness(context, RECOMMENDED, mode == ASYNC, SERVES)
        observe = harness.observe

        def listen(record: object, granted: Mapping[str, bool] = NOTHING) -> None:
            outcomes.add(getattr(record, "outcome", ""))
            observe(record, granted)

        harness.observe = listen  # type: ignore[method-assign]
        return run_body(body, harness)

    names: set[str] = set()
    paths = 0
    with Exploration(run) as exploration:
        for path in exploration:
            assert path.error is None, path.error
            paths += 1
            names |= {goal.name for goal in path.value or ()}
    assert exploration.complete, exploration.reasons
    return names, outcomes, paths


@pytest.mark.parametrize("mode", MODES)
def test_every_promise_and_clause_is_claimed_somewhere(mode: str) -> None:
    claimed: set[str] = set()
    for body in BODIES:
        names, _, paths = goals_of(body, mode)
        assert paths >= 1, f"{body} has no execution: its assumptions contradict each other"
        claimed |= names
    promises = {entry.claim.__name__ for entry in CATALOGUE}
    assert promises <= claimed
    only_sync = {"sync-all-booked"}
    assert set(SERVES) - (only_sync if mode == ASYNC else set()) <= claimed


@pytest.mark.parametrize("mode", MODES)
def test_the_two_passes_reach_every_outcome(mode: str) -> None:
    _, running, _ = goals_of("running-pass", mode)
    assert {SCHEDULED, SKIPPED, BLOCKED} <= running
    _, waiting, _ = goals_of("waiting-pass", mode)
    assert {SCHEDULED, SKIPPED, BLOCKED, LOADING} <= waiting
