"""Booking the runner's output: acceptance, rollback, stop, and the next drafts.

Follows ``update_from_output``, ``_update_request_with_output`` and ``check_stop`` of vLLM; the
token-by-token stop check is written as the closed form it computes.
"""

from __future__ import annotations

from model.environment import Sample
from model.request import Request, RequestStatus
from model.step import Scheduled
from spec.config import Config
from spec.logic import all_of, ite, max, min, not_
from spec.records import Booking


def book_output(config: Config, share: Scheduled, sample: Sample) -> Booking:
    """Move one request's counters for one returned step; the caller removes it if it ended.

    Args:
        config: the knobs.
        share: what was scheduled for the request in the step that returns.
        sample: what the runner returned; ignored unless the step sampled.
    """
    output_before = share.request.num_output_tokens
    alive, accepted = book_counters(config, share, sample)
    return booking(config, share, sample, output_before, alive, accepted)


def book_counters(config: Config, share: Scheduled, sample: Sample) -> tuple[bool, int]:
    """``book_output`` without its record, for full speed.

    Returns whether the request was alive, and how many accepted drafts were placeholders.
    """
    request, drafts = share.request, share.num_draft_tokens
    rows = share.num_scheduled_tokens
    request.num_in_flight_tokens -= rows
    stale = False
    if request.num_stale_output_tokens > 0:
        stale = True
        request.num_stale_output_tokens -= rows
        assert request.num_stale_output_tokens >= 0, "more stale rows returned than were in flight"
    alive = not request.is_finished
    accepted_placeholders = 0
    if alive and share.samples:
        accepted_placeholders = sample.num_accepted_placeholders
        generated = sample.num_generated_tokens
        if drafts > 0 and not stale:
            roll_back_rejected(config, request, drafts, generated)
        append_tokens(config, request, generated, sample.stop_after, stale)
    return alive, accepted_placeholders


def booking(
    config: Config,
    share: Scheduled,
    sample: Sample,
    output_before: int,
    alive: bool,
    accepted_placeholders: int,
) -> Booking:
    """The record of one booking, from what ``book_counters`` made of it.

    What is due follows from the sample alone: the request is measured by it.
    """
    request, to_stop = share.request, sample.stop_after
    returned = ite(share.samples & alive, sample.num_generated_tokens, 0)
    num_tokens_before = request.num_prompt_tokens + output_before
    to_length = min(config.max_model_len - num_tokens_before, request.max_tokens - output_before)
    within, stop_due = due(returned, to_length, to_stop)
    return Booking(
        config=config,
        request_id=request.request_id,
        max_tokens=request.max_tokens,
        num_output_tokens=request.num_output_tokens,
        num_tokens=request.num_tokens,
        num_computed_tokens=request.num_computed_tokens,
        num_output_placeholders=request.num_output_placeholders,
        num_accepted_placeholders=accepted_placeholders,
        is_decode=is_decode(request),
        is_finished=request.is_finished,
        is_length_capped=request.status is RequestStatus.FINISHED_LENGTH_CAPPED,
        stopped_early=stop_due | (not alive),
        num_emitted_tokens=request.num_output_tokens - output_before,
        must_emit=share.samples & alive & (config.num_sampled_tokens_per_step > 0),
        num_returned_tokens=returned,
        num_due_tokens=ite(stop_due, to_stop, within) if alive else -1,
        stop_due=stop_due,
        is_stopped=request.status is RequestStatus.FINISHED_STOPPED,
    )


def due(returned: int, to_length: int, to_stop: int) -> tuple[int, bool]:
    """How many of the returned tokens lie within the request's length, and whether it ends among
    them by its stop token.

    Args:
        returned: tokens that came back.
        to_length: tokens until the request is as long as it may be; it gets one in any case.
        to_stop: the number of its first stop token among them; 0 = none.
    """
    within = min(returned, max(to_length, 1))
    return within, all_of(to_stop > 0, to_stop <= within)


def roll_back_rejected(config: Config, request: Request, drafts: int, generated: int) -> None:
    """Rejected drafts were never computed: take them back from C and H."""
    rejected = drafts - max(generated - config.num_sampled_tokens_per_step, 0)
    if request.num_computed_tokens > 0:
        request.num_computed_tokens -= rejected
    if request.num_output_placeholders > 0:
        request.num_output_placeholders -= rejected


def append_tokens(
    config: Config, request: Request, generated: int, stop_after: int, stale: bool
) -> None:
    """Append tokens up to the first stop, or to the request's length."""
    to_model_len = config.max_model_len - request.num_tokens
    to_max_tokens = request.max_tokens - request.num_output_tokens
    # A request already at its limit (which no theorem allows) still appends one token and stops.
    to_length_stop = max(min(to_model_len, to_max_tokens), 1)
    kept = generated
    if all_of(stop_after > 0, stop_after <= min(generated, to_length_stop)):
        kept = stop_after
        request.status = RequestStatus.FINISHED_STOPPED
    elif to_length_stop <= generated:
        kept = to_length_stop
        request.status = RequestStatus.FINISHED_LENGTH_CAPPED
    request.num_output_tokens += kept
    if not stale:
        # C covers all tokens but the last one: keep that true when the tail is trimmed.
        request.num_computed_tokens -= generated - kept
        if request.num_output_placeholders > 0:
            request.num_output_placeholders -= generated
            assert request.num_output_placeholders >= 0, "more rows returned than were in flight"


def propose_drafts(config: Config, request: Request, drafts: int) -> None:
    """Sync scheduling: the drafter's proposal for the next step; ignored for a prefill chunk."""
    if request.is_finished:
        return
    request.num_spec_tokens = 0 if request.is_prefill_chunk else drafts


def is_decode(request: Request) -> bool:
    """A running request whose known tokens are all computed but the one being sampled."""
    if request.status is not RequestStatus.RUNNING:
        return False
    return not_(request.is_prefill_chunk)
