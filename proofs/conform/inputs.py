"""Random executions for the comparison: configurations, arrivals and aborts.

The answers of cache, connector, drafter and runner are those of the fuzzer
(``proofs.fuzz.inputs``); the configurations are drawn from what the release can be set to.
"""

from __future__ import annotations

from proofs.conform.releases import Release
from proofs.fuzz.draws import Draw, pick, seldom
from spec.config import Config
from spec.logic import ceil_div

DRAFTS = (1, 3, 7)
MODES = ("sync", "async")
AMPLE = 64
"""A row budget beyond the needs of any request drawn here, tokens."""
MOST_STEPS = 80
MOST_REQUESTS = 10


def draw_config(draw: Draw, release: Release) -> Config:
    """A legal configuration; always the same number of choices."""
    drafts = pick(draw, DRAFTS)
    sampled = pick(draw, (1, 1, 1, 1, 1, 0))
    asynchronous = draw.integer(0, 1) == 1
    length = draw.integer(3, 40)
    seqs = draw.integer(1, 4)
    slots = pick(draw, (0, 0, 0, 1, 2)) if release.has_draft_slots else draw.integer(0, 0)
    batch = seqs * (1 + drafts)
    kind, small, extra = draw.integer(0, 5), draw.integer(1, batch), draw.integer(0, length)
    rows = (AMPLE, AMPLE, batch, batch + extra, small, batch + extra)[kind]
    missing = draw.integer(0, seqs * slots) if seldom(draw, 4) else 0
    block = pick(draw, (16, 1, 2, 4))
    per_request = ceil_div(length, block)
    most = per_request * seqs
    plenty, tight, few = draw.integer(0, 3), draw.integer(per_request, most), draw.integer(1, most)
    blocks = (most, most, tight, few)[plenty]
    if asynchronous and not release.has_stale_output:
        blocks = MOST_REQUESTS * per_request  # nobody is ever preempted
    theta, short, any_size = draw.integer(0, 5), draw.integer(1, drafts), draw.integer(1, length)
    return Config.checked(
        max_model_len=length,
        num_spec_tokens=drafts,
        num_sampled_tokens_per_step=sampled,
        max_num_scheduled_tokens=rows,
        max_num_batched_tokens=max(rows, slots + 1, rows + seqs * slots - missing),
        draft_slots=slots,
        max_num_seqs=seqs,
        long_prefill_token_threshold=(0, 0, 0, 1 + drafts, short, any_size)[theta],
        block_size=block,
        num_gpu_blocks=blocks,
        enable_chunked_prefill=not seldom(draw, 4),
        async_scheduling=asynchronous,
        priority_scheduling=seldom(draw, 3),
        mamba_align=seldom(draw, 5) and release.has_mamba_split,
        exempt_only_request=release.exempts_only_request,
    )


def draw_prompt(draw: Draw, config: Config) -> int:
    """P: anything, or where rows end at L, at the threshold, or at a block."""
    padded = 1 + config.num_spec_tokens
    most = config.max_model_len - 1
    corners = (
        most,
        most + 1 - padded,
        most - padded,
        config.long_prefill_token_threshold,
        config.block_size,
    )
    kind = draw.integer(0, len(corners) + 2)
    prompt, offset = draw.integer(1, most), draw.integer(-1, 1)
    return prompt if kind <= 2 else max(1, min(corners[kind - 3] + offset, most))
