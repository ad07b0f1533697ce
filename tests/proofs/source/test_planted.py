"""Bugs planted in a release: each a few words, each seen in the runs named beside it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from planted import (
    ARRIVAL,
    CONNECTED,
    FEATURED,
    HELD_BACK,
    LEAST_URGENT,
    LOADING,
    MAMBA,
    ONE,
    STEP,
    TWO,
    URGENCY,
    VERSION,
    VICTIM,
    Plant,
    release,
    verdicts,
)

from proofs.verdict import MODES, PROVED, SYNC, VIOLATED

PLANTS: dict[str, Plant] = {
    # one of two requests in the booking
    "no more output behind one that is gone": Plant(
        "progress",
        TWO,
        "we use is_finished() to check.\n                continue",
        "we use is_finished() to check.\n                break",
    ),
    "no more output behind one that ends": Plant(
        "progress",
        TWO,
        "finished = self._handle_stopped_request(request)",
        behind="if finished:\n    break",
    ),
    "no more output once somebody ended": Plant(
        "progress",
        TWO,
        "assert num_tokens_scheduled > 0",
        before="if stopped_running_reqs:\n    break",
    ),
    "all leave when one ends": Plant(
        "request-conservation",
        TWO,
        "self.running = remove_all(self.running, stopped_running_reqs)",
        "self.running = []",
    ),
    "drafts are dropped behind one that is gone": Plant(
        "uniform-decode",
        TWO,
        "# The request may have been finished. Skip.\n                continue\n\n"
        "            if request.is_prefill_chunk:",
        "break\n\n            if request.is_prefill_chunk:",
    ),
    # who is known to the scheduler
    "a preempted request is forgotten": Plant(
        "request-conservation",
        VICTIM,
        "self.reset_preempted_req_ids.add(request.request_id)",
        behind="self.requests.pop(request.request_id, None)",
    ),
    "all are forgotten when one ends": Plant(
        "request-conservation",
        TWO,
        "del self.requests[request.request_id]",
        behind="self.requests.clear()",
    ),
    "nobody is forgotten": Plant(
        "request-conservation", ONE, "del self.requests[request.request_id]", "pass"
    ),
    "who was preempted before leaves with the victim": Plant(
        "request-conservation",
        LEAST_URGENT,
        "preempted_reqs.append(preempted_req)",
        behind="self.running = [r for r in self.running if r.num_preemptions == 0]",
    ),
    "a row more after a preemption": Plant(
        "uniform-decode",
        STEP,
        "scheduled_running_reqs.append(request)",
        before="if request.num_preemptions > 0:\n    num_new_tokens += 1",
    ),
    "a request is enqueued twice": Plant(
        "request-conservation",
        ARRIVAL,
        "self.requests[request.request_id] = request",
        before="self.waiting.add_request(request)",
    ),
    # what is due
    "only the last token can end a request": Plant(
        "progress",
        ONE,
        "stopped = check_stop(request",
        "stopped = num_new == num_new_tokens and check_stop(request",
    ),
    # drafts and rows
    "the victim's drafts stay": Plant(
        "rows-match-drafts",
        LEAST_URGENT,
        "scheduled_spec_decode_tokens.pop(preempted_req_id, None)",
        "pass",
    ),
    # a promise about prefills
    "a long prefill runs on": Plant(
        "within-budget",
        STEP,
        "num_new_tokens = long_prefill_token_threshold\n            num_new_tokens = min(",
        "pass\n            num_new_tokens = min(",
    ),
    # crossings of features
    "a row more for a waiting request, by priority": Plant(
        "uniform-decode",
        URGENCY,
        "# chunked prefill has to be enabled explicitly to allow",
        before="if self.policy == SchedulingPolicy.PRIORITY and not pad_spec_decode:\n"
        "    num_new_tokens += 1",
    ),
    "a connector starves who runs": Plant(
        "progress",
        CONNECTED,
        "if self.current_step < request.next_decode_eligible_step:",
        "if self.connector is not None:",
    ),
    "a connector loses the victim": Plant(
        "request-conservation",
        CONNECTED,
        "# Put the request back to the waiting queue.",
        before="if self.connector is not None:\n    return",
    ),
    "Mamba alignment loses the victim": Plant(
        "request-conservation",
        MAMBA,
        "# Put the request back to the waiting queue.",
        before="if self.need_mamba_block_aligned_split:\n    return",
    ),
    "a connector keeps the blocks": Plant(
        "block-accounting",
        FEATURED,
        "delay_free_blocks |= connector_delay_free_blocks",
        behind="delay_free_blocks |= self.connector is not None",
    ),
    "priorities keep the blocks": Plant(
        "block-accounting",
        ONE,
        "delay_free_blocks |= connector_delay_free_blocks",
        behind="delay_free_blocks |= self.policy == SchedulingPolicy.PRIORITY",
    ),
    "Mamba alignment miscounts": Plant(
        "placeholder-accounting",
        FEATURED,
        "# Drop-mode stale output (same-step resume) is discarded entirely.",
        before="if self.need_mamba_block_aligned_split:\n    request.num_computed_tokens += 1",
    ),
    "statistics add a row": Plant(
        "within-model-len",
        STEP,
        "EngineCoreEventType.SCHEDULED, scheduled_timestamp\n                    )",
        "EngineCoreEventType.SCHEDULED, scheduled_timestamp\n                    )\n"
        "                    num_new_tokens += 1",
    ),
    # what else an output says
    "the most urgent is preempted": Plant(
        "progress", LEAST_URGENT, "preempted_req = max(", "preempted_req = min("
    ),
    "the total is the longest": Plant(
        "within-budget",
        STEP,
        "= sum(num_scheduled_tokens.values())",
        "= max(num_scheduled_tokens.values(), default=0)",
    ),
    "the runner is not told who runs": Plant(
        "request-conservation",
        STEP,
        "scheduled_running_reqs,\n                scheduled_resumed_reqs,",
        "scheduled_resumed_reqs,\n                scheduled_resumed_reqs,",
    ),
    "a row more while prefills are held back": Plant(
        "uniform-decode",
        HELD_BACK,
        "scheduled_running_reqs.append(request)",
        before="if throttle_prefills:\n    num_new_tokens += 1",
    ),
    "a load stays done": Plant(
        "async-load-idle",
        LOADING,
        "self.finished_recving_kv_req_ids.remove(request.request_id)",
        "pass",
    ),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_bug_is_found(name: str) -> None:
    plant = PLANTS[name]
    assert verdicts(plant.texts(), SYNC, plant.tasks)[plant.invariant] == VIOLATED


@pytest.mark.parametrize("mode", MODES)
def test_without_it_those_runs_find_nothing(mode: str) -> None:
    names = (*ONE, *TWO, *FEATURED, *ARRIVAL, *CONNECTED, *URGENCY, *HELD_BACK)
    found = verdicts(release(VERSION), mode, names)
    found.pop("no-reachable-assert")
    assert set(found.values()) == {PROVED}
