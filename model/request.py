"""A request as the scheduler sees it: counters only, no tokens.  Field names are vLLM's."""

from __future__ import annotations

from enum import Enum


class RequestStatus(Enum):
    """The life of a request."""

    __hash__ = object.__hash__  # members are singletons, and Enum's own hash is a Python call

    WAITING = "waiting"
    WAITING_FOR_REMOTE_KVS = "waiting for remote KV"
    RUNNING = "running"
    PREEMPTED = "preempted"
    FINISHED_STOPPED = "finished: stopped"
    FINISHED_LENGTH_CAPPED = "finished: length capped"
    FINISHED_ABORTED = "finished: aborted"


FINISHED = frozenset(
    {
        RequestStatus.FINISHED_STOPPED,
        RequestStatus.FINISHED_LENGTH_CAPPED,
        RequestStatus.FINISHED_ABORTED,
    }
)


class Request:
    """Mutable scheduling state of one request.

    Args:
        request_id: name, unique within a rank.
        num_prompt_tokens: P, tokens, at least 1.
        max_tokens: most output tokens the client asked for, at least 1.
        priority: smaller is more urgent; only read under priority scheduling.
        arrival_time: tie-breaker, in arrivals.
    """

    __slots__ = (
        "arrival_time",
        "is_prefill_chunk",
        "max_tokens",
        "num_blocks",
        "num_computed_tokens",
        "num_in_flight_tokens",
        "num_output_placeholders",
        "num_output_tokens",
        "num_preemptions",
        "num_prompt_tokens",
        "num_spec_tokens",
        "num_stale_output_tokens",
        "priority",
        "request_id",
        "status",
    )

    def __init__(
        self,
        request_id: str,
        num_prompt_tokens: int,
        max_tokens: int,
        priority: int = 0,
        arrival_time: int = 0,
    ) -> None:
        self.request_id = request_id
        self.num_prompt_tokens = num_prompt_tokens
        self.max_tokens = max_tokens
        self.priority = priority
        self.arrival_time = arrival_time
        self.status = RequestStatus.WAITING
        self.num_output_tokens = 0
        self.num_computed_tokens = 0
        """C: optimistic, includes rows whose output has not returned."""
        self.num_output_placeholders = 0
        """H: rows in flight that will sample (async scheduling)."""
        self.num_spec_tokens = 0
        """S: ``len(spec_token_ids)``, drafts waiting to be verified."""
        self.num_in_flight_tokens = 0
        """Rows scheduled whose output has not been booked."""
        self.num_stale_output_tokens = 0
        """Rows in flight from before a preemption; their output moves no counter but O."""
        self.is_prefill_chunk = False
        self.num_preemptions = 0
        self.num_blocks = 0
        """KV blocks held."""

    @property
    def num_tokens(self) -> int:
        """N = P + O."""
        return self.num_prompt_tokens + self.num_output_tokens

    @property
    def is_finished(self) -> bool:
        """No further step will look at this request."""
        return self.status in FINISHED

    def __repr__(self) -> str:
        return (
            f"Request({self.request_id}, {self.status.value}, N={self.num_tokens}, "
            f"C={self.num_computed_tokens}, H={self.num_output_placeholders}, "
            f"S={self.num_spec_tokens})"
        )
