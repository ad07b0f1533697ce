"""What makes a request a prefill, and what honestly excuses a step for not serving one.

Told from a request's counters alone, for the model, a scheduler's source and a recording alike.
"""

from __future__ import annotations

from typing import Protocol

from spec.config import Config
from spec.logic import all_of, any_of


class Counters(Protocol):
    """A request's counters, tokens; vLLM's names."""

    @property
    def num_prompt_tokens(self) -> int: ...
    @property
    def max_tokens(self) -> int: ...
    @property
    def num_tokens(self) -> int: ...
    @property
    def num_computed_tokens(self) -> int: ...
    @property
    def num_output_placeholders(self) -> int: ...


def admits_prefill(config: Config, num_tokens: int, num_computed_tokens: int) -> bool:
    """Whether a waiting request computes prompt, or recomputes what a preemption lost.

    One token left of a request that has KV is a decode, but for a diffusion model, which decodes
    canvases only.
    """
    diffusion = config.num_sampled_tokens_per_step == 0
    return any_of(num_tokens - num_computed_tokens > 1, num_computed_tokens == 0, diffusion)


def waits_for_output(config: Config, request: Counters) -> bool:
    """Whether a running request cannot go on before output in flight is back: it may be the last,
    or no position is left, or a canvas is not refined yet."""
    s = config.num_sampled_tokens_per_step
    no_position_left = request.num_computed_tokens >= config.max_model_len - s
    in_flight = request.num_output_placeholders > 0
    return any_of(ends_in_flight(request), all_of(in_flight, any_of(s == 0, no_position_left)))


def ends_in_flight(request: Counters) -> bool:
    """Whether the rows in flight surely end a running request: they sample at least one token."""
    limit = request.num_prompt_tokens + request.max_tokens
    return all_of(request.num_output_placeholders > 0, request.num_tokens + 1 >= limit)
