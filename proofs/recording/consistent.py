"""What the lines of one recording must agree on, beyond the form of each.

Everything here is true of whatever a scheduler does, since it is about how a recorder reads:
lengths are not negative, blocks come whole, nobody is told of twice.  A recording that says
otherwise was not written by one, or was changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proofs.recorder import lines
from proofs.recorder.lines import Line

SINCE = {"num_in_flight_tokens": 26, "num_stale_output_tokens": 27}
"""Counters newer than the oldest release → the first 0.x that has one."""
LENGTHS = ("num_output_tokens", "num_spec_tokens", "num_preemptions", "kv_capacity", *SINCE)
"""Counters that no scheduler can bring below zero."""
TOLD_ONCE = ("rows", "preempted", "state", "samples", "drafts", "requests")
"""Fields with one entry for each request."""
MODES = {"Scheduler": False, "AsyncScheduler": True}
"""The engine's own classes, and whether their steps overlap."""
LACKING = -1


class Inconsistent(ValueError):
    """A line that cannot follow the lines before it."""


class Consistency:
    """The lines of one recording, one after the other.

    Args:
        header: the first one.

    Raises:
        Inconsistent: it contradicts itself.
    """

    def __init__(self, header: Line) -> None:
        major, minor = (int(part) for part in header["engine"].split(".")[:2])
        self.engine = header["engine"]
        self.lacks = {name for name, since in SINCE.items() if major == 0 and minor < since}
        # Several groups of layers have blocks of several sizes.
        alike = "several KV cache groups" not in header["beyond"]
        self.block_size = header["config"]["block_size"] if alike else 1
        self.capacity: dict[int, int] = {}
        """Of every request that holds blocks, tokens."""
        if header["rank"] < 0:
            raise Inconsistent(f"rank {header['rank']} is below zero")
        overlaps = header["config"]["async_scheduling"]
        if MODES.get(header["scheduler"], overlaps) != overlaps:
            raise Inconsistent(f"{header['scheduler']} with async_scheduling {overlaps}")

    def take(self, line: Line) -> None:
        """One more line.

        Raises:
            Inconsistent: it does not fit.
        """
        for name in TOLD_ONCE:
            told = [item[0] if isinstance(item, list) else item for item in line.get(name, ())]
            if len(set(told)) < len(told):
                twice = max(told, key=told.count)
                raise Inconsistent(f"{name} names request {twice} twice")
        if line["kind"] == lines.SNAPSHOT:
            self.capacity.clear()
        for state in line.get("state", ()):
            counters = dict(zip(lines.STATE, state, strict=True))
            for wrong in self._wrong(counters):
                raise Inconsistent(f"state of request {state[0]}: {wrong}")
            self.capacity.pop(state[0], None)
            if counters["kv_capacity"]:
                self.capacity[state[0]] = counters["kv_capacity"]
        if "taken" in line and line["taken"] * self.block_size > sum(self.capacity.values()):
            raise Inconsistent(f"{line['taken']} blocks are taken, more than requests hold")

    def _wrong(self, state: dict[str, Any]) -> Iterator[str]:
        for name in LENGTHS:
            if name in self.lacks:
                if state[name] != LACKING:
                    yield f"vLLM {self.engine} has no {name}"
            elif state[name] < 0:
                yield f"{name} {state[name]} is below zero"
        if state["is_prefill_chunk"] not in (0, 1):
            yield f"is_prefill_chunk {state['is_prefill_chunk']} is neither 0 nor 1"
        capacity, size = state["kv_capacity"], self.block_size
        if capacity % size:
            yield f"kv_capacity {capacity} is no whole number of blocks of {size}"
