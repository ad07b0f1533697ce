"""The data-parallel group: one odd row anywhere slows everybody, and the shim names it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from model.dp import CostModel, DPGroup
from model.environment import Quiet, Sample
from model.policies import POLICIES, RECOMMENDED
from model.request import Request
from model.runner.cudagraph import Dispatch, Mode
from model.runner.errors import MixedShapes
from model.runner.shim import RunnerEngine
from spec.config import Config
from spec.invariants import about
from spec.records import Decision

CONFIG = Config.checked(max_model_len=64, num_spec_tokens=3, max_num_seqs=4, num_gpu_blocks=32)


class DecodeNode(Quiet):
    """A connector holds all but the last prompt token; some drafts are accepted."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        return request.num_tokens - 1, False

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        return Sample(1 + (0 if padded else self.draw.randint(0, num_draft_tokens)))


def serve(group: DPGroup, draw: random.Random, steps: int) -> list[Mode | None]:
    """Random arrivals for some steps; the mode of each step."""
    modes = []
    for number in range(steps):
        if draw.random() < 0.2:
            request = Request(f"r{number}", draw.randint(2, 60), draw.randint(1, 40))
            draw.choice(group.engines).add_request(request)
        modes.append(group.step().mode)
    return modes


def group_of(ranks: int, policy: str, **options: Any) -> DPGroup:
    nodes = [DecodeNode(seed) for seed in range(ranks)]
    return DPGroup(CONFIG, POLICIES[policy], nodes, **options)


def test_an_odd_row_on_an_idle_rank_costs_the_whole_group_its_graph() -> None:
    costs = {}
    for policy in ("53962", "55126"):
        group = group_of(2, policy)
        group.engines[0].add_request(Request("early", 20, 30))
        group.step()
        group.step()
        group.engines[1].add_request(Request("late", 20, 30))
        costs[policy] = group.step()
    assert [d.mode for d in costs["53962"].dispatches] == [Mode.PIECEWISE] * 2
    assert [d.mode for d in costs["55126"].dispatches] == [Mode.FULL] * 2
    assert costs["53962"].milliseconds > 5 * costs["55126"].milliseconds


def test_a_group_without_work_runs_nothing() -> None:
    done = group_of(3, "55126").step()
    assert (done.dispatches, done.milliseconds, done.mode) == ((), 0.0, None)


def test_a_group_needs_a_rank() -> None:
    with pytest.raises(ValueError, match="at least one rank"):
        DPGroup(CONFIG, RECOMMENDED, [])


def test_the_cost_of_a_step_is_its_mode_and_its_rows() -> None:
    cost = CostModel(full_ms=10, piecewise_ms=20, none_ms=30, per_token_ms=0.5)
    assert [cost.step_ms(Dispatch(mode, 4)) for mode in Mode] == [32, 22, 12]


@pytest.mark.parametrize("policy", ["none", "45237", "53962"])
def test_the_shim_names_the_request_that_breaks_the_groups_shape(policy: str) -> None:
    group = group_of(3, policy, engine=RunnerEngine)
    with pytest.raises(MixedShapes, match=r"uniform-decode: request r\d+, row \d: .*falls back"):
        serve(group, random.Random(0), 400)


def test_the_recommended_policy_keeps_the_group_on_its_graph() -> None:
    group = group_of(4, RECOMMENDED.name, engine=RunnerEngine)
    modes = serve(group, random.Random(1), 1500)
    assert modes.count(Mode.FULL) > 1000


def test_a_prefill_on_another_rank_excuses_an_odd_row() -> None:
    """53962 pads nothing on an idle rank; only while another rank computes prompt may it."""

    class Cold(Quiet):
        """No connector: the whole prompt is computed here."""

    group = DPGroup(CONFIG, POLICIES["53962"], [DecodeNode(0), Cold()], engine=RunnerEngine)
    group.engines[0].add_request(Request("resumed", 20, 4))
    group.engines[1].add_request(Request("cold", 20, 4))
    assert group.step().mode is Mode.PIECEWISE
    alone = DPGroup(CONFIG, POLICIES["53962"], [DecodeNode(0), Cold()], engine=RunnerEngine)
    alone.engines[0].add_request(Request("resumed", 20, 4))
    with pytest.raises(MixedShapes, match="request resumed, row 0"):
        alone.step()


def test_decisions_are_completed_with_what_the_group_knows() -> None:
    seen: list[tuple[int, Any]] = []
    nodes = [DecodeNode(0), Quiet()]
    group = DPGroup(
        CONFIG, RECOMMENDED, nodes, record=lambda rank, record: seen.append((rank, record))
    )
    group.engines[0].add_request(Request("resumed", 20, 4))
    group.engines[1].add_request(Request("cold", 20, 4))
    group.step()
    decisions = [(rank, r) for rank, r in seen if isinstance(r, Decision)]
    assert [(rank, d.is_prefill, d.group_has_prefill) for rank, d in decisions] == [
        (0, False, True),
        (1, True, True),
    ]


def broken_invariants(policy: str, steps: int) -> set[str]:
    """Every invariant violated in a random run of three decode nodes."""
    broken: set[str] = set()

    def check(rank: int, record: Any) -> None:
        for invariant in about(type(record)):
            if not invariant.claim(record).holds:
                broken.add(invariant.id)

    serve(group_of(3, policy, record=check), random.Random(2), steps)
    return broken


def test_invariants_checked_over_the_group_agree_with_the_shim() -> None:
    assert broken_invariants(RECOMMENDED.name, 500) == set()
    assert "uniform-decode" in broken_invariants("53962", 500)


class CachesAllButOne(Quiet):
    """The urgent request's prompt is cached but for one token; one draft is proposed, none kept."""

    def prefix_hit(self, request: Request) -> int:
        return request.num_tokens - 1 if request.priority == 0 else 0

    def draft(self, request: Request) -> int:
        return 1


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_withdrawn_prefill_excuses_the_decode_it_cut(asynchronous: bool) -> None:
    """The prefill takes the budget, the decode is cut to one row and then preempts the prefill."""
    config = Config.checked(
        max_model_len=16,
        num_spec_tokens=1,
        max_num_scheduled_tokens=4,
        max_num_batched_tokens=4,
        max_num_seqs=2,
        long_prefill_token_threshold=3,
        block_size=1,
        num_gpu_blocks=11,
        async_scheduling=asynchronous,
        priority_scheduling=True,
    )
    seen: list[Any] = []
    group = DPGroup(
        config,
        RECOMMENDED,
        [CachesAllButOne()],
        engine=RunnerEngine,
        record=lambda _, record: seen.append(record),
    )
    group.engines[0].add_request(Request("prefill", 9, 1, priority=1))
    group.step()
    group.engines[0].add_request(Request("decode", 2, 4, priority=0))
    group.step()
    seen.clear()
    (share,) = group.step().outputs[0].scheduled
    assert (share.request.request_id, share.num_scheduled_tokens) == ("decode", 1)
    decode, gone = sorted((d for d in seen if isinstance(d, Decision)), key=lambda d: d.request_id)
    assert decode.prefill_withdrawn and not decode.group_has_prefill
    assert (gone.outcome, gone.num_scheduled_tokens, gone.must_wait) == ("skipped", 0, True)
    claims = [entry.claim(decode) for entry in about(Decision) if entry.id == "uniform-decode"]
    assert [claim.inequality for claim in claims] == [False], (
        "the decode was not cut: no excuse due"
    )
    assert all(claim.holds for claim in claims)
