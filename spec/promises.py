"""One promise, one function: from a record of what a scheduler did to a ``Claim`` about it.

Each function takes one record of ``spec.records``.  The same function is evaluated on integers by
the fuzzer and the replay, and builds a formula for the prover.  ``spec.invariants`` says which
promises make up which invariant.
"""

from __future__ import annotations

from spec.claims import Claim
from spec.config import Config
from spec.logic import all_of, any_of, ite, max, min, not_
from spec.records import (
    BLOCKED,
    LOADING,
    SCHEDULED,
    SKIPPED,
    Advance,
    Attention,
    Booking,
    Decision,
    PoolState,
    RequestState,
    StepTotals,
)
from spec.waivers import WAIVERS


def positive_schedule(d: Decision) -> Claim:
    """A scheduled request gets at least one row."""
    return Claim(
        {"num_scheduled_tokens": d.num_scheduled_tokens},
        ">=",
        {"1": 1},
        when=d.outcome == SCHEDULED,
    )


def within_model_len(d: Decision) -> Claim:
    """The rows of a sampling step and the token it samples fit ``max_model_len``."""
    s = d.config.num_sampled_tokens_per_step
    samples = d.num_computed_tokens + d.num_scheduled_tokens >= d.num_tokens
    return Claim(
        {
            "num_computed_tokens": d.num_computed_tokens,
            "num_scheduled_tokens": d.num_scheduled_tokens,
            "num_sampled_tokens_per_step": s,
        },
        "<=",
        {"max_model_len": d.config.max_model_len},
        when=(d.outcome == SCHEDULED) & samples,
    )


def uniform_decode(d: Decision) -> Claim:
    """In a step without prefill anywhere, an autoregressive request gets 1 + K rows."""
    return Claim(
        {"num_scheduled_tokens": d.num_scheduled_tokens},
        "==",
        {"1": 1, "num_spec_tokens": d.config.num_spec_tokens},
        when=all_of(
            d.outcome == SCHEDULED,
            not_(d.group_has_prefill),
            d.config.num_sampled_tokens_per_step > 0,
        ),
        waivers={waiver.id: waiver.applies(d) for waiver in WAIVERS},
    )


def rows_match_drafts(d: Decision) -> Claim:
    """A decode or padded step has one row per sampled token and one per attached draft."""
    return Claim(
        {"num_draft_tokens": d.num_draft_tokens},
        "==",
        {
            "num_scheduled_tokens": d.num_scheduled_tokens,
            "-num_sampled_tokens_per_step": -d.config.num_sampled_tokens_per_step,
        },
        when=(d.outcome == SCHEDULED) & any_of(not_(d.is_prefill), d.is_padded),
    )


def drafts_need_rows(d: Decision) -> Claim:
    """Who gets no rows gets no drafts."""
    return Claim(
        {"num_draft_tokens": d.num_draft_tokens}, "==", {"0": 0}, when=d.outcome != SCHEDULED
    )


def within_budget_rows(t: StepTotals) -> Claim:
    """The rows of a step fit the row budget."""
    return Claim(
        {"total_num_scheduled_tokens": t.num_scheduled_tokens},
        "<=",
        {"max_num_scheduled_tokens": t.config.max_num_scheduled_tokens},
    )


def within_budget_inputs(t: StepTotals) -> Claim:
    """The rows and the drafter's slots of a step fit the input budget."""
    return Claim(
        {
            "total_num_scheduled_tokens": t.num_scheduled_tokens,
            "draft_slots * num_scheduled_reqs": t.config.draft_slots * t.num_scheduled_reqs,
        },
        "<=",
        {"max_num_batched_tokens": t.config.max_num_batched_tokens},
    )


def within_budget_chunk(d: Decision) -> Claim:
    """A prefill chunk is no longer than the long-prefill threshold in force."""
    return Claim(
        {"num_scheduled_tokens": d.num_scheduled_tokens},
        "<=",
        {"long_prefill_token_threshold": d.threshold},
        when=all_of(d.outcome == SCHEDULED, d.is_prefill, d.threshold > 0),
    )


