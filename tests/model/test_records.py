"""What the records say of a step, written by hand: not worked out as the code does it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from model.kv_cache import KVCacheManager
from model.observation import decision
from model.request import Request, RequestStatus
from model.step import Step
from spec.config import Config
from spec.records import SKIPPED, Decision

CONFIG = Config.checked(
    max_model_len=32, num_spec_tokens=3, draft_slots=2, max_num_batched_tokens=80, num_gpu_blocks=2
)


def running(**counters: int) -> Request:
    """10 prompt tokens and 10 generated, of at most 16; one block of KV, one step in flight."""
    request = Request("r", 10, 16)
    request.status = RequestStatus.RUNNING
    request.num_output_tokens, request.num_computed_tokens = 10, 23
    request.num_output_placeholders = request.num_in_flight_tokens = 4
    request.num_blocks = 1
    for name, value in counters.items():
        setattr(request, name, value)
    return request


def preempted(**counters: int) -> Request:
    request = running(num_computed_tokens=0, num_output_placeholders=0, num_in_flight_tokens=0)
    request.status = RequestStatus.PREEMPTED
    for name, value in counters.items():
        setattr(request, name, value)
    return request


def told(request: Request, step: Step | None = None, **facts: Any) -> Decision:
    """The record of skipping a request in an empty step, but for the facts given."""
    config = facts.pop("config", CONFIG)
    asked = dict.fromkeys(("rows", "drafts", "slots_taken", "slots_refused"), 0)
    known = {"padded": False, "computed": None, "pool": KVCacheManager(config)}
    step = step or Step(config.max_num_scheduled_tokens, config.max_num_batched_tokens, 0)
    return decision(config, step, request, SKIPPED, "", **(asked | known | facts))


def test_budget_left_is_the_lesser_budget_without_the_drafter_slots() -> None:
    assert told(running()).budget_left == 64
    assert told(running(), Step(20, 21, 0)).budget_left == 19
    assert told(running()).budget_untouched
    assert not told(running(), Step(63, 80, 0)).budget_untouched
    assert not told(running(), Step(64, 79, 0)).budget_untouched


def test_only_a_running_request_can_end_in_flight() -> None:
    assert told(running(num_output_tokens=15)).ends_in_flight
    assert not told(running()).ends_in_flight
    assert not told(preempted(num_output_tokens=15, num_output_placeholders=1)).ends_in_flight


@pytest.mark.parametrize(
    ("status", "loads"), [("WAITING_FOR_REMOTE_KVS", True), ("WAITING", False)]
)
def test_a_request_loads_while_its_status_says_so(status: str, loads: bool) -> None:
    request = preempted()
    request.status = RequestStatus[status]
    assert told(request).is_loading == loads


def test_a_prefill_is_known_by_its_chunk_when_it_runs_and_by_its_rows_when_it_waits() -> None:
    chunk = running(num_computed_tokens=5)
    assert not told(chunk).is_prefill
    chunk.is_prefill_chunk = True
    assert told(chunk).is_prefill
    assert told(preempted()).is_prefill
    assert not told(preempted(), computed=19).is_prefill
    assert told(preempted(), computed=18).is_prefill
    assert told(preempted(), computed=18).num_computed_tokens == 18


def test_a_waiting_request_lacks_a_slot_blocks_or_output_of_an_earlier_life() -> None:
    assert not told(preempted()).must_wait
    assert told(preempted(num_stale_output_tokens=1)).must_wait
    assert told(preempted(num_stale_output_tokens=1)).waits_alone
    assert not told(preempted()).waits_alone
    taken = told(preempted(), slots_taken=4)
    assert taken.must_wait and not taken.has_slot
    assert told(preempted(), slots_taken=3).has_slot
    # One block held, two free: three blocks of 16 tokens can be had.
    assert not told(preempted(), slots_refused=48).must_wait
    assert told(preempted(), slots_refused=49).must_wait
    assert not told(running(), slots_refused=49).must_wait, "it can preempt somebody"


def test_who_was_preempted_in_this_step_waits_alone_under_priority_scheduling_only() -> None:
    urgent = replace(CONFIG, priority_scheduling=True)
    for config, alone in ((CONFIG, False), (urgent, True)):
        victim = preempted()
        step = Step(64, 80, 0, preempted_reqs=[victim])
        record = told(victim, step, config=config, slots_refused=49)
        assert record.must_wait and not record.from_waiting
        assert record.waits_alone == alone


def test_a_running_request_waits_alone_for_its_output() -> None:
    assert told(running(num_output_tokens=15)).waits_alone
    assert not told(running()).waits_alone
