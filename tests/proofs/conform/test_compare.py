"""Random executions: the same on both sides for the same policy, told apart for another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from model.policies import POLICIES
from proofs.conform.campaign import compare, situations
from proofs.conform.compare import Difference, Execution, difference, random_execution
from proofs.conform.engine import EngineProcess, Installation
from proofs.conform.inputs import DRAFTS, MODES
from proofs.conform.releases import RELEASES, release_of
from proofs.conform.show import show
from spec.config import Config

NEWEST = RELEASES[max(RELEASES)]
CALL = ["schedule", {}]


def quiet(steps: int) -> None:
    """Nobody watches."""


def test_the_same_seed_gives_the_same_execution() -> None:
    assert random_execution(NEWEST, 3, 7) == random_execution(NEWEST, 3, 7)
    assert random_execution(NEWEST, 3, 7) != random_execution(NEWEST, 4, 7)


@pytest.mark.parametrize("minor", sorted(RELEASES))
def test_the_executions_meet_what_they_are_meant_to_meet(minor: int) -> None:
    release = RELEASES[minor]
    executions = [random_execution(release, 0, index) for index in range(150)]
    configs = [execution.config for execution in executions]
    assert {c.num_spec_tokens for c in configs} == set(DRAFTS)
    assert {c.async_scheduling for c in configs} == {True, False}
    assert any(c.mamba_align for c in configs) == release.has_mamba_split
    assert any(c.draft_slots for c in configs) == release.has_draft_slots
    met = sum(map(situations, executions), situations(Execution(Config(), (), (), 0)))
    assert set(met) >= {
        "aborts",
        "accepted drafts",
        "asynchronous loads",
        "length caps",
        "padded requests",
        "preemptions",
        "prefix hits",
        "stop tokens",
        "synchronous matches",
    }


@pytest.mark.parametrize("version", ["0.28.0", "0.31.0", "0.33.0"])
def test_the_model_is_like_itself(fake: Callable[..., Installation], version: str) -> None:
    with EngineProcess(fake(version=version), version) as engine:
        result = compare(release_of(version), engine, 1, 1500, quiet)
    assert result.found is None
    assert result.num_steps >= 1500
    assert {mode for mode, _ in result.steps} == set(MODES)


def test_another_policy_is_found_shrunk_and_shown(fake: Callable[..., Installation]) -> None:
    release = replace(release_of("0.33.0"), policy=POLICIES["54028"])
    with EngineProcess(fake(policy="none"), "0.33.0") as engine:
        result = compare(release, engine, 0, 20_000, quiet)
    assert result.found is not None
    execution, found = result.found
    assert execution.num_steps <= 2
    text = show(execution, found, "54028", "0.33.0")
    assert "then the model (policy 54028) and vLLM 0.33.0 differ:" in text
    assert "A arrives: " in text
    rows = next(line for line in text.splitlines() if line.split()[:1] == ["rows"])
    padded = 1 + execution.config.num_spec_tokens
    assert rows.split(maxsplit=1)[1].startswith(f"[['A', {padded}]]")
    assert rows.endswith("[['A', 1]]")


def test_an_exception_of_one_side_only_is_a_difference(
    fake: Callable[..., Installation],
) -> None:
    release = replace(release_of("0.33.0"), policy=POLICIES["54028"])
    with EngineProcess(fake(policy="55126"), "0.33.0") as engine:
        result = compare(release, engine, 0, 50_000, quiet)
    assert result.found is not None
    execution, found = result.found
    if "raised" in found.kind:
        assert found.values["raised"] == ("(nothing)", "AssertionError")
        assert "the engine raised at fake.py:1" in show(execution, found, "54028", "0.33.0")


def test_a_missing_observation_is_a_difference(fake: Callable[..., Installation]) -> None:
    with EngineProcess(fake(fault="short"), "0.33.0") as engine:
        result = compare(release_of("0.33.0"), engine, 0, 100, quiet)
    assert result.found is not None
    assert result.found[1].values == {"observation": ("one more", "(nothing)")}


def of(*seen: dict[str, object]) -> Execution:
    return Execution(Config(), tuple(CALL for _ in seen), seen, len(seen))


def test_only_what_both_sides_count_is_compared() -> None:
    state = {"status": "RUNNING", "num_stale_output_tokens": 0}
    model = of({"requests": {"A": state}})
    assert difference(model, [{"requests": {"A": {"status": "RUNNING"}}}]) is None
    found = difference(model, [{"requests": {"A": {"status": "WAITING"}}}])
    assert found == Difference(0, {"A.status": ("RUNNING", "WAITING")})
    assert difference(model, [{"requests": {}}]) is not None


def test_exceptions_are_compared_by_type() -> None:
    model = of({"raised": "AssertionError", "why": "ours"})
    assert difference(model, [{"raised": "AssertionError", "why": "theirs"}]) is None
    found = difference(model, [{"requests": {}, "rows": []}])
    assert found is not None and found.values["raised"] == ("AssertionError", "(nothing)")