def within_budget_whole(d: Decision) -> Claim:
    """With chunked prefill off, nothing but the threshold or Mamba alignment splits a prompt."""
    c = d.config
    split_allowed = any_of(
        c.enable_chunked_prefill, c.mamba_align, c.long_prefill_token_threshold > 0
    )
    return Claim(
        {"num_scheduled_tokens": d.num_scheduled_tokens},
        ">=",
        {"num_tokens": d.num_tokens, "-num_computed_tokens": -d.num_computed_tokens},
        when=all_of(d.outcome == SCHEDULED, d.from_waiting, not_(split_allowed)),
    )


def progress_step(d: Decision) -> Claim:
    """An eligible request with budget enough, or the whole budget, is scheduled."""
    c = d.config
    needed = d.num_tokens - d.num_computed_tokens
    unsplit = min(needed, ite(d.threshold > 0, d.threshold, needed))
    # Who waits for its last token may be padded: then all 1 + K rows have to fit.
    chunk = ite(needed == 1, 1 + c.num_spec_tokens, ite(c.enable_chunked_prefill, 1, unsplit))
    enough = d.budget_left >= ite(d.from_waiting, max(1, chunk), 1)
    enough &= not_(_may_be_aligned(d))
    got_rows = d.outcome in (SCHEDULED, LOADING)
    return Claim(
        {"scheduled": int(got_rows)},
        ">=",
        {"eligible": 1},
        when=all_of(not_(d.is_loading), not_(d.must_wait), any_of(d.budget_untouched, enough)),
    )


def progress_rows(d: Decision) -> Claim:
    """Who gets rows gets all it has tokens and drafts for, unless budget, threshold or model length
    cut it short."""
    c = d.config
    ahead = ite(d.from_waiting, 0, d.num_spec_tokens + d.num_output_placeholders)
    needed = d.num_tokens + ahead - d.num_computed_tokens
    room = c.max_model_len - d.num_computed_tokens - c.num_sampled_tokens_per_step
    rows = min(min(needed, d.budget_left), room)
    # The threshold as configured: that a request alone is spared it is not claimed.
    threshold = c.long_prefill_token_threshold
    rows = min(rows, ite(threshold > 0, threshold, rows))
    return Claim(
        {"num_scheduled_tokens": d.num_scheduled_tokens},
        ">=",
        {"rows needed and allowed": rows},
        when=all_of(d.outcome == SCHEDULED, not_(d.rows_withdrawn), not_(_may_be_aligned(d))),
    )


def _may_be_aligned(d: Decision) -> bool:
    """Mamba alignment may shorten these rows, or leave none: they compute prompt."""
    return d.config.mamba_align & any_of(d.from_waiting, d.is_prefill)


def progress_attention(a: Attention) -> Claim:
    """A step looks at every request, unless it has stopped at one before."""
    return Claim({"looked at": int(a.looked_at)}, ">=", {"1": 1}, when=not_(a.excused))


def progress_no_block(d: Decision) -> Claim:
    """A request that alone has to wait never stops the requests behind it."""
    return Claim(
        {"blocks the queue": int(d.outcome == BLOCKED)},
        "==",
        {"0": 0},
        when=all_of(
            any_of(d.is_loading & not_(d.must_wait), d.waits_alone & d.has_slot), d.budget_left > 0
        ),
    )


def progress_no_overtaking(d: Decision) -> Claim:
    """A waiting request that could go on but for rows, slots or blocks is never passed over."""
    return Claim(
        {"passed over": int(d.outcome == SKIPPED)},
        "==",
        {"0": 0},
        when=all_of(d.from_waiting, not_(d.is_loading), not_(d.waits_alone)),
    )


def progress_counts(a: Advance) -> Claim:
    """A step counts the rows it schedules as computed, and forgets nothing computed before."""
    return Claim(
        {"num_computed_tokens": a.num_computed_tokens},
        "==",
        {
            "computed before": a.num_counted_tokens,
            "num_scheduled_tokens": a.num_scheduled_tokens,
        },
    )


def progress_finish(b: Booking) -> Claim:
    """Each sampling step of a live request brings it at least one token closer to its end."""
    return Claim({"emitted tokens": b.num_emitted_tokens}, ">=", {"1": 1}, when=b.must_emit)


