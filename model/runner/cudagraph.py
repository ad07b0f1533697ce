"""CUDA graph dispatch: which captured graph a step replays, and what a whole DP group agrees on.

A graph is captured per padded size.  FULL graphs hold a uniform decode step, attention included;
PIECEWISE graphs leave attention out and so take any mixture of rows; NONE runs kernel by kernel.
Sources: ``vllm/v1/cudagraph_dispatcher.py``, ``vllm/v1/worker/dp_utils.py``,
``_determine_batch_execution_and_padding`` of ``vllm/v1/worker/gpu_model_runner.py``; capture sizes:
``_set_cudagraph_sizes`` of ``vllm/config/vllm.py``, ``adjust_cudagraph_sizes_for_spec_decode`` of
``vllm/config/compilation.py``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from spec.config import Config

LARGEST_CAPTURE = 512
"""The engine captures no larger step unless asked to, tokens."""


class Mode(IntEnum):
    """How a step runs; a larger mode leaves less work to the CPU."""

    NONE = 0
    PIECEWISE = 1
    FULL = 2


@dataclass(frozen=True, slots=True)
class Shape:
    """What one rank wants to run: rows in all, and whether every request has 1 + K of them."""

    num_tokens: int
    uniform: bool


@dataclass(frozen=True, slots=True)
class Dispatch:
    """What one rank runs: the mode, and the rows after padding."""

    mode: Mode
    num_tokens: int


def default_sizes(largest: int) -> list[int]:
    """The engine's default capture sizes up to ``largest``, tokens: 1, 2, 4, 8, 16, 24, ..."""
    sizes = [1, 2, 4, *range(8, 256, 8), *range(256, largest + 1, 16)]
    return [size for size in sizes if size <= largest]


def rounded_sizes(sizes: Iterable[int], multiple: int, largest: int) -> list[int]:
    """Capture sizes rounded up to multiples of 1 + K, without repeats; none above ``largest``.

    Where rounding leaves none, one decode is captured if it fits.
    """
    rounded = {-(-size // multiple) * multiple for size in sizes}
    kept = sorted(size for size in rounded if size <= largest)
    return kept or [multiple] * (multiple <= largest and bool(rounded))


class Dispatcher:
    """The captured graphs of one configuration.

    Args:
        config: the knobs.
        sizes: sizes to capture before rounding, tokens; None for the engine's default.
    """

    def __init__(self, config: Config, sizes: Sequence[int] | None = None) -> None:
        self.query_len = config.num_spec_tokens + config.num_sampled_tokens_per_step
        """Rows of one decode: 1 + K, or K for diffusion."""
        decodes = config.max_num_seqs * self.query_len
        largest = min(2 * decodes, LARGEST_CAPTURE)
        if sizes is None:
            sizes = default_sizes(largest)
        else:
            largest = max(sizes, default=0)
        self.sizes = rounded_sizes(sizes, self.query_len, largest)
        self.full_sizes = [size for size in self.sizes if size <= decodes]
        self._largest_full = self.full_sizes[-1] if self.full_sizes else 0
        self._captured = {
            mode: {size: Dispatch(mode, size) for size in sizes}
            for mode, sizes in ((Mode.FULL, self.full_sizes), (Mode.PIECEWISE, self.sizes))
        }

    @property
    def dummy(self) -> Shape:
        """What an idle rank runs to keep the group in step: one decode."""
        return Shape(self.query_len, uniform=True)

    def shape(self, rows: Sequence[int]) -> Shape:
        """The shape of a step with these rows per request; the dummy if there are none."""
        if not rows:
            return self.dummy
        total = sum(rows)
        uniform = max(rows) == self.query_len and total == self.query_len * len(rows)
        return Shape(total, uniform)

    def dispatch(self, shape: Shape, highest: Mode = Mode.FULL) -> Dispatch:
        """The highest mode up to ``highest`` that has a graph, at the next captured size."""
        place = bisect_left(self.sizes, shape.num_tokens)
        if place == len(self.sizes) or highest is Mode.NONE:
            return Dispatch(Mode.NONE, shape.num_tokens)
        padded = self.sizes[place]
        full = shape.uniform and highest is Mode.FULL and padded <= self._largest_full
        return self._captured[Mode.FULL if full else Mode.PIECEWISE][padded]

    def agree(self, shapes: Sequence[Shape]) -> list[Dispatch]:
        """What each rank of a group runs: all take the lowest mode and the largest padded size.

        Without graphs the ranks keep their own sizes, each as padded for the graph it had wished
        for: a rank falls back after it has padded.
        """
        wishes = [self.dispatch(shape) for shape in shapes]
        mode = min(wish.mode for wish in wishes)
        if mode is Mode.NONE:
            return [Dispatch(Mode.NONE, wish.num_tokens) for wish in wishes]
        padded = max(wish.num_tokens for wish in wishes)
        return [self._captured[mode][padded]] * len(shapes)
