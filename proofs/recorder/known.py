"""What a recording has told so far: every live request, the queues, the steps in flight.

Plain numbers read off the lines; nothing here decides anything.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from proofs.recorder import lines

WAITING, LOADING, RUNNING, PREEMPTED, STOPPED, CAPPED, ABORTED, OTHER = range(len(lines.STATUSES))


@dataclass(slots=True)
class Known:
    """One request, as of the last line that told of it."""

    request: int
    num_prompt_tokens: int
    max_tokens: int
    priority: int
    arrival_time: int
    status: int = WAITING
    num_output_tokens: int = 0
    num_computed_tokens: int = 0
    num_output_placeholders: int = 0
    num_spec_tokens: int = 0
    num_in_flight_tokens: int = 0
    num_stale_output_tokens: int = 0
    is_prefill_chunk: bool = False
    num_preemptions: int = 0
    kv_capacity: int = 0

    @property
    def num_tokens(self) -> int:
        """N = P + O."""
        return self.num_prompt_tokens + self.num_output_tokens

    @property
    def is_finished(self) -> bool:
        """It has ended, in whatever way."""
        return self.status not in (WAITING, LOADING, RUNNING, PREEMPTED)

    @property
    def is_decode(self) -> bool:
        """A running request whose known tokens are all computed but the one being sampled."""
        return self.status == RUNNING and not self.is_prefill_chunk

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"r{self.request}"

    def update(self, state: list[int]) -> None:
        """Take over what a line says about it."""
        (
            _,
            self.status,
            self.num_output_tokens,
            self.num_computed_tokens,
            self.num_output_placeholders,
            self.num_spec_tokens,
            self.num_in_flight_tokens,
            self.num_stale_output_tokens,
            chunk,
            self.num_preemptions,
            self.kv_capacity,
        ) = state
        self.is_prefill_chunk = bool(chunk)


class Unfounded(ValueError):
    """A line speaks of something no line before it has told of."""


class Story:
    """The state of one scheduler, line by line."""

    def __init__(self) -> None:
        self.requests: dict[int, Known] = {}
        self.running: list[int] = []
        self.waiting: list[int] = []
        self.held: list[int] = []
        self.in_flight: deque[tuple[int, list[Any]]] = deque()

    def of(self, request: int) -> Known:
        """A request by its number.

        Raises:
            Unfounded: nothing was told of it.
        """
        try:
            return self.requests[request]
        except KeyError:
            raise Unfounded(f"request {request} has not arrived") from None

    def restart(self, line: lines.Line) -> None:
        """A snapshot: forget everything else."""
        self.requests = {arrival[0]: Known(*arrival) for arrival in line["requests"]}
        self.in_flight = deque((step, shares) for step, shares in line["in_flight"])

    def update(self, line: lines.Line) -> None:
        """Take over the states and queues of a line."""
        for state in line.get("state", ()):
            self.of(state[0]).update(state)
        self.running = line.get("running", self.running)
        self.waiting = line.get("waiting", self.waiting)
        self.held = line.get("held", self.held)
        for request in (*self.running, *self.waiting, *self.held):
            self.of(request)

    def forget_finished(self) -> None:
        """Drop the ended requests that no step in flight will tell of again."""
        flying = {share[0] for _, shares in self.in_flight for share in shares}
        ended = [n for n, known in self.requests.items() if known.is_finished and n not in flying]
        for number in ended:
            del self.requests[number]