def progress_keeps(b: Booking) -> Claim:
    """A request gets what the runner returned, up to its stop token and its length: no token less,
    none more."""
    return Claim(
        {"emitted tokens": b.num_emitted_tokens},
        "==",
        {"tokens due": b.num_due_tokens},
        when=b.num_due_tokens >= 0,
    )


def progress_stops(b: Booking) -> Claim:
    """A request ends FINISHED_STOPPED when its stop token is due, and only then."""
    return Claim(
        {"finished stopped": ite(b.is_stopped, 1, 0)},
        "==",
        {"stop token due": ite(b.stop_due, 1, 0)},
        when=b.num_due_tokens >= 0,
    )


def length_capped_fits(b: Booking) -> Claim:
    """A request never holds more than ``max_model_len`` tokens."""
    return Claim({"num_tokens": b.num_tokens}, "<=", {"max_model_len": b.config.max_model_len})


def length_capped_ends(b: Booking) -> Claim:
    """A request at the boundary ends FINISHED_LENGTH_CAPPED."""
    at_boundary = any_of(
        b.num_tokens >= b.config.max_model_len, b.num_output_tokens >= b.max_tokens
    )
    ended = ite(b.is_length_capped, 1, 0)
    return Claim(
        {"finished length-capped": ended}, ">=", {"1": 1}, when=at_boundary & not_(b.stopped_early)
    )


def length_capped_only_there(b: Booking) -> Claim:
    """A request ends FINISHED_LENGTH_CAPPED at the boundary only."""
    at_boundary = any_of(
        b.num_tokens >= b.config.max_model_len, b.num_output_tokens >= b.max_tokens
    )
    return Claim(
        {"at the boundary": ite(at_boundary, 1, 0)}, ">=", {"1": 1}, when=b.is_length_capped
    )


def length_capped_or_stopped(b: Booking) -> Claim:
    """The output of a step ends a request by its stop token or by its length, and not otherwise."""
    return Claim(
        {"finished": ite(b.is_finished, 1, 0)},
        "==",
        {"stopped or length-capped": ite(any_of(b.is_stopped, b.is_length_capped), 1, 0)},
        when=b.num_due_tokens >= 0,
    )


def placeholders_balance(r: RequestState) -> Claim:
    """The optimistic count is the verified tokens plus the rows in flight: C = N - s + H."""
    return Claim(
        {"num_computed_tokens": r.num_computed_tokens},
        "==",
        {
            "num_tokens": r.num_tokens,
            "-num_sampled_tokens_per_step": -r.config.num_sampled_tokens_per_step,
            "num_output_placeholders": r.num_output_placeholders,
        },
        when=r.is_decode,
    )


def placeholders_not_negative(r: RequestState) -> Claim:
    """The number of rows in flight is never negative."""
    return Claim({"num_output_placeholders": r.num_output_placeholders}, ">=", {"0": 0})


def placeholders_not_emitted(b: Booking) -> Claim:
    """A placeholder draft never becomes an output token."""
    return Claim({"accepted placeholders": b.num_accepted_placeholders}, "==", {"0": 0})


def placeholders_not_invented(b: Booking) -> Claim:
    """No token is emitted that the runner did not return."""
    return Claim(
        {"emitted tokens": b.num_emitted_tokens},
        "<=",
        {"returned tokens": b.num_returned_tokens},
        when=b.num_returned_tokens >= 0,
    )


def placeholders_end(d: Decision) -> Claim:
    """A request whose rows in flight surely sample its last token gets no more rows."""
    return Claim(
        {"num_scheduled_tokens": d.num_scheduled_tokens}, "<=", {"0": 0}, when=d.ends_in_flight
    )


def no_padding_with_prefill(d: Decision) -> Claim:
    """Padding never joins a running prefill: the step is not uniform anyway."""
    return Claim({"padded": ite(d.is_padded, 1, 0)}, "==", {"0": 0}, when=d.prefill_scheduled)


def no_padding_diffusion(d: Decision) -> Claim:
    """A diffusion request is never padded: its canvas has no sampled token to pad for."""
    return Claim(
        {"padded": ite(d.is_padded, 1, 0)},
        "==",
        {"0": 0},
        when=d.config.num_sampled_tokens_per_step == 0,
    )


