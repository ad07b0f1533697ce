"""Who takes part in the scripts: legal requests whose fields go their own ways.

A loop that orders requests by something else than their arrival or their urgency shows only where
the two disagree.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from model.request import Request, RequestStatus

RUNNING = RequestStatus.RUNNING
LOADS = RequestStatus.WAITING_FOR_REMOTE_KVS
FRESH, RESUMED = RequestStatus.WAITING, RequestStatus.PREEMPTED
FIELDS = (
    *("status", "is_prefill_chunk", "num_output_tokens", "num_spec_tokens"),
    *("num_output_placeholders", "num_in_flight_tokens", "num_stale_output_tokens"),
    *("num_preemptions", "num_blocks"),
)
Flavours = Sequence[tuple[tuple[Any, ...], int | None]]
"""Values of ``FIELDS``, and how many tokens are left to compute (None: all)."""
RUNS: Flavours = (
    ((RUNNING, True, 0, 0, 0, 0, 0, 0, 1), 1),
    ((RUNNING, False, 1, 1, 0, 0, 0, 0, 2), 1),
    ((RUNNING, False, 2, 0, 1, 1, 0, 2, 2), 0),
    ((RUNNING, True, 1, 0, 0, 1, 0, 1, 1), 2),
)
HOLDS: Flavours = (
    ((LOADS, False, 0, 0, 0, 0, 0, 0, 1), 0),
    ((LOADS, True, 1, 0, 0, 0, 0, 1, 2), 1),
    ((FRESH, False, 0, 0, 0, 0, 0, 0, 2), 1),
    ((RESUMED, True, 2, 0, 0, 1, 1, 2, 1), 1),
)
WAITS: Flavours = (
    ((FRESH, False, 0, 0, 0, 0, 0, 0, 0), None),
    ((RESUMED, True, 1, 0, 0, 0, 0, 1, 0), None),
    ((RESUMED, False, 2, 0, 0, 2, 2, 2, 0), None),
)


def cast(serial: int, number: int) -> list[Request]:
    """Requests by rank, the most urgent first: by priority, and by arrival where that is equal.

    Some priorities are negative, and the more urgent arrive later.  Nothing else about a request
    goes with its rank: the other fields take turns as ``serial`` does.
    """
    return [
        Request(
            f"r{(2 * rank + serial) % 7 + 7 * (rank // 7)}",
            num_prompt_tokens=2 + (5 * rank + serial) % 4,
            max_tokens=4 + (3 * rank + serial) % 5,
            priority=rank // 2 - 1,
            arrival_time=2 * (number - rank // 2) + rank % 2,
        )
        for rank in range(number)
    ]


def give_parts(requests: Collection[Request], flavours: Flavours, serial: int) -> None:
    """Every request gets one of these flavours, whatever its rank."""
    for place, request in enumerate(requests):
        values, behind = flavours[(3 * place + serial) % 7 % len(flavours)]
        for name, value in zip(FIELDS, values, strict=True):
            setattr(request, name, value)
        if behind is not None:
            request.num_computed_tokens = request.num_tokens - behind


def urgency(request: Request) -> tuple[int, int]:
    """Who comes first under priority scheduling, as the engine's documentation has it."""
    return request.priority, request.arrival_time


def least_urgent(running: Sequence[Request], by_urgency: bool) -> Request:
    """Who is preempted next: the last to come, or by priority."""
    return max(running, key=urgency) if by_urgency else running[-1]
