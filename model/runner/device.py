"""What a device offers the host: a tiny paged-attention language model, computed exactly.

The model has one attention layer over paged KV.  All weights are small integers and attention is
linear (``max(q . k, 0)`` instead of a softmax), so every intermediate value is an integer below
2**53: float64 arithmetic is exact in any order of summation, and two devices agree token for
token or one of them is wrong.  The next token depends on the last one through a bigram table and
on the whole context through a remainder, so that a wrong slot, position or row shows at once,
while a bigram drafter is still right about half of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from model.runner.batch import Ints
from model.runner.cudagraph import Dispatch

Floats = NDArray[np.float64]

VOCAB = 64
WIDTH = 16
CONTEXT_RANGE = 29
"""The context moves each logit by less than this; the gaps of the bigram table are as wide."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The model, as float64 arrays of small integers.

    Attributes:
        embedding: shape [VOCAB, WIDTH].
        position: shape [max_model_len, WIDTH].
        query, key, value: shape [WIDTH, WIDTH].
        head: shape [WIDTH, VOCAB].
        bigram: shape [VOCAB, VOCAB], non-negative.
    """

    embedding: Floats
    position: Floats
    query: Floats
    key: Floats
    value: Floats
    head: Floats
    bigram: Floats

    @classmethod
    def random(cls, max_model_len: int, seed: int = 0) -> Weights:
        """The model of a seed, for requests of up to ``max_model_len`` tokens."""
        draw = np.random.default_rng(seed)

        def integers(bound: int, *shape: int) -> Floats:
            return draw.integers(-bound, bound + 1, shape).astype(np.float64)

        return cls(
            embedding=integers(2, VOCAB, WIDTH),
            position=integers(2, max_model_len, WIDTH),
            query=integers(1, WIDTH, WIDTH),
            key=integers(1, WIDTH, WIDTH),
            value=integers(1, WIDTH, WIDTH),
            head=integers(2, WIDTH, VOCAB),
            bigram=draw.integers(0, 1024, (VOCAB, VOCAB)).astype(np.float64),
        )

    def draft(self, token: int, count: int) -> list[int]:
        """The bigram drafter: ``count`` tokens after ``token``."""
        drafts: list[int] = []
        for _ in range(count):
            token = int(self.bigram[token].argmax())
            drafts.append(token)
        return drafts


@dataclass(frozen=True, slots=True)
class DeviceStep:
    """One forward pass over ``T`` rows.

    Attributes:
        input_ids: tokens, shape [T]; -1 is a placeholder draft, computed as token 0.
        positions: position of each row in its request, shape [T].
        slot_mapping: KV slot each row writes, shape [T].
        block_rows: KV blocks of each row's request, shape [T, blocks per request].
    """

    input_ids: Ints
    positions: Ints
    slot_mapping: Ints
    block_rows: Ints


class Device(Protocol):
    """Runs the model; holds the paged KV."""

    def load_kv(self, token_ids: Ints, positions: Ints, slots: Ints) -> None:
        """Write the KV of known tokens, as a prefix cache or a connector would; shape [n] each."""

    def forward(self, step: DeviceStep, dispatch: Dispatch) -> Ints:
        """Write each row's KV, attend, and return the greedy token after each row, shape [T]."""
