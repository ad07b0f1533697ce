"""Legal inputs, drawn where schedulers break: at block, budget and length boundaries.

The first option of every choice is the plainest, so that shrinking ends at an execution a person
can follow: sync, one rank, ample budgets, no cache, every draft rejected.
"""

from __future__ import annotations

from model.environment import Sample
from model.request import Request
from proofs.fuzz.draws import Draw, pick, seldom
from spec.config import Config
from spec.logic import ceil_div

AMPLE = 64
"""A row budget beyond the needs of any request drawn here, tokens."""


def draw_config(draw: Draw, async_scheduling: bool | None = None) -> Config:
    """A legal configuration; ``async_scheduling`` fixes the mode.

    Always the same number of choices, so that one knob can be made simpler without the others
    changing their meaning.
    """
    length = draw.integer(3, 24)
    drafts = pick(draw, (1, 2, 3, 4, 5, 0))
    sampled = pick(draw, (1, 1, 1, 1, 0))
    seqs = draw.integer(1, 4)
    slots = pick(draw, (0, 0, 1, 2))
    rows = _row_budget(draw, seqs * (1 + drafts), length)
    inputs = rows + seqs * slots
    missing = draw.integer(0, seqs * slots)
    if seldom(draw, 4):
        inputs = max(rows, slots + 1, inputs - missing)
    block = pick(draw, (16, 1, 2, 4))
    mode = draw.integer(0, 1) == 1
    return Config.checked(
        max_model_len=length,
        num_spec_tokens=drafts,
        num_sampled_tokens_per_step=sampled if drafts > 0 else 1,
        max_num_scheduled_tokens=rows,
        max_num_batched_tokens=inputs,
        draft_slots=slots,
        max_num_seqs=seqs,
        long_prefill_token_threshold=_threshold(draw, 1 + drafts, length),
        block_size=block,
        num_gpu_blocks=_blocks(draw, ceil_div(length, block), seqs),
        enable_chunked_prefill=not seldom(draw, 4),
        async_scheduling=mode if async_scheduling is None else async_scheduling,
        priority_scheduling=seldom(draw, 4),
        mamba_align=seldom(draw, 5),
        exempt_only_request=seldom(draw, 4),
    )


def _row_budget(draw: Draw, batch: int, length: int) -> int:
    """B: ample, exactly a full batch of padded decodes, a little more, or too little for one."""
    kind, small, extra = draw.integer(0, 7), draw.integer(1, batch), draw.integer(0, length)
    if kind <= 2:
        return max(AMPLE, batch)
    if kind == 3:
        return batch
    return small if kind == 4 else batch + extra


def _threshold(draw: Draw, rows: int, length: int) -> int:
    """θ: off, below or at one decode step, or anything."""
    kind, small, any_size = draw.integer(0, 5), draw.integer(1, rows), draw.integer(1, length)
    return (0, 0, 0, rows, small, any_size)[kind]


def _blocks(draw: Draw, per_request: int, seqs: int) -> int:
    """G: enough for every sequence slot, for one request and a little, or perhaps for none."""
    most = per_request * seqs
    kind, tight, small = draw.integer(0, 3), draw.integer(per_request, most), draw.integer(1, most)
    return (most, most, tight, small)[kind]


def draw_prompt(draw: Draw, config: Config) -> int:
    """P: concentrated where rows end at L, at a budget, at the threshold, or at a block."""
    padded = 1 + config.num_spec_tokens
    corners = (
        config.max_model_len - 1,
        config.max_model_len - padded,
        config.max_model_len - padded - config.num_sampled_tokens_per_step,
        config.max_num_scheduled_tokens,
        config.long_prefill_token_threshold,
        config.block_size,
    )
    kind = draw.integer(0, len(corners) + 2)
    if kind <= 2:
        return draw.integer(1, config.max_model_len - 1)
    return _within(corners[kind - 3] + draw.integer(-1, 1), 1, config.max_model_len - 1)


def _within(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


class DrawnWorld:
    """Cache, connector, drafter and runner of one rank, within the named assumptions."""

    def __init__(self, draw: Draw, config: Config) -> None:
        self.draw_from = draw
        self.config = config

    def prefix_hit(self, request: Request) -> int:
        draw, most = self.draw_from, request.num_tokens - 1
        kind = draw.integer(0, 5)
        if kind <= 1:
            return 0
        if kind <= 3:
            return most
        if kind == 4:
            config = self.config
            end = 1 + config.num_spec_tokens + config.num_sampled_tokens_per_step
            return _within(config.max_model_len - end + draw.integer(-1, 1), 0, most)
        return draw.integer(0, most)

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        draw, missing = self.draw_from, request.num_tokens - num_local_tokens
        kind = draw.integer(0, 7)
        if kind <= 4:
            return 0, False
        if kind == 5:
            return missing - 1, False
        return (missing if kind == 6 else draw.integer(1, missing)), True

    def load_finished(self, request: Request) -> bool:
        return self.draw_from.integer(0, 1) == 0

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        draw, s = self.draw_from, self.config.num_sampled_tokens_per_step
        accepted = 0 if padded else draw.integer(0, num_draft_tokens)
        generated = s + accepted
        stops = generated > 0 and seldom(draw, 16)
        return Sample(generated, 0, draw.integer(1, generated) if stops else 0)

    def draft(self, request: Request) -> int:
        most = self.config.num_spec_tokens
        if self.config.num_sampled_tokens_per_step == 0 or not seldom(self.draw_from, 4):
            return most
        return most - self.draw_from.integer(0, most)
