"""The two passes: order, budgets, preemption, loading, on executions small enough to follow."""

from __future__ import annotations

from typing import Any

from model.engine import Engine
from model.environment import Quiet
from model.policies import POLICIES, RECOMMENDED
from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from model.step import SchedulerOutput
from spec.config import Config
from spec.records import Advance


class Cached(Quiet):
    """All but the last token of every request is in the prefix cache."""

    def prefix_hit(self, request: Request) -> int:
        return request.num_tokens - 1


class Loading(Quiet):
    """All tokens of every request come through a connector; ``ready`` says when."""

    ready = False

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        return request.num_tokens, True

    def load_finished(self, request: Request) -> bool:
        return self.ready


def scheduler(environment: Any = None, policy: str = RECOMMENDED.name, **knobs: Any) -> Scheduler:
    defaults = {"max_model_len": 32, "num_spec_tokens": 3, "async_scheduling": False}
    config = Config.checked(**{**defaults, **knobs})
    return Scheduler(config, POLICIES[policy], environment or Quiet())


def add(target: Scheduler, name: str, prompt: int, priority: int = 0, order: int = 0) -> Request:
    request = Request(name, prompt, 8, priority, order)
    target.add_request(request)
    return request


def shares(output: SchedulerOutput) -> dict[str, tuple[int, int]]:
    """Request → (rows, drafts)."""
    return {
        share.request.request_id: (share.num_scheduled_tokens, share.num_draft_tokens)
        for share in output.scheduled
    }


def test_requests_are_admitted_in_order_until_the_budget_is_spent() -> None:
    ours = scheduler(max_num_scheduled_tokens=20, max_num_batched_tokens=20)
    for name, prompt in (("a", 12), ("b", 12), ("c", 1)):
        add(ours, name, prompt)
    assert shares(ours.schedule()) == {"a": (12, 0), "b": (8, 0)}
    assert [request.request_id for request in ours.waiting] == ["c"]


def test_drafter_slots_come_out_of_the_input_budget() -> None:
    ours = scheduler(max_num_scheduled_tokens=20, max_num_batched_tokens=20, draft_slots=4)
    add(ours, "a", 12)
    add(ours, "b", 12)
    assert shares(ours.schedule()) == {"a": (12, 0)}, "4 inputs left, 4 of them slots"


def test_no_more_requests_run_than_max_num_seqs() -> None:
    ours = scheduler(max_num_seqs=2)
    for name in "abc":
        add(ours, name, 3)
    assert shares(ours.schedule()) == {"a": (3, 0), "b": (3, 0)}


def test_the_urgent_go_first_under_priority_scheduling() -> None:
    ours = scheduler(priority_scheduling=True, max_num_seqs=2)
    add(ours, "late", 3, priority=2, order=0)
    add(ours, "urgent", 3, priority=0, order=1)
    add(ours, "next", 3, priority=1, order=2)
    assert list(shares(ours.schedule())) == ["urgent", "next"]


def test_a_resumed_request_is_padded_beside_running_work() -> None:
    ours = scheduler(Cached())
    add(ours, "a", 10)
    assert shares(ours.schedule()) == {"a": (4, 3)}, "padded even alone since #55126"
    older = scheduler(Cached(), "53962")
    add(older, "a", 10)
    assert shares(older.schedule()) == {"a": (1, 0)}, "the odd row of #55126"
    add(older, "b", 10)
    older.running[0].num_spec_tokens = 3
    assert shares(older.schedule())["b"] == (4, 3)


def test_the_youngest_is_preempted_when_blocks_run_out() -> None:
    ours = scheduler(block_size=4, num_gpu_blocks=4)
    first, second = add(ours, "a", 8), add(ours, "b", 8)
    ours.schedule()
    for request in (first, second):
        request.num_output_tokens = 1
    output = ours.schedule()
    assert shares(output) == {"a": (1, 0)}
    assert output.preempted_reqs == (second,)
    assert second.status is RequestStatus.PREEMPTED
    assert (second.num_computed_tokens, second.num_blocks) == (0, 0)
    assert ours.waiting == [second]
    assert first.num_blocks + ours.kv_cache_manager.num_free_blocks == 4


def test_the_least_urgent_is_preempted_and_its_rows_given_back() -> None:
    ours = scheduler(block_size=4, num_gpu_blocks=4, priority_scheduling=True)
    late, urgent = add(ours, "late", 8, 1, 0), add(ours, "urgent", 8, 0, 1)
    ours.schedule()
    ours.running.reverse()  # the order of admission may differ from the order of urgency
    for request in (late, urgent):
        request.num_output_tokens = 1
    ours.kv_cache_manager.num_free_blocks = 1
    late.num_blocks, urgent.num_blocks = 2, 1
    output = ours.schedule()
    assert output.preempted_reqs == (late,)
    assert shares(output) == {"urgent": (1, 0)}


def test_a_loading_request_gets_no_rows_and_blocks_nobody() -> None:
    world = Loading()
    ours = scheduler(world)
    slow = add(ours, "slow", 10)
    assert shares(ours.schedule()) == {}
    assert slow.status is RequestStatus.WAITING_FOR_REMOTE_KVS
    assert slow.num_blocks == 1
    world.ready = True
    assert shares(ours.schedule()) == {"slow": (4, 3)}, "one token is left to compute, padded"


def test_blocks_of_a_finished_request_return_to_the_pool() -> None:
    ours = scheduler()
    request = add(ours, "a", 20)
    ours.schedule()
    assert ours.kv_cache_manager.num_free_blocks == 62
    ours.finish(request, RequestStatus.FINISHED_ABORTED)
    assert ours.kv_cache_manager.num_free_blocks == 64
    assert (ours.running, ours.finished) == ([], [request])


def test_the_observer_sees_counters_before_and_after_they_move() -> None:
    seen: list[Any] = []
    config = Config.checked(max_model_len=32, num_spec_tokens=3)
    ours = Scheduler(config, RECOMMENDED, Cached(), seen.append)
    add(ours, "a", 10)
    ours.schedule()
    decision, advance = seen
    assert (decision.num_computed_tokens, decision.num_scheduled_tokens) == (9, 4)
    assert decision.is_padded and decision.budget_untouched and decision.kv_capacity == 16
    assert advance == Advance(config, "a", 9, 4, 13)


def test_async_booking_is_one_step_late_and_ends_at_max_tokens() -> None:
    config = Config.checked(max_model_len=32, num_spec_tokens=3)
    engine = Engine(config, RECOMMENDED, Quiet())
    request = Request("a", 5, 3)
    engine.add_request(request)
    tokens = []
    while engine.has_unfinished_requests or engine.in_flight:
        engine.step()
        tokens.append(request.num_output_tokens)
    assert tokens == [0, 1, 2, 3]
    assert request.status is RequestStatus.FINISHED_LENGTH_CAPPED
