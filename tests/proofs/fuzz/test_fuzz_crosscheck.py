"""Two lines of defence must agree: what the prover refutes, the runner and the fuzzer refute."""

from __future__ import annotations

import pytest

from model.runner.errors import RunnerError
from proofs.campaign import Outcome
from proofs.fuzz.again import run_again
from proofs.fuzz.execution import BY_CATALOGUE
from proofs.scenario import Scenario
from proofs.verdict import VIOLATED
from spec.invariants import IDS

SEEN_BY_RUNNER = {error.invariant_id for error in RunnerError.__subclasses__()} - {"progress"}
"""What the runner itself can see, were it told; ``progress`` of a sample is another promise."""


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
    silent = []
    for invariant, scenario in refuted:
        if invariant in SEEN_BY_RUNNER:
            breach = run_again(scenario, invariant)
            if breach is not None and not breach.also:
                silent.append((invariant, scenario.policy, scenario))
    assert not silent, f"the runner executes {len(silent)} broken steps, first: {silent[0]}"


def test_every_invariant_id_is_one_of_the_catalogues() -> None:
    assert set(IDS) >= SEEN_BY_RUNNER
