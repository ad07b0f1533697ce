"""Two lines of defence on the same runs: the shim and the invariants must say the same."""

from __future__ import annotations

import random
from typing import Any

import pytest

from model.dp import DPGroup
from model.policies import POLICIES, RECOMMENDED
from model.runner.errors import RunnerError
from model.runner.shim import RunnerEngine
from spec.invariants import about
from tests.model.runner.runner_world import RandomWorld, random_config, random_request

SEEN_BY_BOTH = frozenset(
    {
        "positive-schedule",
        "within-model-len",
        "rows-match-drafts",
        "uniform-decode",
        "within-budget",
        "block-accounting",
    }
)


def run_both(policy: str, seed: int, steps: int) -> tuple[str | None, set[str]]:
    """One random group until something breaks: what the shim says, what the invariants say."""
    draw = random.Random(seed)
    config = random_config(
        draw,
        long_prefill_token_threshold=draw.choice((0, 0, 0, 2, 5)),
        mamba_align=draw.random() < 0.15,
        num_gpu_blocks=draw.choice((200, 60, 30)),
    )
    broken: set[str] = set()

    def check(rank: int, record: Any) -> None:
        for invariant in about(type(record)):
            if invariant.id in SEEN_BY_BOTH and not invariant.claim(record).holds:
                broken.add(invariant.id)

    all_hit = draw.random() < 0.5
    worlds = [RandomWorld(config, 10 * seed + rank, all_hit) for rank in range(draw.randint(1, 3))]
    checked = DPGroup(config, POLICIES[policy], worlds, record=check)
    worlds = [RandomWorld(config, 10 * seed + rank, all_hit) for rank in range(len(worlds))]
    shimmed = DPGroup(config, POLICIES[policy], worlds, engine=RunnerEngine)
    for step in range(steps):
        for rank in range(len(worlds)):
            if draw.random() < 0.15:
                arrival = draw.randrange(1 << 30)
                for group in (checked, shimmed):
                    request = random_request(random.Random(arrival), config, step)
                    group.engines[rank].add_request(request)
        try:
            checked.step()
            refused = ""
        except AssertionError as error:
            refused = str(error)
        try:
            shimmed.step()
            assert not refused, f"only the checked run died: {refused}"
        except RunnerError as error:
            return error.invariant_id, broken
        except AssertionError as error:
            assert str(error) == refused
            return None, broken
        if broken:
            return None, broken
    return None, broken


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_shim_and_invariants_agree(policy: str) -> None:
    for seed in range(12):
        said, broken = run_both(policy, seed, steps=60)
        if said is None:
            assert not broken, f"seed {seed}: invariants {broken} broken, the shim saw nothing"
        else:
            assert said in broken, f"seed {seed}: the shim says {said}, the invariants {broken}"
        if policy == RECOMMENDED.name:
            assert said is None, f"seed {seed}: {said}"
