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
    alive, accepted, stopped_early = book_counters(config, share, sample)
    return booking(config, share, sample, output_before, alive, accepted, stopped_early)


def book_counters(config: Config, share: Scheduled, sample: Sample) -> tuple[bool, int, bool]:
    """``book_output`` without its record, for full speed.

    Returns whether the request was alive, how many accepted drafts were placeholders, and whether
    a stop token ended it.
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
    stopped_early = False
    if alive and share.samples:
        accepted_placeholders = sample.num_accepted_placeholders
        generated = sample.num_generated_tokens
        if drafts > 0 and not stale:
            roll_back_rejected(config, request, drafts, generated)
        if generated > 0:
            stopped_early = append_tokens(config, request, generated, sample.stop_after, stale)
    return alive, accepted_placeholders, stopped_early


def booking(
    config: Config,
    share: Scheduled,
    sample: Sample,
    output_before: int,
    alive: bool,
    accepted_placeholders: int,
    stopped_early: bool,
) -> Booking:
    """The record of one booking, from what ``book_counters`` made of it."""
    request = share.request
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
        stopped_early=stopped_early | (not alive),
        num_emitted_tokens=request.num_output_tokens - output_before,
        must_emit=share.samples & alive & (config.num_sampled_tokens_per_step > 0),
        num_returned_tokens=ite(share.samples & alive, sample.num_generated_tokens, 0),
        stop_returned=all_of(
            share.samples,
            alive,
            sample.stop_after > 0,
            sample.stop_after <= sample.num_generated_tokens,
        ),
    )


def roll_back_rejected(config: Config, request: Request, drafts: int, generated: int) -> None:
    """Rejected drafts were never computed: take them back from C and H."""
    rejected = drafts - max(generated - config.num_sampled_tokens_per_step, 0)
    if request.num_computed_tokens > 0:
        request.num_computed_tokens -= rejected
    if request.num_output_placeholders > 0:
        request.num_output_placeholders -= rejected


def append_tokens(
    config: Config, request: Request, generated: int, stop_after: int, stale: bool
) -> bool:
    """Append tokens up to the first stop.  Returns whether a stop token ended the request."""
    to_model_len = config.max_model_len - request.num_tokens
    to_max_tokens = request.max_tokens - request.num_output_tokens
    # A request already at its limit (which no theorem allows) still appends one token and stops.
    to_length_stop = max(min(to_model_len, to_max_tokens), 1)
    kept, stopped_early = generated, False
    if stop_after > 0 and stop_after <= min(generated, to_length_stop):
        kept, stopped_early = stop_after, True
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
    return stopped_early


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
