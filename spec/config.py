"""The knobs of a scheduler that its decisions depend on, with units and legal ranges.

Field names are vLLM's.  Every theorem holds for every legal configuration; the ranges below are
what *legal* means, and each says who enforces it in the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from spec.logic import all_of, any_of


class ConfigError(ValueError):
    """An illegal configuration; the message names the knob, its value and its legal range."""


@dataclass(frozen=True, slots=True)
class Knob:
    """One configuration field: the symbol used in formulas, its unit and its legal range."""

    name: str
    symbol: str
    unit: str
    low: int
    high: int | None
    meaning: str


KNOBS: tuple[Knob, ...] = (
    Knob("max_model_len", "L", "tokens", 2, None, "most tokens a request may hold"),
    Knob("num_spec_tokens", "K", "tokens", 0, None, "draft tokens per decode step"),
    Knob("num_sampled_tokens_per_step", "s", "tokens", 0, 1, "1 autoregressive, 0 diffusion"),
    Knob("max_num_scheduled_tokens", "B", "tokens", 1, None, "row budget of one step"),
    Knob("max_num_batched_tokens", "I", "tokens", 1, None, "input budget of one step"),
    Knob("draft_slots", "D", "tokens", 0, None, "extra input slots a drafter takes per request"),
    Knob("max_num_seqs", "M", "requests", 1, None, "most requests running at once"),
    Knob("long_prefill_token_threshold", "θ", "tokens", 0, None, "cap on one chunk; 0 = off"),
    Knob("block_size", "b", "tokens", 1, None, "tokens in one KV block"),
    Knob("num_gpu_blocks", "G", "blocks", 1, None, "KV blocks in the pool"),
)
FLAGS: dict[str, str] = {
    "enable_chunked_prefill": "a prompt may be computed in several chunks",
    "async_scheduling": "a step is scheduled before the output of the one before it is back",
    "priority_scheduling": "requests are ordered by priority; otherwise first come, first served",
    "mamba_align": "prefill chunks end on KV block boundaries (mamba_cache_mode='align')",
    "exempt_only_request": "the long-prefill threshold spares a request that is alone (0.31)",
}


@dataclass(frozen=True, slots=True)
class Config:
    """One scheduler configuration.  ``Config.checked(...)`` refuses an illegal one."""

    max_model_len: int = 32
    num_spec_tokens: int = 3
    num_sampled_tokens_per_step: int = 1
    max_num_scheduled_tokens: int = 64
    max_num_batched_tokens: int = 64
    draft_slots: int = 0
    max_num_seqs: int = 4
    long_prefill_token_threshold: int = 0
    block_size: int = 16
    num_gpu_blocks: int = 64
    enable_chunked_prefill: bool = True
    async_scheduling: bool = True
    priority_scheduling: bool = False
    mamba_align: bool = False
    exempt_only_request: bool = False

    @classmethod
    def checked(cls, **knobs: Any) -> Config:
        """Build a configuration from named knobs.

        Raises:
            ConfigError: an unknown knob, a value outside its range, or two that contradict.
        """
        known = {field.name for field in fields(cls)}
        for name in knobs:
            if name not in known:
                raise ConfigError(f"unknown knob {name!r}; legal: {', '.join(sorted(known))}")
        for knob in KNOBS:
            value = knobs.get(knob.name, knob.low)
            if not isinstance(value, int) or isinstance(value, bool):
                raise ConfigError(f"{knob.name} = {value!r} is not a whole number of {knob.unit}")
            if value < knob.low or (knob.high is not None and value > knob.high):
                legal = f"{knob.low} to {knob.high}" if knob.high is not None else f">= {knob.low}"
                raise ConfigError(f"{knob.name} = {value} is illegal; legal: {legal} {knob.unit}")
        for flag in FLAGS:
            if not isinstance(knobs.get(flag, False), bool):
                raise ConfigError(f"{flag} = {knobs[flag]!r} is illegal; legal: true or false")
        config = cls(**knobs)
        for name, (holds, sentence) in coupled_ranges(config).items():
            if not holds:
                raise ConfigError(f"{name}: {sentence}")
        return config


def in_range(config: Config) -> bool:
    """Every knob lies in its own range (a formula when the configuration is symbolic)."""
    conditions = []
    for knob in KNOBS:
        value = getattr(config, knob.name)
        conditions.append(value >= knob.low)
        if knob.high is not None:
            conditions.append(value <= knob.high)
    return all_of(*conditions)


def coupled_ranges(config: Config) -> dict[str, tuple[bool, str]]:
    """The legality conditions that couple several knobs: name → (holds, sentence)."""
    return {
        "rows within inputs": (
            config.max_num_scheduled_tokens <= config.max_num_batched_tokens,
            "max_num_scheduled_tokens must not exceed max_num_batched_tokens",
        ),
        "inputs within a drafter's reach": (
            config.draft_slots < config.max_num_batched_tokens,
            "draft_slots must leave room for one token in max_num_batched_tokens",
        ),
        "diffusion canvas": (
            any_of(config.num_sampled_tokens_per_step > 0, config.num_spec_tokens > 0),
            "a diffusion model (num_sampled_tokens_per_step = 0) needs a canvas: "
            "num_spec_tokens >= 1",
        ),
    }
