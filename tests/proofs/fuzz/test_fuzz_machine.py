"""Hypothesis finds and shrinks every known bug, and nothing in the recommended policy."""

from __future__ import annotations

import pytest

from model.policies import POLICIES, RECOMMENDED
from proofs.fuzz.again import show
from proofs.fuzz.machine import hunt
from proofs.fuzz.profiles import PROFILES, VARIABLE, chosen
from proofs.known import BROKEN
from proofs.replay import replay
from proofs.trace import Trace
from proofs.verdict import ASYNC, SYNC

KNOWN_BUGS = [name for name, broken in BROKEN.items() if broken]


@pytest.mark.parametrize("policy", KNOWN_BUGS)
def test_hypothesis_finds_and_shrinks_a_known_bug(policy: str) -> None:
    failure = hunt(POLICIES[policy], chosen())
    assert failure is not None, f"no bug of {policy} found; raise the profile's examples"
    mode = ASYNC if failure.scenario.config.async_scheduling else SYNC
    assert mode in BROKEN[policy].get(failure.invariant, ()), (
        f"{failure.invariant} ({mode}) is proved for {policy}, yet: {failure.sentence}"
    )
    assert failure.scenario.num_steps <= 4, "hardly shrunk"
    trace = replay(failure.scenario, failure.invariant)
    assert isinstance(trace, Trace)
    assert trace.violation.id == failure.invariant
    assert failure.invariant in show(failure)


def test_hypothesis_finds_nothing_in_the_recommended_policy() -> None:
    failure = hunt(RECOMMENDED, chosen())
    assert failure is None, show(failure)


def test_a_profile_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROFILES:
        monkeypatch.setenv(VARIABLE, name)
        assert chosen().name == name
    monkeypatch.setenv(VARIABLE, "heroic")
    with pytest.raises(ValueError, match="'heroic' is illegal; legal: quick, ci, deep"):
        chosen()
