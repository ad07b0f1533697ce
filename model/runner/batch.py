"""The persistent batch: which request sits in which row, its KV blocks and its token ids.

Consecutive steps serve mostly the same requests, so rows stay where they are: a request that is
not scheduled leaves its row, a new one takes the lowest hole, and ``condense`` moves the last
rows into the holes that remain.  Source: ``_update_states`` of ``vllm/v1/worker/
gpu_model_runner.py`` and ``vllm/v1/worker/gpu_input_batch.py``.

The scheduler model counts blocks; the batch names them, allocating its own ids to mirror each
request's count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from model.request import Request
from model.runner.errors import BufferOverrun, NoSlot, PastModelLen
from model.step import SchedulerOutput
from spec.config import Config

Ints = NDArray[np.int64]

NO_ROW = -1


class Row:
    """What the runner keeps of one request from its first step to its end or preemption."""

    __slots__ = ("block_ids", "entered", "fresh", "index", "is_prefill_chunk", "request", "step")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.index = NO_ROW
        """Position in the batch; ``NO_ROW`` while the request is not scheduled."""
        self.block_ids: list[int] = []
        self.entered = 0
        """The step in which the request last took a row."""
        self.step = 0
        """The last step that scheduled the request."""
        self.fresh = True
        """This is the request's first step, or its first since a preemption."""
        self.is_prefill_chunk = False
        """The request's previous rows did not reach its last known token."""


class PersistentBatch:
    """Rows of one rank.

    Attributes:
        rows: the occupied rows, in order.
        block_table: KV block ids, shape [max_num_seqs, blocks per request].
        token_ids: known tokens and drafts, shape [max_num_seqs, max_model_len]; only written
            when a device computes real tokens.
        step: steps so far.
    """

    def __init__(self, config: Config) -> None:
        blocks_per_request = -(-config.max_model_len // config.block_size)
        self.rows: list[Row] = []
        self.block_table: Ints = np.zeros((config.max_num_seqs, blocks_per_request), np.int64)
        self.token_ids: Ints = np.zeros((config.max_num_seqs, config.max_model_len), np.int64)
        self._known: dict[Request, Row] = {}
        self._free_blocks = list(range(config.num_gpu_blocks - 1, -1, -1))
        self.step = 0

    def update(self, output: SchedulerOutput) -> list[Row]:
        """Bring the batch in line with one step; returns the row of each share, in order.

        Raises:
            BufferOverrun: more requests than rows.
            NoSlot: more blocks held than the pool has.
            PastModelLen: more blocks held than a row of the block table.
        """
        self.step += 1
        known, step = self._known, self.step
        for request in output.preempted_reqs:
            self._forget(request)
        scheduled: list[Row] = []
        new: list[Row] = []
        returning: list[Row] = []
        for share in output.scheduled:
            row = known.get(share.request)
            if row is None:
                row = known[share.request] = Row(share.request)
                (returning if share.request.num_preemptions else new).append(row)
            elif row.index == NO_ROW:
                returning.append(row)
            row.step = step
            scheduled.append(row)
        if len(scheduled) != len(known):
            self._drop_finished()
        holes: list[int] = []
        # Requests the runner has seen before enter behind those it has not.
        new += returning
        if len(scheduled) - len(new) != len(self.rows):
            holes = [index for index, row in enumerate(self.rows) if row.step != step]
            for index in holes:
                self.rows[index].index = NO_ROW
        if new:
            self._enter(new, holes)
        if holes:
            self._condense(holes)
        for row in scheduled:
            if row.request.num_blocks != len(row.block_ids):
                self._mirror_blocks(row)
        return scheduled

    def row_of(self, request: Request) -> int:
        """The request's row, or ``NO_ROW``."""
        row = self._known.get(request)
        return NO_ROW if row is None else row.index

    def _enter(self, new: Sequence[Row], holes: list[int]) -> None:
        """Place new rows, the lowest holes first; what is left of ``holes`` stays empty."""
        for row in new:
            if holes:
                row.index = holes.pop(0)
                self.rows[row.index] = row
            else:
                row.index = len(self.rows)
                if row.index == len(self.block_table):
                    problem = f"the batch has max_num_seqs = {row.index} rows, all taken"
                    raise BufferOverrun(row.request.request_id, row.index, problem)
                self.rows.append(row)
            row.entered = self.step
            self.block_table[row.index, : len(row.block_ids)] = row.block_ids

    def _condense(self, holes: Sequence[int]) -> None:
        """Move the last rows into the holes, given in ascending order."""
        rows = self.rows
        for hole in holes:
            while rows and rows[-1].index == NO_ROW:
                rows.pop()
            if hole >= len(rows):
                return
            last = rows.pop()
            self.block_table[hole] = self.block_table[last.index]
            self.token_ids[hole] = self.token_ids[last.index]
            last.index = hole
            rows[hole] = last

    def _mirror_blocks(self, row: Row) -> None:
        """Name as many blocks as the scheduler counted for the request."""
        held = len(row.block_ids)
        missing = row.request.num_blocks - held
        if missing > len(self._free_blocks) or missing < 0:
            problem = f"{row.request.num_blocks} blocks counted, {held} named, "
            problem += f"{len(self._free_blocks)} free"
            raise NoSlot(row.request.request_id, row.index, problem)
        if held + missing > self.block_table.shape[1]:
            problem = f"{held + missing} blocks; max_model_len needs {self.block_table.shape[1]}"
            raise PastModelLen(row.request.request_id, row.index, problem)
        for _ in range(missing):
            row.block_ids.append(self._free_blocks.pop())
        self.block_table[row.index, held : held + missing] = row.block_ids[held:]

    def _forget(self, request: Request) -> None:
        """Drop what is known of a request and take its blocks back; its row becomes a hole."""
        row = self._known.pop(request, None)
        if row is not None:
            self._free_blocks.extend(row.block_ids)
            row.block_ids = []
            row.step = 0

    def _drop_finished(self) -> None:
        """Requests end between two steps, by their output or by an abort."""
        for request in [request for request in self._known if request.is_finished]:
            self._forget(request)
