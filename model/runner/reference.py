"""The reference device: the model in NumPy, every mode computed the same way."""

from __future__ import annotations

import numpy as np

from model.runner.batch import Ints
from model.runner.cudagraph import Dispatch, Mode
from model.runner.device import CONTEXT_RANGE, VOCAB, DeviceStep, Floats, Weights
from spec.config import Config


class NumpyDevice:
    """Paged KV of shape [slots, WIDTH] for keys and values, and the model over it."""

    def __init__(self, config: Config, weights: Weights) -> None:
        self.weights = weights
        self.block_size = config.block_size
        slots = config.num_gpu_blocks * config.block_size
        self.keys: Floats = np.zeros((slots, weights.key.shape[1]))
        self.values: Floats = np.zeros((slots, weights.value.shape[1]))

    def load_kv(self, token_ids: Ints, positions: Ints, slots: Ints) -> None:
        self._write(self._embed(token_ids, positions), slots)

    def forward(self, step: DeviceStep, dispatch: Dispatch) -> Ints:
        weights = self.weights
        tokens = np.maximum(step.input_ids, 0)
        x = self._embed(tokens, step.positions)
        self._write(x, step.slot_mapping)
        offsets = np.arange(self.block_size)
        slots = (step.block_rows[:, :, None] * self.block_size + offsets).reshape(len(x), -1)
        scores = np.einsum("td,tsd->ts", x @ weights.query, self.keys[slots])
        causal = np.arange(slots.shape[1]) <= step.positions[:, None]
        attended = np.where(causal, np.maximum(scores, 0), 0)
        context = np.einsum("ts,tsd->td", attended, self.values[slots]) @ weights.head
        logits = weights.bigram[tokens] + np.fmod(context, CONTEXT_RANGE)
        # Equal logits are told apart by the token, the lower one first.
        greedy: Ints = (logits * VOCAB - np.arange(VOCAB)).argmax(axis=1)
        return greedy

    def _embed(self, token_ids: Ints, positions: Ints) -> Floats:
        return self.weights.embedding[token_ids] + self.weights.position[positions]

    def _write(self, x: Floats, slots: Ints) -> None:
        self.keys[slots] = x @ self.weights.key
        self.values[slots] = x @ self.weights.value


def greedy_tokens(weights: Weights, prompt: list[int], count: int) -> list[int]:
    """``count`` tokens after ``prompt`` by plain greedy decoding: one request, no paging, no
    drafts.  What every device and every schedule must reproduce."""
    config = Config(
        max_model_len=len(weights.position), block_size=len(weights.position), num_gpu_blocks=1
    )
    device = NumpyDevice(config, weights)
    eager = Dispatch(Mode.NONE, 1)
    block = np.zeros((1, 1), np.int64)
    tokens = list(prompt)
    for position in range(len(prompt) + count - 1):
        here = np.array([position])
        step = DeviceStep(np.array([tokens[position]]), here, here, block)
        token = int(device.forward(step, eager)[0])
        if position == len(tokens) - 1:
            tokens.append(token)
    return tokens[len(prompt) :]
