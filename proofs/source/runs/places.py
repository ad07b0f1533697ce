"""In which of a text's waiting queues a request may stand between two steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proofs.source.errors import SourceError
from proofs.source.objects.requests import Request, RequestStatus
from spec.logic import all_of, any_of, not_

if TYPE_CHECKING:
    from proofs.source.runs.harness import Harness

KV_HOLDING, SKIPPED, WAITING = WAITING_QUEUES = ("kv_holding_waiting", "skipped_waiting", "waiting")
"""In the order in which a text that has them serves them, first come first served."""


def queue_names(scheduler: Any) -> list[str]:
    """The waiting queues a scheduler keeps, in the order they are served."""
    return [queue for queue in WAITING_QUEUES if hasattr(scheduler, queue)]


def loads(request: Request) -> bool:
    """Whether a request waits for its KV to arrive."""
    return request.status is RequestStatus.WAITING_FOR_REMOTE_KVS


def places(harness: Harness, request: Request) -> dict[str, Any]:
    """Queue → whether the text may keep such a waiting request in it.

    Up to 0.30 whom a step has passed over stays in a queue of those, as does who loads; only a
    connector or stale output makes a step pass over someone.  Since 0.31 who holds KV has a queue
    of its own: what a request has computed tells who that is, unless it is of one token, of which
    a load brings none that counts.  Two texts that are compared must both know the queue: what only
    one of them tells apart is no state of the other.
    """
    queues, known = queue_names(harness.scheduler), harness.loaded.mentioned
    loading, connected = loads(request), harness.features.connector is True
    may: dict[str, Any] = {WAITING: True}
    if SKIPPED in queues:
        passed_over = connected or (harness.is_async and harness.tracks_flight)
        may = {SKIPPED: loading or (passed_over and SKIPPED in known), WAITING: not loading}
    if KV_HOLDING in queues:
        holds = any_of(loading, request.num_computed_tokens > 0)
        is_short = request.num_tokens == 1 if connected and KV_HOLDING in known else False
        others = {queue: all_of(possible, not_(holds)) for queue, possible in may.items()}
        may = {KV_HOLDING: any_of(holds, is_short)} | others
    return may


def enqueue(harness: Harness, request: Request, anywhere: bool = True) -> None:
    """Into a queue in which the text may keep such a request.

    ``anywhere``: where there are several, any of them; otherwise the last one served.
    """
    if WAITING not in queue_names(harness.scheduler):
        raise SourceError("the scheduler has no attribute `waiting`: renamed?", 3)
    may = list(places(harness, request).items())
    if not anywhere:
        may.reverse()
    at = next(n for n, _ in enumerate(may) if _is_put(harness, request, may[n:], anywhere))
    getattr(harness.scheduler, may[at][0]).add_request(request)


def _is_put(harness: Harness, request: Request, may: list[tuple[str, Any]], anywhere: bool) -> bool:
    (_, here), *others = may
    if not others or not bool(here):
        return not others
    if not anywhere:
        return True
    asked = f"{request.request_id} stands apart"
    elsewhere = any_of(*(there for _, there in others))
    return not bool(elsewhere) or bool(harness.context.bool(asked))
