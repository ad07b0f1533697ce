"""Real tokens for a run: what the device-side state of an async runner holds.

Under async scheduling the scheduler does not know which drafts were accepted when it plans the
next step: C is optimistic.  The device does know, so positions are corrected there, and the
tokens reach the scheduler one step late.  Sources: ``_prepare_inputs`` (correction of
``num_computed_tokens``), ``_bookkeeping_sync`` and ``AsyncGPUModelRunnerOutput`` of
``vllm/v1/worker/gpu_model_runner.py``; greedy rejection of ``vllm/v1/sample/
rejection_sampler.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from model.environment import Sample
from model.request import Request
from model.runner.batch import Ints, PersistentBatch, Row
from model.runner.cudagraph import Dispatch
from model.runner.device import VOCAB, Device, DeviceStep, Weights
from model.runner.errors import Miscounted
from model.runner.inputs import BatchInputs
from model.step import Scheduled
from spec.config import Config

PLACEHOLDER = -1
"""A draft nobody proposed; it must be rejected."""


class TokenSource:
    """Runs each step on a device and keeps every request's tokens.

    Args:
        config: the knobs; autoregressive models only.
        weights: the model, whose bigram table is also the drafter.
        device: where it runs.

    Raises:
        ValueError: a diffusion model (s = 0).
    """

    def __init__(self, config: Config, weights: Weights, device: Device) -> None:
        if config.num_sampled_tokens_per_step != 1:
            raise ValueError("the device model is autoregressive: num_sampled_tokens_per_step = 1")
        self.config = config
        self.weights = weights
        self.device = device
        self.num_drafts = 0
        self.num_accepted = 0
        self._tokens: dict[Request, list[int]] = {}
        self._in_flight: dict[Request, deque[tuple[int, int]]] = {}
        """Per step in flight: tokens generated and drafts rejected."""

    def output_tokens(self, request: Request) -> list[int]:
        """The tokens the scheduler has booked for a request."""
        return self._tokens[request][request.num_prompt_tokens :][: request.num_output_tokens]

    def prompt_tokens(self, request: Request) -> list[int]:
        """The request's prompt, made up from its name."""
        seed = sum(map(ord, request.request_id))
        return [(seed + 7 * i + i * i) % VOCAB for i in range(request.num_prompt_tokens)]

    def before_step(
        self,
        batch: PersistentBatch,
        shares: Sequence[Scheduled],
        rows: Sequence[Row],
        starts: list[int],
    ) -> list[int]:
        """Fill the token table and correct C by the drafts rejected in flight.

        Returns:
            first position per batch row, tokens.

        Raises:
            Miscounted: the corrected C is not what the tokens say.
        """
        corrected = list(starts)
        for share, row in zip(shares, rows, strict=True):
            request, index = share.request, row.index
            tokens = self._tokens.get(request)
            if tokens is None:
                tokens = self._tokens[request] = self.prompt_tokens(request)
                self._in_flight[request] = deque()
            start = starts[index] - sum(rejected for _, rejected in self._in_flight[request])
            corrected[index] = start
            drafts = share.num_draft_tokens
            end = start + share.num_scheduled_tokens
            if share.samples and end != len(tokens) + drafts:
                problem = f"rows end at token {end}; {len(tokens)} tokens and {drafts} drafts exist"
                raise Miscounted(request.request_id, index, problem)
            if row.entered == batch.step:
                batch.token_ids[index, : len(tokens)] = tokens
                if share.request.num_computed_tokens > share.num_scheduled_tokens:
                    self._load(batch, index, tokens[:start])
            if share.padded:
                batch.token_ids[index, end - drafts : end] = PLACEHOLDER
            elif drafts:
                proposed = self.weights.draft(tokens[-1], drafts)
                batch.token_ids[index, end - drafts : end] = proposed
        return corrected

    def run_step(
        self,
        batch: PersistentBatch,
        shares: Sequence[Scheduled],
        rows: Sequence[Row],
        inputs: BatchInputs,
        dispatch: Dispatch,
    ) -> None:
        """Forward pass, greedy rejection, and the tokens into the request's history."""
        layout = inputs.layout
        step = DeviceStep(
            input_ids=batch.token_ids.ravel()[inputs.token_indices],
            positions=inputs.positions,
            slot_mapping=inputs.slot_mapping,
            block_rows=batch.block_table[layout.req_indices],
        )
        greedy = self.device.forward(step, dispatch)
        for share, row in zip(shares, rows, strict=True):
            if not share.samples:
                continue  # a prefill chunk: its logits are discarded
            index = row.index
            end = int(layout.drafts.cu_num_sampled_tokens[index])
            drafts = share.num_draft_tokens
            wanted = layout.drafts.logits_indices[end - drafts - 1 : end]
            generated = accepted_tokens(greedy[wanted], step.input_ids[wanted[1:]])
            tokens = self._tokens[share.request]
            start = len(tokens)
            tokens.extend(generated)
            batch.token_ids[index, start : len(tokens)] = generated
            accepted = len(generated) - 1
            self.num_drafts += 0 if share.padded else drafts
            self.num_accepted += accepted
            self._in_flight[share.request].append((len(generated), drafts - accepted))

    def take(self, request: Request) -> Sample:
        """The output of the request's oldest step in flight."""
        generated, _ = self._in_flight[request].popleft()
        return Sample(generated)

    def _load(self, batch: PersistentBatch, index: int, tokens: list[int]) -> None:
        """Tokens the request need not compute: a cache or a connector supplies their KV."""
        positions = np.arange(len(tokens))
        blocks = batch.block_table[index, positions // self.config.block_size]
        slots = blocks * self.config.block_size + positions % self.config.block_size
        self.device.load_kv(np.array(tokens, np.int64), positions, slots)


def accepted_tokens(greedy: Ints, draft_ids: Ints) -> list[int]:
    """Greedy rejection: drafts are accepted up to the first that is not the model's own choice.

    Args:
        greedy: the model's choice after each row, shape [drafts + 1].
        draft_ids: the drafts, shape [drafts]; a placeholder is never equal to a choice.

    Returns:
        the accepted drafts and one token more, the correction or the bonus.
    """
    agree = greedy[:-1] == draft_ids
    accepted = len(agree) if agree.all() else int(agree.argmin())
    return [int(token) for token in greedy[: accepted + 1]]
