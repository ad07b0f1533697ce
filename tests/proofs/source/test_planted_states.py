"""Bugs in what a run takes for granted of the state it starts from, and of what excuses it.

A load, a counter, a queue, a place in a batch: the world says what it is, or a run ends with what
the next one begins with.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from planted import (
    LEAST_URGENT,
    LOADING,
    ONE,
    STEP,
    TWO,
    URGENCY,
    VICTIM,
    Plant,
    findings,
    release,
    verdicts,
)

from proofs.verdict import ASYNC, SYNC, UNDECIDED, VIOLATED

STALE = ("booking after preemption",)
NOT_DONE = "if request_id not in self.finished_recving_kv_req_ids:"
AS_FOUND = "else:\n                            num_external_computed_tokens = ext_tokens"

PLANTS: dict[str, Plant] = {
    # loads: the connector says which are due
    "no load is ever promoted": Plant(
        "async-load-idle",
        LOADING,
        NOT_DONE,
        before="if request_id in self.finished_recving_kv_req_ids:\n    return False",
    ),
    "a load that is done is not promoted after a preemption": Plant(
        "progress",
        LOADING,
        NOT_DONE,
        "if request.num_preemptions > 0 or " + NOT_DONE.removeprefix("if "),
    ),
    "what is there at once is waited for": Plant(
        "async-load-idle", LOADING, AS_FOUND, AS_FOUND + "\n" + 28 * " " + "load_kv_async = True"
    ),
    "what is being loaded is computed from": Plant(
        "async-load-idle",
        LOADING,
        "ext_tokens, load_kv_async = 0, False",
        instead="ext_tokens, load_kv_async = 0, False\n"
        "                        if request.num_preemptions > 0:\n"
        "                            load_kv_async = False\n"
        "                            ext_tokens = 0",
    ),
    "more is said to be found than was": Plant(
        "progress",
        LOADING,
        AS_FOUND,
        AS_FOUND.replace("= ext", "= ext_tokens and self.block_size + ext"),
    ),
    # counters that are one number where a step starts
    "rows stay in flight": Plant(
        "placeholder-accounting",
        ONE,
        "request.num_in_flight_tokens -= num_tokens_scheduled",
        before="if self.scheduler_config.async_scheduling:",
        instead="    request.num_in_flight_tokens -= num_tokens_scheduled",
    ),
    "a canvas stays in flight": Plant(
        "placeholder-accounting",
        ONE,
        "generated_token_ids or self.num_sampled_tokens_per_step == 0",
        "generated_token_ids",
        mode=ASYNC,
    ),
    "a request more than there are seats": Plant(
        "within-budget",
        STEP,
        "self.max_num_running_reqs = self.scheduler_config.max_num_seqs",
        "self.max_num_running_reqs = self.scheduler_config.max_num_seqs + 1",
    ),
    "a preempted request passes for a new one": Plant(
        "request-conservation",
        LOADING,
        "if request.num_preemptions:\n                request.status = RequestStatus.PREEMPTED",
        "if request.num_preemptions > 1:\n                request.status = RequestStatus.PREEMPTED",
    ),
    # two requests in a batch
    "a row is found by its place": Plant(
        "progress",
        TWO,
        "req_index = model_runner_output.req_id_to_index[req_id]",
        "req_index = list(num_scheduled_tokens).index(req_id)",
    ),
    "rejections are carried over": Plant(
        "placeholder-accounting",
        TWO,
        "# Free encoder inputs only after the step has actually executed.",
        before="if not scheduled_spec_token_ids and request.num_computed_tokens > 1:\n"
        "    request.num_computed_tokens -= len(\n"
        "        next(iter(scheduler_output.scheduled_spec_decode_tokens.values()), ())\n"
        "    )",
    ),
    # who is preempted needs a reason, and a place
    "one is preempted for no reason": Plant(
        "progress",
        VICTIM,
        "# Schedule newly needed KV blocks for the request.",
        before="if scheduled_running_reqs and req_index == len(self.running) - 1:\n"
        "    self._preempt_request(self.running.pop(), scheduled_timestamp)\n"
        "    preempted_reqs.append(request)\n"
        "    break",
    ),
    "a victim waits with those that hold KV": Plant(
        "request-conservation",
        VICTIM,
        "self.waiting.prepend_request(request)",
        "self.kv_holding_waiting.prepend_request(request)",
        version="0.31.0",
    ),
    "who holds KV waits with the others": Plant(
        "request-conservation",
        LOADING,
        "if self._holds_kv_blocks(request_to_skip):",
        "if False:",
    ),
    "who was passed over never comes back": Plant(
        "no-reachable-assert",
        URGENCY,
        "return self.waiting or self.skipped_waiting or None",
        "return self.waiting or None",
        site="assert request_queue is not None",
        version="0.30.0",
        mode=ASYNC,
    ),
    "who was passed over and ended stays": Plant(
        "request-conservation",
        STALE,
        "self.skipped_waiting.remove_requests(stopped_preempted_reqs)",
        "pass",
        version="0.30.0",
        mode=ASYNC,
    ),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_bug_is_found(name: str) -> None:
    plant = PLANTS[name]
    found = findings(plant.texts(), plant.mode, plant.tasks, plant.version)
    about = [f for f in found if f.invariant == plant.invariant and plant.site in f.site]
    assert VIOLATED in [finding.verdict for finding in about]


def test_a_list_that_requests_share_must_not_change_in_place() -> None:
    """All requests of the asynchronous scheduler have one list of placeholder drafts."""
    trimmed = Plant(
        "rows-match-drafts",
        STEP,
        "spec_token_ids = spec_token_ids[:num_scheduled_spec_tokens]",
        "del spec_token_ids[num_scheduled_spec_tokens:]",
    )
    assert verdicts(trimmed.texts(), ASYNC, STEP)[trimmed.invariant] == UNDECIDED


def test_a_violation_does_not_hide_another_of_the_same_invariant() -> None:
    """0.31.0 breaks `progress` where a request preempts itself; here it does elsewhere, too."""
    stops = Plant(
        "progress",
        (*VICTIM, *LEAST_URGENT),
        "this prevents uniform decode optimizations.\n                req_index += 1\n"
        "                continue",
        "this prevents uniform decode optimizations.\n                break",
        version="0.31.0",
    )
    shown = []
    for texts in (release(stops.version), stops.texts()):
        found = findings(texts, ASYNC, stops.tasks, stops.version)
        (finding,) = (f for f in found if f.invariant == stops.invariant)
        assert finding.verdict == VIOLATED and finding.line is not None
        shown.append([str(finding.line), *finding.also])
    assert len(shown[1]) > len(shown[0])


def test_a_done_load_is_looked_for_in_every_queue() -> None:
    unseen = Plant(
        "progress",
        LOADING,
        "while (self.waiting or self.skipped_waiting) and token_budget > 0:",
        "while self.waiting and token_budget > 0:",
        version="0.30.0",
    )
    found = verdicts(unseen.texts(), SYNC, unseen.tasks, unseen.version)
    assert found[unseen.invariant] == VIOLATED
