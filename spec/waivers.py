"""The named exceptions to ``uniform-decode``.

A waiver is a condition a reader can check on the configuration and one request, not a hole: a
step outside every waiver must be uniform, and a verdict lists the waivers its proof needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spec.logic import all_of, any_of, not_
from spec.records import Decision


@dataclass(frozen=True, slots=True)
class Waiver:
    """One exception: its condition, why it is one, and where it comes from."""

    id: str
    statement: str
    why: str
    source: str
    applies: Callable[[Decision], bool]


def _length_boundary(d: Decision) -> bool:
    needed = d.num_computed_tokens + 1 + d.config.num_spec_tokens
    return needed + d.config.num_sampled_tokens_per_step > d.config.max_model_len


def _fewer_drafts(d: Decision) -> bool:
    return not_(d.from_waiting) & (d.num_spec_tokens < d.config.num_spec_tokens)


def _small_budget(d: Decision) -> bool:
    rows = 1 + d.config.num_spec_tokens
    seqs = d.config.max_num_seqs
    return any_of(
        d.config.max_num_scheduled_tokens < seqs * rows,
        d.config.max_num_batched_tokens < seqs * (rows + d.config.draft_slots),
    )


def _small_threshold(d: Decision) -> bool:
    threshold = d.config.long_prefill_token_threshold
    return all_of(threshold > 0, threshold < 1 + d.config.num_spec_tokens)


def _mamba_clip(d: Decision) -> bool:
    block, start = d.config.block_size, d.num_computed_tokens
    next_boundary = (start // block + 1) * block
    inside = next_boundary <= start + d.config.num_spec_tokens
    return all_of(d.config.mamba_align, d.from_waiting, start % block != 0, inside)


def _withdrawn_prefill(d: Decision) -> bool:
    return d.config.priority_scheduling & d.prefill_withdrawn


WAIVERS: tuple[Waiver, ...] = (
    Waiver(
        "length-boundary",
        "C + 1 + K + s > L: a full row block and the sampled token do not fit max_model_len",
        "The alternative is to starve the request: near its length limit it gets one plain row.",
        "#53962",
        _length_boundary,
    ),
    Waiver(
        "fewer-drafts",
        "S < K: the drafter proposed fewer drafts than K for a running request",
        "An n-gram drafter finds no match, or a grammar rejects drafts; there is nothing to verify "
        "(async scheduling always has K placeholders).",
        "vllm/v1/core/sched/scheduler.py, update_draft_token_ids",
        _fewer_drafts,
    ),
    Waiver(
        "small-budget",
        "B < M * (1 + K) or I < M * (1 + K + D): the configured batch does not fit one step",
        "Some decode of a full batch is cut or left out, whatever the scheduler does.",
        "vllm/config/scheduler.py, max_num_batched_tokens",
        _small_budget,
    ),
    Waiver(
        "small-threshold",
        "0 < θ < 1 + K: the long-prefill threshold is below one decode step",
        "The threshold cuts running decodes too, in every release.",
        "#54028",
        _small_threshold,
    ),
    Waiver(
        "mamba-clip",
        "Mamba alignment is on, C lies inside a block and the block ends inside the padded rows",
        "A chunk must end on a state checkpoint; the newest releases then drop the padding.",
        "#54392",
        _mamba_clip,
    ),
    Waiver(
        "withdrawn-prefill",
        "priority scheduling: a prefill got rows earlier in this step and was then preempted",
        "Found by the prover, in every release up to 0.33: the prefill's rows leave the step, but "
        "the rows of the decode behind it stay cut by the budget the prefill had taken. The step "
        "is correct, only slower, and needs a full KV pool; the cut is made good one step later.",
        "vllm/v1/core/sched/scheduler.py, running loop, PRIORITY preemption",
        _withdrawn_prefill,
    ),
)
