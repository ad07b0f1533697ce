"""The runner shim against the real runner: rows, positions, slots, the sampler's indices, dispatch.

The engine's side is ``proofs.recorder.runner``, which prints what the real runner's own methods
made of recorded and of generated batches; here the shim does the same work, and the two are
compared number by number.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from model.request import Request, RequestStatus
from model.runner.batch import PersistentBatch
from model.runner.cudagraph import Dispatcher
from model.runner.inputs import BatchInputs, DraftMetadata, InputPreparer
from model.step import Scheduled, SchedulerOutput
from spec.config import Config

Line = dict[str, Any]
DRAFTED = (
    "cu_num_draft_tokens",
    "cu_num_sampled_tokens",
    "logits_indices",
    "target_logits_indices",
    "bonus_logits_indices",
)


@dataclass(slots=True)
class Compared:
    """What was compared and the first differences."""

    numbers: Counter[str] = field(default_factory=Counter)
    """What → how many numbers, or decisions, were the same."""
    batches: Counter[str] = field(default_factory=Counter)
    """Kind of line → how many."""
    unlike: list[str] = field(default_factory=list)

    def same(self, what: str, shim: Any, runner: Any) -> None:
        """Compare one value."""
        ours = shim.tolist() if isinstance(shim, np.ndarray) else shim
        if ours == runner:
            self.numbers[what] += len(ours)
        elif len(self.unlike) < 10:
            self.unlike.append(f"{what}: shim {ours}, runner {runner}")


class Shim:
    """The shim's side.

    Args:
        config: the knobs of the tiny engine.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.compared = Compared()
        self.batch = PersistentBatch(config)
        self.requests: dict[int, Request] = {}

    def take(self, line: Line) -> None:
        """Do what a line tells the real runner did, and compare."""
        kinds: dict[str, Callable[[Line], None]] = {
            "states": self._states,
            "batch": self._batch,
            "layout": self._layout,
            "dispatch": self._dispatch,
        }
        self.compared.batches[line["kind"]] += 1
        kinds[line["kind"]](line)

    def _states(self, line: Line) -> None:
        """Who sits in which row after requests came and went."""
        for number in line["finished"]:
            if number in self.requests:
                self.requests.pop(number).status = RequestStatus.FINISHED_STOPPED
        gone = tuple(self.requests[n] for n in line["preempted"] if n in self.requests)
        for request in gone:
            request.num_preemptions += 1
        shares = []
        for number, rows, drafts in line["rows"]:
            request = self.requests.setdefault(number, Request(str(number), 1, 1))
            shares.append(Scheduled(request, rows, drafts, False, True))
        self.batch.update(SchedulerOutput(tuple(shares), gone))
        rows = [int(row.request.request_id) for row in self.batch.rows]
        self.compared.same("request in each row", rows, line["placed"])
        if line["batch"] != line["placed"]:
            self.compared.batches["reordered by the attention backend"] += 1
            self._reorder(line["batch"])

    def _reorder(self, order: list[int]) -> None:
        """Take over the order a backend wants (decodes first); the shim knows no backends."""
        found = {int(row.request.request_id): row for row in self.batch.rows}
        self.batch.rows = [found[number] for number in order]
        for index, row in enumerate(self.batch.rows):
            row.index = index

    def _batch(self, line: Line) -> None:
        """The flat arrays, from the same rows in the same order and the same block table."""
        same = self.compared.same
        batch = PersistentBatch(self.config)
        table = np.array(line["blocks"], np.int64)
        batch.block_table[: len(table)] = table[:, : batch.block_table.shape[1]]
        preparer = InputPreparer(self.config)
        made: BatchInputs = preparer.prepare(batch, line["rows"], line["computed"], line["drafts"])
        same("request indices", made.layout.req_indices, line["req_indices"])
        same("query positions", made.layout.query_pos, line["query_pos"])
        same("positions", made.positions, line["positions"])
        same("slot mapping", made.slot_mapping, line["slot_mapping"])
        self._drafted(made.layout.drafts, line["drafted"])

    def _layout(self, line: Line) -> None:
        layout = InputPreparer(self.config).layout(
            PersistentBatch(self.config), line["rows"], line["drafts"]
        )
        self._drafted(layout.drafts, line["drafted"])

    def _drafted(self, made: DraftMetadata, told: dict[str, list[int]]) -> None:
        for name in DRAFTED:
            self.compared.same(name, getattr(made, name), told[name])

    def _dispatch(self, line: Line) -> None:
        """What each rank of a group runs."""
        config = Config(num_spec_tokens=line["drafts"], max_num_seqs=line["seqs"])
        dispatcher = Dispatcher(config, line["sizes"])
        agreed = dispatcher.agree([dispatcher.shape(rows) for rows in line["group"]])
        settled = [[dispatch.mode.name, dispatch.num_tokens] for dispatch in agreed]
        self.compared.same("mode and padded rows of a rank", settled, line["settled"])
        for mode, _ in line["settled"]:
            self.compared.batches[f"ranks run {mode}"] += 1


def compare(config: Config, text: Iterable[str]) -> Compared | None:
    """Compare all that the engine's side printed; None if it did not come to its end."""
    shim, ended = Shim(config), False
    for given in text:
        if given.startswith("told "):
            line = json.loads(given.removeprefix("told "))
            ended = line["kind"] == "end"
            if not ended:
                shim.take(line)
    return shim.compared if ended else None
