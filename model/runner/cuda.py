"""Captured decode steps: one CUDA graph per captured size and mode, replayed or fallen back from.

As in ``vllm/compilation/cuda_graph.py``, the dispatch names the graph; a step whose dispatch names
none that was captured runs kernel by kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from model.runner.batch import Ints
from model.runner.cudagraph import Dispatch, Dispatcher, Mode
from model.runner.device import DeviceStep, Weights
from model.runner.torch_model import DeviceUnavailable, TorchDevice, load_torch
from spec.config import Config

Replay = Callable[[], Any]


class GraphedDevice(TorchDevice):
    """Keeps the graphs and picks the one to replay; what a capture is, a subclass says.

    Attributes:
        steps_run: steps per mode that really ran, which tells a fallback from a replay.
    """

    def __init__(
        self, config: Config, weights: Weights, where: str, dispatcher: Dispatcher
    ) -> None:
        largest = max(config.max_num_batched_tokens, *dispatcher.sizes, 1)
        super().__init__(config, weights, where, largest)
        self.steps_run: Counter[Mode] = Counter()
        self._full: dict[int, Replay] = {}
        self._pieces: dict[int, tuple[Replay, Replay]] = {}
        # Largest first: smaller graphs then fit into the memory of larger ones.
        for size in reversed(dispatcher.sizes):
            self._pieces[size] = self.capture(self.embed, size), self.capture(self.pick, size)
        for size in reversed(dispatcher.full_sizes):
            self._full[size] = self.capture(self.run, size)

    def capture(self, piece: Callable[[int], None], size: int) -> Replay:
        """Record ``piece(size)`` once; the result repeats it on whatever the buffers then hold."""
        return lambda: piece(size)

    def forward(self, step: DeviceStep, dispatch: Dispatch) -> Ints:
        """Replay the graph that ``dispatch`` names, or fall back if there is none."""
        rows, padded = len(step.input_ids), dispatch.num_tokens
        self.stage(step, padded)
        ran = Mode.NONE
        if dispatch.mode is Mode.FULL and padded in self._full:
            ran = Mode.FULL
            self._full[padded]()
        elif dispatch.mode is Mode.PIECEWISE and padded in self._pieces:
            ran = Mode.PIECEWISE
            embed, pick = self._pieces[padded]
            embed()
            self.attend(padded)
            pick()
        else:
            self.run(padded)
        self.steps_run[ran] += 1
        return self.result(rows)


class CudaDevice(GraphedDevice):
    """The model on the current GPU, with every graph of ``dispatcher`` captured.

    Raises:
        DeviceUnavailable: no torch, or no GPU it can use.
    """

    _pool: Any = None
    """The memory all graphs share: they never run at the same time."""

    def __init__(self, config: Config, weights: Weights, dispatcher: Dispatcher) -> None:
        if not load_torch().cuda.is_available():
            raise DeviceUnavailable("no CUDA GPU that torch can use was found on this machine")
        super().__init__(config, weights, "cuda", dispatcher)

    def capture(self, piece: Callable[[int], None], size: int) -> Replay:
        """Capture one piece in a CUDA graph; no request's KV is written meanwhile."""
        cuda = self.torch.cuda
        self.slots[:size].fill_(self.null_slot)
        side = cuda.Stream()
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):  # libraries allocate their workspaces on first use
            piece(size)
        cuda.current_stream().wait_stream(side)
        graph = cuda.CUDAGraph()
        with cuda.graph(graph, pool=self._pool):
            piece(size)
        self._pool = graph.pool()
        replay: Replay = graph.replay
        return replay
