"""The words of a loop: what it may read, change and call.  None is a number it could know."""

from __future__ import annotations

from bisect import bisect_right
from types import FunctionType
from typing import Any

from model.request import RequestStatus
from model.step import Scheduled, SchedulerOutput, Step
from proofs.known_fields import KNOWN
from spec.records import PoolState, RequestState, StepTotals

READ = frozenset().union(*KNOWN.values()) | {
    *("async_scheduling", "priority_scheduling"),
    *RequestStatus.__members__,
    *(name for kind in KNOWN for name, held in vars(kind).items() if isinstance(held, property)),
} - {"index"}
"""Attributes that are read and handed on."""
ASKED = frozenset({"record", "observer", "__sym_len__"}) | {
    name
    for kind in KNOWN
    for name, held in vars(kind).items()
    if isinstance(held, FunctionType) and not name.startswith("__")
}
"""Attributes that are called."""
QUEUES = frozenset(
    {"running", "waiting", "kv_holding_waiting", "finished", "in_flight", "scheduled"}
    | {"preempted_reqs", "padded", "num_scheduled_tokens", "num_draft_tokens"}
)
"""What can be counted, walked through and changed."""
CHANGES = frozenset({"append", "remove", "count", "popleft", "items", "get", "add"})
PICKS = frozenset({"insert", "pop"})
"""These take a position first."""
COUNTS_A_QUEUE = frozenset({"len", "size", "max", "bisect_right"})
"""These take a queue first, and perhaps a key."""
CALLED: tuple[Any, ...] = (
    *(len, max, bisect_right, tuple, sum, bool, type),
    *(Step, Scheduled, SchedulerOutput, RequestState, PoolState, StepTotals),
)
"""What is called besides functions of the model, and made."""
