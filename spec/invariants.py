"""The catalogue: every invariant a scheduler must keep, one function each.

Each function takes one record of ``spec.records`` and returns a ``Claim``.  The same function is
evaluated on integers by the fuzzer and the replay, and builds a formula for the prover.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spec.claims import Claim
from spec.logic import all_of, any_of, ite, max, not_
from spec.records import (
    BLOCKED,
    LOADING,
    SCHEDULED,
    Booking,
    Decision,
    PoolState,
    RequestState,
    StepTotals,
)
from spec.waivers import WAIVERS


@dataclass(frozen=True, slots=True)
class Invariant:
    """One promise: its id (part of the interface), what it says and why it is made."""

    id: str
    statement: str
    why: str
    sources: tuple[str, ...]
    about: type
    claim: Callable[[Any], Claim]


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


def progress_step(d: Decision) -> Claim:
    """An eligible request with budget enough, or the whole budget, is scheduled."""
    whole_chunk = ite(d.config.enable_chunked_prefill, 1, d.num_tokens - d.num_computed_tokens)
    enough = d.budget_left >= max(1 + d.config.num_spec_tokens, whole_chunk)
    enough &= not_(d.config.mamba_align)
    got_rows = d.outcome in (SCHEDULED, LOADING)
    return Claim(
        {"scheduled": int(got_rows)},
        ">=",
        {"eligible": 1},
        when=all_of(not_(d.is_loading), not_(d.must_wait), any_of(d.budget_untouched, enough)),
    )


def progress_no_block(d: Decision) -> Claim:
    """A request waiting for its KV never stops the requests behind it."""
    return Claim(
        {"blocks the queue": int(d.outcome == BLOCKED)},
        "==",
        {"0": 0},
        when=all_of(d.is_loading, not_(d.must_wait), d.budget_left > 0),
    )


def progress_finish(b: Booking) -> Claim:
    """Each sampling step of a live request brings it at least one token closer to its end."""
    return Claim({"emitted tokens": b.num_emitted_tokens}, ">=", {"1": 1}, when=b.must_emit)


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


def blocks_cover_rows(d: Decision) -> Claim:
    """A scheduled request holds a KV slot for each of its rows."""
    return Claim(
        {
            "num_computed_tokens": d.num_computed_tokens,
            "num_scheduled_tokens": d.num_scheduled_tokens,
        },
        "<=",
        {"KV slots held": d.kv_capacity},
        when=d.outcome == SCHEDULED,
    )


def request_conservation(r: RequestState) -> Claim:
    """A request is in exactly one of waiting, running and finished."""
    return Claim({"queues holding the request": r.num_queues}, "==", {"1": 1})


def no_reachable_assert(raised: bool) -> Claim:
    """The scheduler raises no assertion and no other exception."""
    return Claim({"exceptions": int(raised)}, "==", {"0": 0})


def _entry(
    id: str, statement: str, why: str, sources: str, *claims: Callable[[Any], Claim]
) -> tuple[Invariant, ...]:
    """Catalogue rows of one id: one per clause, each about the record type it is annotated with."""
    records = {
        record.__name__: record
        for record in (Decision, StepTotals, Booking, RequestState, PoolState, bool)
    }
    return tuple(
        Invariant(
            id,
            statement,
            why,
            tuple(sources.split(", ")),
            records[next(iter(claim.__annotations__.values()))],
            claim,
        )
        for claim in claims
    )


CATALOGUE: tuple[Invariant, ...] = (
    *_entry(
        "positive-schedule",
        "Every scheduled request gets at least one row: n > 0.",
        "A negative n reaches np.repeat in the model runner and kills the engine.",
        "#53962",
        positive_schedule,
    ),
    *_entry(
        "within-model-len",
        "C + n + s <= L for every step that samples.",
        "Rows past max_model_len have no position, no KV slot and no room for the sampled token; "
        "the next step's row count goes negative.",
        "#53962, #53812",
        within_model_len,
    ),
    *_entry(
        "uniform-decode",
        "In a step without prefill on any data-parallel rank, every scheduled request on every "
        "rank gets n = 1 + K rows, outside the named waivers.",
        "One odd row makes every rank of the group leave its captured CUDA graph: P99 inter-token "
        "latency rose by up to 83 %. Autoregressive models (s = 1).",
        "#45237, #55126",
        uniform_decode,
    ),
    *_entry(
        "rows-match-drafts",
        "A decode or padded step attaches exactly n - s drafts.",
        "The rejection sampler takes drafts and rows as aligned; one off reads the neighbour's "
        "logits and emits wrong tokens.",
        "#54028, #54392",
        rows_match_drafts,
    ),
    *_entry(
        "within-budget",
        "sum n <= B and sum (n + D) <= I.",
        "The runner's buffers are allocated for these budgets.",
        "vllm/config/scheduler.py",
        within_budget_rows,
        within_budget_inputs,
    ),
    *_entry(
        "progress",
        "An eligible request is scheduled, none is blocked for ever by the one before it, and "
        "each sampling step brings it closer to its end.",
        "Refusing to schedule a request unpadded starved it and everything queued behind it.",
        "#53962, #50342",
        progress_step,
        progress_no_block,
        progress_finish,
    ),
    *_entry(
        "length-capped-finish",
        "A request at the boundary ends FINISHED_LENGTH_CAPPED, holding at most L tokens.",
        "The client must get its answer and the reason it ended.",
        "#53962",
        length_capped_fits,
        length_capped_ends,
    ),
    *_entry(
        "placeholder-accounting",
        "H is never negative, C = N - s + H for decodes, and no placeholder draft is ever emitted.",
        "Async scheduling plans on these counters before the output is back.",
        "vllm/v1/core/sched/async_scheduler.py, #53812, #54102",
        placeholders_balance,
        placeholders_not_negative,
        placeholders_not_emitted,
    ),
    *_entry(
        "no-padding-with-prefill",
        "Padding never joins a running prefill.",
        "The step is not uniform anyway: padding would only cost rows.",
        "#45237",
        no_padding_with_prefill,
    ),
    *_entry(
        "no-padding-diffusion",
        "Padding is never applied when s = 0.",
        "A diffusion canvas has exactly K rows; one more overflows it.",
        "#47464",
        no_padding_diffusion,
    ),
    *_entry(
        "async-load-idle",
        "A request whose KV is still loading gets no rows and is not padded.",
        "Its KV blocks are being written by the connector.",
        "#55126",
        async_load_idle,
    ),
    *_entry(
        "block-accounting",
        "KV blocks are conserved, never overdrawn, and enough for every row.",
        "A row without a slot overwrites another request's KV.",
        "#54878, vllm/v1/core/kv_cache_manager.py",
        blocks_conserved,
        blocks_not_overdrawn,
        blocks_cover_rows,
    ),
    *_entry(
        "request-conservation",
        "Each request is in exactly one of waiting, running and finished.",
        "A lost request never answers; a doubled one computes the same tokens twice.",
        "vllm/v1/core/sched/scheduler.py",
        request_conservation,
    ),
    *_entry(
        "no-reachable-assert",
        "No assertion or other exception of the scheduler is reachable.",
        "The scheduler runs in the engine core's loop: an exception there ends the engine.",
        "#54028",
        no_reachable_assert,
    ),
)

IDS: tuple[str, ...] = tuple(dict.fromkeys(invariant.id for invariant in CATALOGUE))


def about(record_type: type) -> tuple[Invariant, ...]:
    """The invariants that speak about one type of record."""
    return tuple(invariant for invariant in CATALOGUE if invariant.about is record_type)
