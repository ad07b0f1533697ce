"""The small world a bounded search plays in: plain decoding, and a few features on demand."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from model.environment import Sample
from model.request import Request
from proofs.symbolic import Context
from proofs.verdict import ASYNC
from spec import assumptions as world
from spec.config import Config
from spec.logic import ite, max

LARGEST = 64
"""Bound on every length in a search, tokens: counterexamples are tiny, proofs have no bound."""
AMPLE = 8192
"""A budget no search can exhaust, rows (vLLM's own default for max_num_batched_tokens)."""

FEATURES = (
    "threshold",
    "diffusion",
    "mamba",
    "tight-budget",
    "unchunked",
    "slots",
    "preemption",
    "priority",
    "load",
)
"""What a search may switch on besides plain decoding with prefix hits."""

Features = frozenset[str]


class SmallWorld:
    """Symbolic answers, one fresh variable per question; connectors only where asked for.

    Args:
        context: the exploration in progress.
        config: the knobs.
        features: what is switched on.
        without: ids of assumptions not to make.
    """

    def __init__(
        self, context: Context, config: Config, features: Features, without: Collection[str]
    ) -> None:
        self.context, self.config = context, config
        self.features, self.without = features, without
        self.numbers: list[Any] = []
        """Every number answered so far."""

    def assume(self, assumption: world.Assumption, *arguments: Any) -> None:
        """Take an assumption for granted, unless the search is to do without."""
        if assumption.id not in self.without:
            self.context.assume(assumption.condition(*arguments))

    def _new(self, what: str, low: int, high: int = LARGEST) -> Any:
        number = self.context.int(f"{what} #{len(self.numbers)}", low, high)
        self.numbers.append(number)
        return number

    def prefix_hit(self, request: Request) -> int:
        hit: int = self._new(f"prefix hit of {request.request_id}", 0)
        self.assume(world.HIT_LEAVES_ONE, request.num_tokens, hit)
        return hit

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        if "load" not in self.features or not bool(
            self.context.bool(f"{request.request_id} loads #{len(self.numbers)}")
        ):
            return 0, False
        matched: int = self._new(f"connector match of {request.request_id}", 1)
        self.assume(world.LOAD_WITHIN_REQUEST, request.num_tokens, num_local_tokens, matched)
        return matched, True

    def load_finished(self, request: Request) -> bool:
        return bool(self.context.bool(f"load of {request.request_id} done #{len(self.numbers)}"))

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        generated = self._new(f"tokens for {request.request_id}", 0)
        self.assume(world.RUNNER_SAMPLES, self.config, num_draft_tokens, generated)
        accepted = generated - self.config.num_sampled_tokens_per_step
        placeholders = ite(padded, max(accepted, 0), 0)
        self.assume(world.PLACEHOLDERS_REJECTED, padded, placeholders)
        return Sample(generated, placeholders)

    def draft(self, request: Request) -> int:
        drafts: int = self._new(f"drafts for {request.request_id}", 0)
        self.assume(world.DRAFTS_AT_MOST_K, self.config, drafts)
        return drafts


def small_config(
    context: Context, on: Features, mode: str, num_requests: int, longest: int
) -> Config:
    """Symbolic knobs: plain decoding but for the features that are on.

    Args:
        context: the exploration in progress.
        on: the features.
        mode: sync or async scheduling.
        num_requests: what ``max_num_seqs`` admits.
        longest: bound on ``max_model_len``, tokens.
    """
    new: Any = context.int
    slots = "slots" in on
    tight = slots or "tight-budget" in on or "unchunked" in on
    rows = new("max_num_scheduled_tokens", 1, LARGEST) if tight else AMPLE
    blocks = new("num_gpu_blocks", 1, LARGEST) if "preemption" in on else AMPLE
    block = 1 if "preemption" in on else 4 if "mamba" in on else 16
    config = Config(
        max_model_len=new("max_model_len", 2, longest),
        num_spec_tokens=new("num_spec_tokens", 1, LARGEST),
        num_sampled_tokens_per_step=0 if "diffusion" in on else 1,
        max_num_scheduled_tokens=rows,
        max_num_batched_tokens=new("max_num_batched_tokens", 1, LARGEST) if slots else rows,
        draft_slots=new("draft_slots", 1, LARGEST) if slots else 0,
        max_num_seqs=num_requests,
        long_prefill_token_threshold=(
            new("long_prefill_token_threshold", 1, LARGEST) if "threshold" in on else 0
        ),
        block_size=block,
        num_gpu_blocks=blocks,
        enable_chunked_prefill="unchunked" not in on,
        async_scheduling=mode == ASYNC,
        priority_scheduling="priority" in on,
        mamba_align="mamba" in on,
    )
    context.assume(world.LEGAL_CONFIG.condition(config))
    return config
