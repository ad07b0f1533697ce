"""Two lines of defence must agree: what the prover refutes, the runner and the fuzzer refute."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from model.policies import BREAK, KEEP, POLICIES, RECOMMENDED
from model.runner.errors import RunnerError
from proofs.campaign import Outcome
from proofs.check import Task, check
from proofs.fuzz.again import run_again
from proofs.fuzz.campaign import Limits, fuzz
from proofs.fuzz.driver import Goal
from proofs.fuzz.execution import BY_CATALOGUE
from proofs.induction import Cache
from proofs.known import BROKEN
from proofs.scenario import Scenario
from proofs.verdict import ASYNC, MODES, SYNC, VIOLATED
from spec.invariants import IDS

SEEN_BY_RUNNER = {error.invariant_id for error in RunnerError.__subclasses__()} - {"progress"}
"""What the runner itself can see, were it told; ``progress`` of a sample is another promise."""
SEEN_EARLIER = {"placeholder-accounting": "rows-match-drafts"}
"""Known under another name: H goes wrong at the booking, but the drafts that cause it are too many
for their rows one step before, and that is where a runner fails."""


@pytest.fixture(scope="module")
def refuted(whole_check: Outcome) -> list[tuple[str, Scenario]]:
    """Every counterexample of the prover."""
    traces = [o.trace for o in whole_check.obligations if o.verdict == VIOLATED and o.trace]
    return [(t.invariant, Scenario.from_json(t.scenario)) for t in traces]


def test_every_trace_of_the_prover_fails_under_the_fuzzers_watch(
    refuted: list[tuple[str, Scenario]],
) -> None:
    assert len(refuted) > 30
    for invariant, scenario in refuted:
        breach = run_again(scenario, invariant)
        assert breach is not None, f"{invariant} of {scenario.policy} does not fail: {scenario}"
        assert breach.invariant == invariant
        assert breach.seen_by == BY_CATALOGUE


def test_the_runner_objects_to_every_trace_it_can_see(
    refuted: list[tuple[str, Scenario]],
) -> None:
    """And names the invariant the prover names, not just any."""
    silent = []
    for invariant, scenario in refuted:
        if invariant in SEEN_BY_RUNNER:
            breach = run_again(scenario, invariant)
            if breach is not None and SEEN_EARLIER.get(invariant, invariant) not in breach.also:
                silent.append((invariant, scenario.policy, breach.also, scenario))
    assert not silent, f"the runner executes {len(silent)} broken steps, first: {silent[0]}"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("mode", MODES)
def test_what_the_prover_calls_proved_no_execution_breaks(policy: str, mode: str) -> None:
    """The cells of the table that are broken are not judged, so that executions go on past them."""
    proved = frozenset(IDS) - {i for i, modes in BROKEN[policy].items() if mode in modes}
    goal = Goal(POLICIES[policy], proved, mode == ASYNC)
    result = fuzz(goal, 1, Limits(steps=2_000), 1, lambda *_: None)
    assert result.found is None, result.shrunk


UNLISTED: dict[str, dict[str, Any]] = {
    "limit": {"reserves_sampled_token": False},
    "break": {"at_length_limit": BREAK},
    "diffusion": {"autoregressive_only": False},
    "narrow": {"threshold_aware": False, "asserts_width": False},
    "clipped": {"when_clipped": KEEP, "asserts_width": False},
}
"""Policies in no table: the recommended one with one guard undone."""


@pytest.mark.parametrize("name", UNLISTED)
def test_what_breaks_an_unlisted_policy_the_prover_refutes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = replace(RECOMMENDED, name=name, **UNLISTED[name])
    monkeypatch.setitem(POLICIES, name, policy)  # a scenario names its policy
    shrunk = fuzz(Goal(policy), 0, Limits(steps=60_000), 1, lambda *_: None).shrunk
    assert shrunk is not None and shrunk.failure is not None, "a guard nothing depends on"
    failure = shrunk.failure
    mode = ASYNC if failure.scenario.config.async_scheduling else SYNC
    (verdict,) = check(Task(policy, mode, frozenset({failure.invariant})), Cache())
    assert verdict.verdict == VIOLATED, f"{failure.invariant} ({mode}): {failure.sentence}"


def test_every_invariant_id_is_one_of_the_catalogues() -> None:
    assert set(IDS) >= SEEN_BY_RUNNER
