"""The catalogue: every invariant a scheduler must keep, with its reason and where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spec.claims import Claim
from spec.promises import (
    async_load_idle,
    blocks_conserved,
    blocks_cover_rows,
    blocks_end_chunks,
    blocks_given_back,
    blocks_not_overdrawn,
    blocks_not_passed,
    blocks_not_past_the_last,
    drafts_need_rows,
    length_capped_ends,
    length_capped_fits,
    length_capped_only_there,
    length_capped_or_stopped,
    no_padding_diffusion,
    no_padding_with_prefill,
    no_reachable_assert,
    placeholders_balance,
    placeholders_end,
    placeholders_not_emitted,
    placeholders_not_invented,
    placeholders_not_negative,
    positive_schedule,
    progress_attention,
    progress_counts,
    progress_finish,
    progress_keeps,
    progress_no_block,
    progress_no_overtaking,
    progress_rows,
    progress_step,
    progress_stops,
    request_conservation,
    rows_match_drafts,
    uniform_decode,
    within_budget_chunk,
    within_budget_inputs,
    within_budget_rows,
    within_budget_whole,
    within_model_len,
)
from spec.records import Advance, Attention, Booking, Decision, PoolState, RequestState, StepTotals

RECORDS = (Decision, Attention, Advance, StepTotals, Booking, RequestState, PoolState, bool)
"""What a promise can be about."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """One promise: its id (part of the interface), what it says and why it is made."""

    id: str
    statement: str
    why: str
    sources: tuple[str, ...]
    about: type
    claim: Callable[[Any], Claim]


def _entry(
    own_id: str, statement: str, why: str, sources: str, *claims: Callable[[Any], Claim]
) -> tuple[Invariant, ...]:
    """Catalogue rows of one id: one per clause, each about the record type it is annotated with."""
    records = {record.__name__: record for record in RECORDS}
    return tuple(
        Invariant(
            own_id,
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
        "A decode or padded step attaches exactly n - s drafts, a step without rows none.",
        "The rejection sampler takes drafts and rows as aligned; one off reads the neighbour's "
        "logits and emits wrong tokens.",
        "#54028, #54392",
        rows_match_drafts,
        drafts_need_rows,
    ),
    *_entry(
        "within-budget",
        "sum n <= B and sum (n + D) <= I; a prompt is split only where the configuration says so.",
        "The runner's buffers are allocated for these budgets; a long prompt must not starve "
        "the decodes beside it, and one that cannot be split must not be.",
        "vllm/config/scheduler.py",
        within_budget_rows,
        within_budget_inputs,
        within_budget_chunk,
        within_budget_whole,
    ),
    *_entry(
        "progress",
        "An eligible request is scheduled, none is blocked for ever by the one before it or passed "
        "by those behind, and each step brings it closer to its end.",
        "Refusing to schedule a request unpadded starved it and everything queued behind it.",
        "#53962, #50342",
        progress_step,
        progress_rows,
        progress_attention,
        progress_no_block,
        progress_no_overtaking,
        progress_counts,
        progress_finish,
        progress_keeps,
        progress_stops,
    ),
    *_entry(
        "length-capped-finish",
        "A request at the boundary, and only there, ends FINISHED_LENGTH_CAPPED, holding at most L "
        "tokens.",
        "The client must get its answer and the reason it ended.",
        "#53962",
        length_capped_fits,
        length_capped_ends,
        length_capped_only_there,
        length_capped_or_stopped,
    ),
    *_entry(
        "placeholder-accounting",
        "H is never negative, C = N - s + H for decodes, no row is added to those that sample the "
        "last token, and no placeholder draft is ever emitted.",
        "Async scheduling plans on these counters before the output is back.",
        "vllm/v1/core/sched/async_scheduler.py, #53812, #54102",
        placeholders_balance,
        placeholders_not_negative,
        placeholders_not_emitted,
        placeholders_not_invented,
        placeholders_end,
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
        "KV blocks are conserved, never overdrawn, enough for every row and given back by who ends "
        "or is preempted; with Mamba alignment a chunk of a prompt ends where a block does.",
        "A row without a slot overwrites another request's KV, a block not given back is lost to "
        "all others, and so is a Mamba state not kept at the end of a block.",
        "#54878, #54392, vllm/v1/core/kv_cache_manager.py",
        blocks_conserved,
        blocks_not_overdrawn,
        blocks_cover_rows,
        blocks_end_chunks,
        blocks_not_passed,
        blocks_not_past_the_last,
        blocks_given_back,
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


_ABOUT: dict[type, tuple[Invariant, ...]] = {
    record: tuple(entry for entry in CATALOGUE if entry.about == record) for record in RECORDS
}


def about(record_type: type) -> tuple[Invariant, ...]:
    """The invariants that speak about one type of record."""
    return _ABOUT.get(record_type, ())
