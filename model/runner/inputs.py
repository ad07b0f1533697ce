"""Input preparation: from rows per request to the flat arrays a forward pass reads.

``T`` is the number of rows of the step and ``R`` the number of requests.  Every array follows
``_prepare_inputs`` and ``_calc_spec_decode_metadata`` of ``vllm/v1/worker/gpu_model_runner.py``;
the worked numbers in the comments are one batch of two requests, n = [4, 2], drafts = [3, 0].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from model.runner.batch import Ints, PersistentBatch
from model.runner.errors import NoRows
from spec.config import Config


@dataclass(slots=True)
class DraftMetadata:
    """Where the sampler finds each request's logits.

    Attributes:
        cu_num_draft_tokens: running sum of drafts, shape [R].
        cu_num_sampled_tokens: running sum of logits rows, drafts + s each, shape [R].
        logits_indices: rows of the step that need logits, shape [sum of drafts + s].
        target_logits_indices: logits rows that verify a draft, shape [sum of drafts].
        bonus_logits_indices: each request's last logits row, shape [R].
    """

    cu_num_draft_tokens: Ints
    cu_num_sampled_tokens: Ints
    logits_indices: Ints
    target_logits_indices: Ints
    bonus_logits_indices: Ints


@dataclass(slots=True)
class Layout:
    """What of a step depends on row counts alone; consecutive decode steps share it.

    Attributes:
        num_scheduled_tokens: rows per request, shape [R].
        num_draft_tokens: drafts per request, shape [R].
        cu_num_tokens: running sum of rows, shape [R].
        req_indices: batch row of each row of the step, shape [T].
        query_pos: place of each row among its request's rows, shape [T].
        token_rows: where each row's request begins in the flattened token table, shape [T].
        block_rows: the same in the flattened block table, shape [T].
        drafts: the sampler's view.
    """

    num_scheduled_tokens: Ints
    num_draft_tokens: Ints
    cu_num_tokens: Ints
    req_indices: Ints
    query_pos: Ints
    token_rows: Ints
    block_rows: Ints
    drafts: DraftMetadata


@dataclass(slots=True)
class BatchInputs:
    """One step, ready for the device.

    Attributes:
        layout: the row counts and what follows from them.
        positions: position of each row in its request, tokens, shape [T].
        token_indices: where each row's token id lies in the flattened token table, shape [T].
        slot_mapping: KV slot each row writes, shape [T].
    """

    layout: Layout
    positions: Ints
    token_indices: Ints
    slot_mapping: Ints


class InputPreparer:
    """Builds ``BatchInputs``; owns the scratch range and the latest layout."""

    def __init__(self, config: Config) -> None:
        self.max_model_len = config.max_model_len
        self.block_size = config.block_size
        self.sampled = config.num_sampled_tokens_per_step
        # Every index is below the step's rows, or one more per request.
        largest = config.max_num_batched_tokens + config.max_num_seqs
        self.arange: Ints = np.arange(largest, dtype=np.int64)
        self._counts: tuple[list[int], list[int]] = ([], [])
        self._layout: Layout | None = None

    def prepare(
        self,
        batch: PersistentBatch,
        num_scheduled_tokens: list[int],
        num_computed_tokens: list[int],
        num_draft_tokens: list[int],
    ) -> BatchInputs:
        """Prepare one step; the three lists are in batch row order.

        Raises:
            NoRows: a negative row count, which ``np.repeat`` refuses.
        """
        counts = (num_scheduled_tokens, num_draft_tokens)
        layout = self._layout
        if layout is None or counts != self._counts:
            layout = self._layout = self.layout(batch, *counts)
            self._counts = counts
        computed: Ints = np.array(num_computed_tokens, np.int64)
        positions = computed[layout.req_indices] + layout.query_pos  # [C0 .. C0 + 3, C1, C1 + 1]
        blocks = positions // self.block_size
        block_ids = batch.block_table.ravel()[layout.block_rows + blocks]
        return BatchInputs(
            layout=layout,
            positions=positions,
            token_indices=positions + layout.token_rows,
            slot_mapping=positions + (block_ids - blocks) * self.block_size,
        )

    def layout(
        self, batch: PersistentBatch, num_scheduled_tokens: list[int], num_draft_tokens: list[int]
    ) -> Layout:
        """The part of ``prepare`` that no position enters."""
        n: Ints = np.array(num_scheduled_tokens, np.int64)
        try:
            req_indices = self.arange[: n.size].repeat(n)  # [0, 0, 0, 0, 1, 1]
        except ValueError as error:
            row = int(n.argmin())
            request_id = batch.rows[row].request.request_id
            raise NoRows(request_id, row, f"np.repeat refuses {n[row]} rows: {error}") from error
        cu_num_tokens = n.cumsum()  # [4, 6]
        drafts: Ints = np.array(num_draft_tokens, np.int64)
        return Layout(
            num_scheduled_tokens=n,
            num_draft_tokens=drafts,
            cu_num_tokens=cu_num_tokens,
            req_indices=req_indices,
            query_pos=self.arange[: req_indices.size] - (cu_num_tokens - n)[req_indices],
            token_rows=req_indices * self.max_model_len,
            block_rows=req_indices * batch.block_table.shape[1],
            drafts=self.draft_metadata(drafts, cu_num_tokens),
        )

    def draft_metadata(self, num_draft_tokens: Ints, cu_num_tokens: Ints) -> DraftMetadata:
        """The sampler's indices: the last ``drafts + s`` rows of each request get logits."""
        sampled = num_draft_tokens + self.sampled  # [4, 1]
        cu_sampled = sampled.cumsum()  # [4, 5]
        cu_drafts = num_draft_tokens.cumsum()  # [3, 3]
        total_sampled, total_drafts = int(cu_sampled[-1]), int(cu_drafts[-1])
        arange = self.arange
        # A request's first row with logits, less the logits rows of the requests before it.
        first_row = cu_num_tokens - cu_sampled
        logits = first_row.repeat(sampled) + arange[:total_sampled]  # [0, 1, 2, 3, 5]
        first_logit = cu_sampled - sampled - cu_drafts + num_draft_tokens
        target = first_logit.repeat(num_draft_tokens) + arange[:total_drafts]  # [0, 1, 2]
        return DraftMetadata(cu_drafts, cu_sampled, logits, target, cu_sampled - 1)  # [3, 4]
