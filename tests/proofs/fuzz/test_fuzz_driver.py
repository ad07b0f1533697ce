"""The random driver: finds, shrinks, repeats itself, and draws legal inputs only."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from model.policies import POLICIES, RECOMMENDED
from model.request import Request
from proofs.fuzz.campaign import Limits, Result, fuzz
from proofs.fuzz.draws import Tape
from proofs.fuzz.driver import Goal, play, random_run
from proofs.fuzz.execution import BY_CATALOGUE, Execution
from proofs.fuzz.inputs import DrawnWorld, draw_config, draw_prompt
from proofs.fuzz.profiles import chosen
from proofs.fuzz.shrink import shrink
from proofs.known import BROKEN
from proofs.replay import replay
from proofs.verdict import ASYNC, SYNC
from spec.assumptions import DRAFTS_AT_MOST_K, HIT_LEAVES_ONE, LOAD_WITHIN_REQUEST, RUNNER_SAMPLES
from spec.config import Config

CELLS = [
    (policy, invariant, mode)
    for policy, broken in BROKEN.items()
    for invariant, modes in broken.items()
    for mode in modes
]
ENOUGH = 60_000
"""Steps within which every cell is found with this seed; most take a few hundred."""


def search(goal: Goal, steps: int, jobs: int = 1, seed: int = 0) -> Result:
    return fuzz(goal, seed, Limits(steps=steps), jobs, lambda *_: None)


@pytest.mark.parametrize(("policy", "invariant", "mode"), CELLS)
def test_every_broken_cell_of_the_table_is_found_shrunk_and_replayed(
    policy: str, invariant: str, mode: str
) -> None:
    goal = Goal(POLICIES[policy], frozenset({invariant}), mode == ASYNC)
    result = search(goal, ENOUGH)
    assert result.shrunk is not None, f"not found in {result.num_steps} steps"
    failure = result.shrunk.failure
    assert failure is not None
    assert failure.seen_by == BY_CATALOGUE
    assert failure.scenario.num_steps <= 4, "hardly shrunk"
    assert replay(failure.scenario, invariant).violation.id == invariant


@pytest.mark.parametrize("policy", POLICIES)
def test_whatever_is_found_the_prover_refutes_too(policy: str) -> None:
    """And what the runner objects to, the catalogue breaks in the same step."""
    for index in range(60):
        run = random_run(Goal(POLICIES[policy]), 7, index)
        if run.breach is None or run.failure is None:
            continue
        mode = ASYNC if run.failure.scenario.config.async_scheduling else SYNC
        assert mode in BROKEN[policy].get(run.breach.invariant, ()), run.breach
        assert run.breach.seen_by == BY_CATALOGUE, f"only the runner objects: {run.breach}"


def test_nothing_is_found_in_the_recommended_policy() -> None:
    result = search(Goal(RECOMMENDED), chosen().random_steps)
    assert result.found is None, result.shrunk
    assert result.num_steps >= chosen().random_steps


def test_the_same_seed_finds_the_same_failure_with_any_number_of_jobs() -> None:
    goal = Goal(POLICIES["55126"])
    results = [search(goal, ENOUGH, jobs) for jobs in (1, 1, 2)]
    scenarios = [r.shrunk.failure.scenario for r in results if r.shrunk and r.shrunk.failure]
    assert len(scenarios) == 3 and len(set(map(repr, scenarios))) == 1
    assert len({(r.num_steps, r.num_executions) for r in results}) == 1
    assert random_run(goal, 0, 1).groups != random_run(goal, 1, 1).groups


def test_a_tape_read_back_plays_the_same_execution() -> None:
    goal = Goal(POLICIES["47464"])
    run = random_run(goal, 0, 0)
    again = play(goal, Tape(recorded=run.groups))
    assert (again.groups, again.breach) == (run.groups, run.breach)


def test_shrinking_keeps_the_invariant_and_never_grows() -> None:
    goal = Goal(POLICIES["45237"])
    for index in range(12):
        run = random_run(goal, 3, index)
        if run.breach is not None:
            small = shrink(goal, run)
            assert small.breach is not None
            assert small.breach.invariant == run.breach.invariant
            assert small.num_steps <= run.num_steps
            assert shrink(goal, small).groups == small.groups, "not a minimum"


def test_a_tape_without_choices_is_the_simplest_execution() -> None:
    tape = Tape(recorded=[[], []])
    assert tape.next_group() and tape.integer(3, 9) == 3
    config = draw_config(tape)
    assert not (config.async_scheduling or config.mamba_align or config.priority_scheduling)
    assert config.long_prefill_token_threshold == 0
    assert tape.next_group() and not tape.next_group()


def fresh(seed: int) -> Tape:
    tape = Tape(random.Random(seed), num_groups=1)
    tape.next_group()
    return tape


def test_only_legal_inputs_are_drawn() -> None:
    for seed in range(400):
        tape = fresh(seed)
        config = draw_config(tape)  # built through Config.checked
        prompt = draw_prompt(tape, config)
        assert 1 <= prompt < config.max_model_len
        world, request = DrawnWorld(tape, config), Request("r", prompt, 1)
        hit = world.prefix_hit(request)
        assert HIT_LEAVES_ONE.condition(prompt, hit)
        matched, load_async = world.connector_match(request, hit)
        if load_async:
            assert LOAD_WITHIN_REQUEST.condition(prompt, hit, matched)
        else:
            assert HIT_LEAVES_ONE.condition(prompt, hit + matched)
        assert DRAFTS_AT_MOST_K.condition(config, world.draft(request))
        drafts = config.num_spec_tokens
        for padded in (False, True):
            sample = world.sample(request, drafts, padded)
            assert RUNNER_SAMPLES.condition(config, drafts, sample.num_generated_tokens)
            assert sample.stop_after <= sample.num_generated_tokens
            assert not padded or sample.num_generated_tokens == config.num_sampled_tokens_per_step


def test_the_corners_the_bugs_live_in_are_drawn() -> None:
    """A change of the generator that loses a corner must not go unnoticed."""
    configs = [draw_config(fresh(seed)) for seed in range(300)]
    corners: dict[str, Any] = {
        "diffusion": lambda c: c.num_sampled_tokens_per_step == 0,
        "threshold below 1 + K": lambda c: 0 < c.long_prefill_token_threshold <= c.num_spec_tokens,
        "exact budget": lambda c: (
            c.max_num_scheduled_tokens == c.max_num_seqs * (1 + c.num_spec_tokens)
        ),
        "drafter slots": lambda c: c.draft_slots > 0,
        "KV shortage": lambda c: c.num_gpu_blocks * c.block_size < c.max_model_len,
        "unchunked": lambda c: not c.enable_chunked_prefill,
        "Mamba": lambda c: c.mamba_align,
        "priorities": lambda c: c.priority_scheduling,
        "no drafts": lambda c: c.num_spec_tokens == 0,
    }
    for name, has in corners.items():
        assert sum(map(has, configs)) >= 10, f"{name} is hardly ever drawn"


def test_progress_is_judged_only_where_its_assumptions_hold() -> None:
    """A budget that never fits 1 + K rows starves by configuration, not by a bug."""
    small = Config.checked(max_num_scheduled_tokens=3, max_num_batched_tokens=3, max_num_seqs=1)
    ample = replace(small, max_num_scheduled_tokens=8, max_num_batched_tokens=8)
    for config, judged in ((small, False), (ample, True)):
        execution = Execution(config, RECOMMENDED, [DrawnWorld(fresh(0), config)])
        assert ("progress" in execution._judged) is judged
