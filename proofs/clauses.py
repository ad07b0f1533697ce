"""The inductive invariant: candidate clauses about a request and about a step being decided.

The theorems hold for any number of requests and steps because one loop body is proved for an
arbitrary request in an arbitrary step that satisfies these clauses, and every body keeps them.
Which of them a policy keeps is not assumed: ``proofs.induction`` starts from all and drops those
some body breaks (Houdini), so a policy with a bug is judged by what is really invariant for it.

Every clause belongs to the catalogue id it serves; nothing here is stronger than what a body
keeps, and nothing is believed because it is written down.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.request import Request, RequestStatus
from model.step import Step
from spec.config import Config
from spec.logic import all_of, any_of, implies, not_

Clauses = dict[str, bool]
"""Clause name → formula."""

SERVES: dict[str, str] = {
    "well-formed": "length-capped-finish",
    "computed-not-negative": "placeholder-accounting",
    "waiting-not-negative": "placeholder-accounting",
    "decode-balance": "placeholder-accounting",
    "decode-not-ahead": "placeholder-accounting",
    "decode-covers-prompt": "placeholder-accounting",
    "prefill-behind": "placeholder-accounting",
    "prefill-not-ahead": "placeholder-accounting",
    "prefill-nothing-in-flight": "placeholder-accounting",
    "placeholders-not-negative": "placeholder-accounting",
    "sync-no-placeholders": "placeholder-accounting",
    "rows-in-flight": "placeholder-accounting",
    "waiting-rows-stale": "placeholder-accounting",
    "loading-nothing-in-flight": "placeholder-accounting",
    "sync-all-booked": "placeholder-accounting",
    "waiting-behind": "placeholder-accounting",
    "waiting-nothing-in-flight": "placeholder-accounting",
    "room-to-sample": "within-model-len",
    "not-finished": "length-capped-finish",
    "drafts-in-range": "rows-match-drafts",
    "async-drafts-full": "uniform-decode",
    "canvas-full": "progress",
    "blocks-cover-computed": "block-accounting",
    "finished-holds-no-block": "block-accounting",
    "queued-holds-no-block": "block-accounting",
    "finished-within-model-len": "length-capped-finish",
    "capped-at-boundary": "length-capped-finish",
    "finished-rows-in-flight": "placeholder-accounting",
    "budget-left": "within-budget",
    "inputs-follow-rows": "within-budget",
    "rows-positive": "positive-schedule",
    "rows-at-most-uniform": "uniform-decode",
    "scheduled-within-slots": "within-budget",
    "seats": "uniform-decode",
    "flags-imply-rows": "within-budget",
}
"""Clause name → the catalogue id that is at stake when a body breaks it."""


def request_clauses(config: Config, request: Request, rows_to_sample: int) -> Clauses:
    """What holds of one request between two decisions.

    Args:
        config: the knobs.
        request: the request; its status is concrete, its counters may be symbolic.
        rows_to_sample: sampled tokens and drafts in flight for it: H under async scheduling;
            under sync scheduling those of the step just scheduled, 0 between steps.
    """
    r, s = request, config.num_sampled_tokens_per_step
    clauses: Clauses = {
        "well-formed": all_of(r.num_prompt_tokens >= 1, r.max_tokens >= 1),
        "not-finished": all_of(
            r.num_tokens <= config.max_model_len - 1, r.num_output_tokens <= r.max_tokens - 1
        ),
        "blocks-cover-computed": r.num_computed_tokens <= r.num_blocks * config.block_size,
    }
    if r.status is RequestStatus.RUNNING:
        prefill = r.is_prefill_chunk
        decode = not_(prefill)
        idle = rows_to_sample == 0
        clauses |= {
            "computed-not-negative": r.num_computed_tokens >= 0,
            "decode-balance": implies(
                decode, r.num_computed_tokens == r.num_tokens - s + rows_to_sample
            ),
            "decode-not-ahead": implies(
                decode, r.num_computed_tokens <= r.num_tokens - s + rows_to_sample
            ),
            "decode-covers-prompt": implies(decode, r.num_computed_tokens >= r.num_prompt_tokens),
            "prefill-behind": implies(prefill, r.num_computed_tokens < r.num_tokens),
            "prefill-not-ahead": implies(
                prefill, r.num_computed_tokens < r.num_tokens + rows_to_sample
            ),
            "prefill-nothing-in-flight": implies(prefill, all_of(idle, r.num_spec_tokens == 0)),
            "placeholders-not-negative": r.num_output_placeholders >= 0,
            "sync-no-placeholders": config.async_scheduling | (r.num_output_placeholders == 0),
            "room-to-sample": r.num_computed_tokens <= config.max_model_len - s,
            "drafts-in-range": all_of(
                r.num_spec_tokens >= 0, r.num_spec_tokens <= config.num_spec_tokens
            ),
            "async-drafts-full": implies(
                config.async_scheduling & decode, r.num_spec_tokens == config.num_spec_tokens
            ),
            "canvas-full": implies(
                all_of(s == 0, decode, r.num_in_flight_tokens == 0),
                r.num_spec_tokens == config.num_spec_tokens,
            ),
            "rows-in-flight": all_of(r.num_in_flight_tokens >= 0, r.num_stale_output_tokens == 0),
        }
    else:
        loading = r.status is RequestStatus.WAITING_FOR_REMOTE_KVS
        most = r.num_tokens if loading else r.num_tokens - 1
        clauses |= {
            "waiting-not-negative": r.num_computed_tokens >= 0,
            "waiting-behind": r.num_computed_tokens <= most,
            "waiting-nothing-in-flight": all_of(
                r.num_output_placeholders == 0, r.num_spec_tokens == 0
            ),
            "loading-nothing-in-flight": not_(loading) | (r.num_in_flight_tokens == 0),
            "waiting-rows-stale": all_of(
                r.num_in_flight_tokens >= 0, r.num_stale_output_tokens == r.num_in_flight_tokens
            ),
        }
    return clauses


def resting_clauses(config: Config, request: Request) -> Clauses:
    """What holds of one request between two steps, or after its end."""
    if request.is_finished:
        return _finished_clauses(config, request)
    if config.async_scheduling:
        return request_clauses(config, request, request.num_output_placeholders)
    booked = {"sync-all-booked": request.num_in_flight_tokens == 0}
    return request_clauses(config, request, 0) | booked


def _finished_clauses(config: Config, request: Request) -> Clauses:
    """What holds of one request that has ended: output of it may still be in flight."""
    r = request
    return {
        "finished-holds-no-block": r.num_blocks == 0,
        "finished-within-model-len": r.num_tokens <= config.max_model_len,
        "capped-at-boundary": any_of(
            r.status is not RequestStatus.FINISHED_LENGTH_CAPPED,
            r.num_tokens >= config.max_model_len,
            r.num_output_tokens >= r.max_tokens,
        ),
        "finished-rows-in-flight": all_of(
            r.num_output_placeholders >= 0,
            r.num_in_flight_tokens >= 0,
            any_of(
                r.num_stale_output_tokens == 0, r.num_stale_output_tokens == r.num_in_flight_tokens
            ),
        ),
    }


@dataclass(slots=True)
class StepSoFar:
    """A step in the middle: what the requests before this one got, as totals."""

    step: Step
    num_scheduled_reqs: int
    has_prefill: bool
    """Some request of this step on this rank computes prompt, running or admitted."""
    slots_taken: int
    """Requests that hold a sequence slot: every request scheduled so far is one of them."""


def step_clauses(config: Config, so_far: StepSoFar) -> Clauses:
    """What holds of a step between two decisions."""
    step, count = so_far.step, so_far.num_scheduled_reqs
    rows = config.max_num_scheduled_tokens - step.token_budget
    inputs = config.max_num_batched_tokens - step.input_budget
    return {
        "budget-left": all_of(step.token_budget >= 0, step.input_budget >= 0),
        "inputs-follow-rows": inputs == rows + config.draft_slots * count,
        "rows-positive": rows >= count,
        "rows-at-most-uniform": implies(
            not_(so_far.has_prefill), rows <= count * (1 + config.num_spec_tokens)
        ),
        "scheduled-within-slots": all_of(count >= 0, count <= so_far.slots_taken),
        "seats": so_far.slots_taken <= config.max_num_seqs,
        "flags-imply-rows": all_of(
            implies(step.running_scheduled, count >= 1),
            implies(step.prefill_scheduled, so_far.has_prefill),
        ),
    }
