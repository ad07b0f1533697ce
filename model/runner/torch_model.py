"""The device model in torch, as three pieces over static buffers.

CUDA graphs replay kernels on fixed addresses, so every piece reads and writes preallocated
buffers: ``embed`` (embedding and KV write), ``attend`` (paged attention) and ``pick`` (head and
greedy choice).  A FULL graph holds all three; a PIECEWISE step replays ``embed`` and ``pick`` and
runs ``attend`` kernel by kernel.  Torch is an optional extra without type information here, hence
``Any``.
"""

from __future__ import annotations

import importlib
from typing import Any

from model.runner.batch import Ints
from model.runner.cudagraph import Dispatch
from model.runner.device import CONTEXT_RANGE, VOCAB, WIDTH, DeviceStep, Weights
from spec.config import Config


class DeviceUnavailable(RuntimeError):
    """No such device here; the message is one line for the user."""


def load_torch() -> Any:
    """The torch module.

    Raises:
        DeviceUnavailable: it is not installed, or does not load.
    """
    try:
        return importlib.import_module("torch")
    except (ImportError, OSError) as error:
        raise DeviceUnavailable("torch is not installed; install the extra 'cuda'") from error


class TorchDevice:
    """Runs every step kernel by kernel, on any torch device.

    Args:
        config: the knobs.
        weights: the model.
        where: torch's name of the device.
        max_rows: rows of the largest step, padding included.

    Raises:
        DeviceUnavailable: torch is not installed.
    """

    def __init__(self, config: Config, weights: Weights, where: str, max_rows: int) -> None:
        torch = self.torch = load_torch()
        self.where = where
        self.block_size = config.block_size
        self.weights = {
            name: torch.from_numpy(getattr(weights, name)).to(where)
            for name in Weights.__dataclass_fields__
        }
        self.null_slot = config.num_gpu_blocks * config.block_size
        """Padding rows write their KV here (the engine's kernels skip slot -1 instead)."""
        blocks = -(-config.max_model_len // config.block_size)

        def buffer(*shape: int, dtype: Any = torch.float64) -> Any:
            return torch.zeros(shape, dtype=dtype, device=where)

        self.keys = buffer(self.null_slot + 1, WIDTH)
        self.values = buffer(self.null_slot + 1, WIDTH)
        self.input_ids = buffer(max_rows, dtype=torch.int64)
        self.positions = buffer(max_rows, dtype=torch.int64)
        self.slots = buffer(max_rows, dtype=torch.int64)
        self.block_rows = buffer(max_rows, blocks, dtype=torch.int64)
        self.x = buffer(max_rows, WIDTH)
        self.attended = buffer(max_rows, WIDTH)
        self.greedy = buffer(max_rows, dtype=torch.int64)
        self.block_offsets = torch.arange(config.block_size, device=where)
        self.key_positions = torch.arange(blocks * config.block_size, device=where)
        self.vocabulary = torch.arange(VOCAB, device=where)

    def load_kv(self, token_ids: Ints, positions: Ints, slots: Ints) -> None:
        weights = self.weights
        tokens, places, targets = (self._on_device(a) for a in (token_ids, positions, slots))
        x = weights["embedding"][tokens] + weights["position"][places]
        self.keys.index_copy_(0, targets, x @ weights["key"])
        self.values.index_copy_(0, targets, x @ weights["value"])

    def forward(self, step: DeviceStep, dispatch: Dispatch) -> Ints:
        rows = len(step.input_ids)
        self.stage(step, rows)
        self.run(rows)
        return self.result(rows)

    def stage(self, step: DeviceStep, padded: int) -> None:
        """Copy a step into the buffers and pad it to ``padded`` rows."""
        rows = len(step.input_ids)
        self.input_ids[:rows].copy_(self._on_device(step.input_ids)).clamp_(min=0)
        self.positions[:rows].copy_(self._on_device(step.positions))
        self.slots[:rows].copy_(self._on_device(step.slot_mapping))
        self.block_rows[:rows].copy_(self._on_device(step.block_rows))
        self.input_ids[rows:padded].zero_()
        self.positions[rows:padded].zero_()
        self.slots[rows:padded].fill_(self.null_slot)
        self.block_rows[rows:padded].zero_()

    def result(self, rows: int) -> Ints:
        """The greedy tokens of the first ``rows`` rows; waits for the device."""
        tokens: Ints = self.greedy[:rows].cpu().numpy()
        return tokens

    def run(self, rows: int) -> None:
        """The whole model on the first ``rows`` rows of the buffers."""
        self.embed(rows)
        self.attend(rows)
        self.pick(rows)

    def embed(self, rows: int) -> None:
        """Embed the rows and write their KV."""
        weights, x = self.weights, self.x[:rows]
        x.copy_(weights["embedding"][self.input_ids[:rows]])
        x.add_(weights["position"][self.positions[:rows]])
        self.keys.index_copy_(0, self.slots[:rows], x @ weights["key"])
        self.values.index_copy_(0, self.slots[:rows], x @ weights["value"])

    def attend(self, rows: int) -> None:
        """Each row attends to the keys of its request up to its own position."""
        blocks = self.block_rows[:rows, :, None] * self.block_size + self.block_offsets
        slots = blocks.reshape(rows, -1)
        queries = self.x[:rows] @ self.weights["query"]
        scores = (self.keys[slots] @ queries[:, :, None]).squeeze(2).clamp(min=0)
        causal = self.key_positions <= self.positions[:rows, None]
        weighted = (scores * causal)[:, None, :] @ self.values[slots]
        self.attended[:rows].copy_(weighted.squeeze(1))

    def pick(self, rows: int) -> None:
        """The greedy token after each row; equal logits are told apart by the token."""
        context = self.attended[:rows] @ self.weights["head"]
        logits = self.weights["bigram"][self.input_ids[:rows]]
        logits = logits + self.torch.fmod(context, CONTEXT_RANGE)
        self.greedy[:rows].copy_((logits * VOCAB - self.vocabulary).argmax(dim=1))

    def _on_device(self, array: Ints) -> Any:
        return self.torch.from_numpy(array).to(self.where)
