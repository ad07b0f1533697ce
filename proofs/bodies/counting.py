"""A loop that names a number may do anything once it has counted that far.

The scripts of ``passes`` and the runs of ``engine_runs`` have queues of some lengths only.  What a
loop does at others follows from what it does at these if it counts by one and compares with
lengths alone, so its code names no number but 0 and 1.
"""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any

from model.engine import Engine
from model.scheduler import Scheduler

COUNTS = "a loop names no number but 0 and 1"
"""The promise."""
PROVED: dict[type, frozenset[str]] = {
    Scheduler: frozenset(
        {"__init__", "begin_step", "try_running", "try_waiting", "lowest_priority", "preempt"}
        | {"finish_load", "update_after_schedule", "_start_load", "_enqueue", "_decided"}
    ),
    Engine: frozenset({"__init__", "book_share"}),
}
"""Methods that bodies prove for any values: these may name any number."""


def numbers_named(owner: type) -> list[str]:
    """The numbers named by the loops of a class, each with its method."""
    return [
        f"{owner.__name__}.{name} names {number}"
        for name, held in vars(owner).items()
        for function in [getattr(held, "fget", held)]
        if isinstance(function, FunctionType) and name not in PROVED[owner]
        for number in _numbers(function.__code__, function.__globals__)
    ]


def _numbers(code: CodeType, known: dict[str, Any]) -> list[object]:
    """In the code, in what is defined in it, and under names of its module."""
    values = [*code.co_consts, *(known.get(name) for name in code.co_names)]
    found: list[object] = [v for v in _flat(values) if type(v) in (int, float) and v not in (0, 1)]
    for value in code.co_consts:
        if isinstance(value, CodeType):
            found += _numbers(value, known)
    return found


def _flat(values: list[object]) -> list[object]:
    """The values, and those in tuples of them."""
    inner = [each for value in values if isinstance(value, tuple) for each in value]
    return [*values, *inner]