def async_load_idle(d: Decision) -> Claim:
    """A request whose KV is still loading gets no rows and no padding."""
    rows = d.num_scheduled_tokens + d.num_draft_tokens
    loading = d.is_loading | (d.outcome == LOADING)
    return Claim({"rows and drafts": rows}, "==", {"0": 0}, when=loading)


def blocks_conserved(p: PoolState) -> Claim:
    """Free and held KV blocks add up to the pool."""
    return Claim(
        {"num_free_blocks": p.num_free_blocks, "held blocks": p.num_held_blocks},
        "==",
        {"num_gpu_blocks": p.config.num_gpu_blocks},
    )


def blocks_not_overdrawn(p: PoolState) -> Claim:
    """The pool never hands out a block it does not have."""
    return Claim({"num_free_blocks": p.num_free_blocks}, ">=", {"0": 0})


def blocks_given_back(r: RequestState) -> Claim:
    """A request that has ended, was preempted, or has computed nothing yet holds no KV block."""
    return Claim({"KV blocks held": r.num_blocks}, "==", {"0": 0}, when=r.needs_no_blocks)


def blocks_cover_rows(d: Decision) -> Claim:
    """A request holds a KV slot for each of its rows, and for what is being loaded for it."""
    return Claim(
        {
            "num_computed_tokens": d.num_computed_tokens,
            "num_scheduled_tokens": d.num_scheduled_tokens,
        },
        "<=",
        {"KV slots held": d.kv_capacity},
        when=d.outcome in (SCHEDULED, LOADING),
    )


def blocks_end_chunks(d: Decision) -> Claim:
    """With Mamba alignment, a chunk from a block's start that leaves prompt behind ends a block."""
    c, end = d.config, d.num_computed_tokens + d.num_scheduled_tokens
    boundary = end // c.block_size * c.block_size
    # A block wider than any chunk is crossed in pieces.
    must_align = any_of(c.block_size <= _widest_chunk(c), boundary > d.num_computed_tokens)
    # What a preemption lost is computed again up to the last token, like a prompt.
    prompt_end = max(d.num_prompt_tokens, d.num_tokens - 1)
    return Claim(
        {
            "num_computed_tokens": d.num_computed_tokens,
            "num_scheduled_tokens": d.num_scheduled_tokens,
        },
        "==",
        {"end of a block": boundary},
        when=all_of(
            c.mamba_align,
            d.outcome == SCHEDULED,
            d.is_prefill,
            d.num_computed_tokens % c.block_size == 0,
            end < prompt_end,
            must_align,
        ),
    )


def _widest_chunk(c: Config) -> int:
    """The most rows a chunk can have, tokens."""
    widest, threshold = c.max_num_scheduled_tokens, c.long_prefill_token_threshold
    return min(widest, ite(threshold > 0, threshold, widest))


def _end_of_chunk(d: Decision) -> int:
    """Tokens of the request that are computed after the step; rows beyond them are padding."""
    return min(d.num_computed_tokens + d.num_scheduled_tokens, d.num_tokens)


def blocks_not_passed(d: Decision) -> Claim:
    """With Mamba alignment, a block wider than any chunk is crossed in pieces, the last of which
    stops at its end."""
    c, start = d.config, d.num_computed_tokens
    return Claim(
        {"end of the chunk": _end_of_chunk(d)},
        "<=",
        {"end of the block": (start // c.block_size + 1) * c.block_size},
        when=all_of(c.mamba_align, start % c.block_size != 0, c.block_size > _widest_chunk(c)),
    )


def blocks_not_past_the_last(d: Decision) -> Claim:
    """With Mamba alignment, no chunk runs past the end of the last full block."""
    c = d.config
    last_boundary = d.num_tokens // c.block_size * c.block_size
    return Claim(
        {"end of the chunk": _end_of_chunk(d)},
        "<=",
        {"end of the last full block": last_boundary},
        when=all_of(c.mamba_align, d.num_computed_tokens < last_boundary),
    )


def request_conservation(r: RequestState) -> Claim:
    """A request is in exactly one of waiting, running and finished."""
    return Claim({"queues holding the request": r.num_queues}, "==", {"1": 1})


def no_reachable_assert(raised: bool) -> Claim:
    """The scheduler raises no assertion and no other exception."""
    return Claim({"exceptions": int(raised)}, "==", {"0": 0})
