"""A client goes away, or all do: ``finish_requests``, called as the engine's core calls it.

Aborts come between two steps, and while a step is in flight.  What one leaves of a request is what
a booking starts from (``bookings``, ``quiet_runs``): it is forgotten or, while its KV is on its
way, still known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from model.request import FINISHED
from proofs.source.entries import ABORTS
from proofs.source.objects.ids import id_of
from proofs.source.objects.requests import Request, RequestStatus
from proofs.source.runs.due import Due, Judged
from proofs.source.runs.ended import aborted_goals, alone_goals, ended_goals
from proofs.source.runs.goals import CONSERVATION
from proofs.source.runs.harness import Harness
from proofs.source.runs.keeping import block_goals, order_goals
from proofs.source.runs.places import queue_names
from proofs.source.runs.settled import request_state
from proofs.source.runs.shapes import Event
from spec.logic import implies

GONE, LOST = "gone", "lost"
"""Ids that the scheduler does not know any more."""


@dataclass(slots=True)
class Abort:
    """Who goes, and where everybody stood."""

    named: list[Any] | None
    """The ids the client names; None: everybody's, as when an engine pauses or stops."""
    aborted: tuple[Request, ...] = ()
    """Whose end that is."""
    is_alone: bool = False
    """The client names the one id, and no list of them."""
    stood: dict[str, list[str]] = field(default_factory=dict)
    """Request id → the queues it was in."""


# -- the states -----------------------------------------------------------------------------------


def aborting(h: Harness) -> Abort:
    """A running request is aborted, or one that waits, or two of either, or everybody, or nobody
    who still lives.

    Others that run, and a new one in front of who waits, are to be left alone.  There are three in
    all, as in other runs.
    """
    runs = bool(h.context.bool("a running request is aborted"))
    waits = bool(h.context.bool("a waiting request is aborted"))
    if runs != waits and bool(h.context.bool("another goes with it")):
        return _two_of_three(h, runs)
    running = _in_flight(h, "R")
    waiting = h.waiting("W")
    if runs and waits:
        _come_first(h, "V", waiting)
        return Abort(None, tuple(h.everyone))
    if runs:
        h.running("S")
        h.context.assume(h.config.max_num_seqs >= 2)
        return Abort(_ids(GONE, "R", LOST, "R"), (running,))
    if waits:
        _come_first(h, "V", waiting)
        return Abort(_ids("W"), (waiting,), is_alone=True)
    if h.features.connector:
        aborted_while_loading(h, "V")
    return Abort(_ids("V", GONE))


def _two_of_three(h: Harness, run: bool) -> Abort:
    """Two that run are aborted beside a third, or two that wait."""
    if run:
        gone = (_in_flight(h, "R"), h.running("S"))
        h.running("T")
        h.context.assume(h.config.max_num_seqs >= 3)
        return Abort(_ids("R", GONE, "S"), gone)
    waiting = h.waiting("W")
    first = _come_first(h, "V", waiting)
    _come_first(h, "U", first)
    return Abort(_ids("V", "W"), (first, waiting))


def aborted_while_loading(h: Harness, name: str) -> Request:
    """A request that was aborted before its KV arrived: it is known until then, in no queue."""
    request = h.request(name, RequestStatus.WAITING_FOR_REMOTE_KVS)
    h.suppose(request, 0)
    request.status = RequestStatus.FINISHED_ABORTED
    return request


def _ids(*names: str) -> list[Any]:
    return [id_of(name) for name in names]


def _in_flight(h: Harness, name: str) -> Request:
    """A running request between two steps or, where these do not overlap, before its booking."""
    if h.is_async:
        return h.running(name)
    request = h.request(name, RequestStatus.RUNNING)
    rows: Any = h.context.int(f"{name} rows in flight", 0)
    pending: Any = h.context.int(f"{name} rows that will sample", 0)
    h.context.assume(implies(rows == 0, pending == 0))
    request.num_in_flight_tokens = rows
    h.suppose(request, pending, mid_step=True)
    h.scheduler.running.append(request)
    return request


def _come_first(h: Harness, name: str, other: Request) -> Request:
    """A request of which nothing is computed, in front of another if that is in the same queue."""
    request = h.request(name, RequestStatus.WAITING)
    h.suppose(request, 0)
    for nothing in (
        request.num_preemptions,
        request.num_output_tokens,
        request.num_computed_tokens,
        request.num_in_flight_tokens,
    ):
        h.context.assume(nothing == 0)
    if h.features.priority is not False:
        h.context.assume(request.priority < other.priority)
    h.scheduler.waiting.prepend_request(request)
    return request


# -- the call -------------------------------------------------------------------------------------


def _abort(h: Harness, abort: Abort) -> Any:
    """The engine passes on what the client says; what the text returned."""
    moment = h.moment()
    moment.only_books = True
    names = abort.named or [request.request_id for request in abort.aborted]
    moment.aborted += dict.fromkeys(names)
    abort.stood = {request.request_id: _queues(h, request) for request in h.everyone}
    named = abort.named[0] if abort.named and abort.is_alone else abort.named
    return getattr(h.scheduler, ABORTS)(named, RequestStatus.FINISHED_ABORTED)


def _queues(h: Harness, request: Request) -> list[str]:
    """The queues a request is in, each as often as it is in it."""
    queues = {name: getattr(h.scheduler, name).shown__ for name in queue_names(h.scheduler)}
    queues |= {"running": h.scheduler.running}
    return [name for name, queue in queues.items() for one in queue if one is request]


# -- what must hold -------------------------------------------------------------------------------


def _claims(h: Harness, abort: Abort, _: Any) -> list[Due]:
    """Who is aborted has ended; all others are as they were, those included that had ended."""
    due: list[Due] = []
    for request in h.everyone:
        name, ends = request.request_id, any(request is one for one in abort.aborted)
        # Before a booking the counters of who goes on do not add up yet.
        due.append(Judged(request_state(h, request), "" if ends else CONSERVATION))
        due += block_goals(h, request)
        if ends:
            due += aborted_goals(h, request)
        elif h.before[name].status in FINISHED:
            due += ended_goals(h, request, has_left=False)
        else:
            due += alone_goals(h, request, abort.stood[name] == _queues(h, request))
    return due + order_goals(h)


ABORT = Event(_abort, _claims, "abort")
