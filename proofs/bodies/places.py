"""Who comes first: the place a request takes in a queue, and who is preempted, of any requests.

The scripts of ``passes`` play these with a few requests and a crowd; here two strangers stand in
the queue, and every counter of all three is arbitrary.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from proofs.frame import Frame, keeps_order
from proofs.harness import Harness
from spec.logic import all_of, any_of, not_

WAITS = RequestStatus.WAITING, RequestStatus.PREEMPTED
HOLDS = (RequestStatus.WAITING_FOR_REMOTE_KVS, *WAITS)
"""What requests do in ``waiting`` and in the queue of those that hold KV; who comes to that one
begins to load."""
STRANGERS = "first", "second"


def places(h: Harness) -> None:
    """A queue in order with one more request to come, or three that run and one to go."""
    if bool(h.truth("somebody has to go")):
        _who_goes(h)
    else:
        _who_waits(h)


def _who_waits(h: Harness) -> None:
    holds = bool(h.truth("the queue of those that hold KV"))
    new = h.request(HOLDS[0] if holds else h.one_of(WAITS))
    queue = [h.request(h.one_of(HOLDS if holds else WAITS, name), name) for name in STRANGERS]
    scheduler = h.scheduler(new)
    by_urgency = bool(h.config.priority_scheduling)
    h.context.assume(_in_order(*queue) if by_urgency else True)
    placed = list(queue)
    if holds:
        scheduler.kv_holding_waiting = placed
    else:
        scheduler.waiting = placed
    frames = _watch(h, scheduler, new, *queue)
    Scheduler._enqueue(scheduler, placed, new)
    _must_leave(h, frames, "scheduler.kv_holding_waiting" if holds else "scheduler.waiting")
    if by_urgency:
        strictly = all_of(*(_goes_before(one, two, new) for one, two in pairwise(placed)))
    else:
        strictly = placed == [*queue, new]
    complete = len(placed) == 3 and new in placed and keeps_order(queue, placed)
    h.must_be("progress", a_request_takes_its_place=all_of(strictly, complete))


def _who_goes(h: Harness) -> None:
    runs = [h.request(RequestStatus.RUNNING, name) for name in (*STRANGERS, "r")]
    scheduler = h.scheduler(runs[-1])
    scheduler.running = list(runs)
    frames = _watch(h, scheduler, *runs)
    victim = Scheduler.lowest_priority(scheduler)
    _must_leave(h, frames)
    if bool(h.config.priority_scheduling):
        least = all_of(*(_in_order(other, victim) for other in runs))
    else:
        least = victim is runs[-1]
    h.must_be("progress", the_least_urgent_is_chosen=least)
    h.must_be("progress", choosing_moves_nobody=scheduler.running == runs)


def _watch(h: Harness, scheduler: Scheduler, first: Request, *others: Request) -> Sequence[Frame]:
    h.watch(scheduler, first)
    return [Frame(request=other) for other in others]


def _must_leave(h: Harness, frames: Sequence[Frame], *moved: str) -> None:
    """Nothing of anybody changes."""
    h.must_leave(*moved)
    for frame in frames:
        for name, kept in frame.kept(()):
            h.must_be("request-conservation", **{f"{name} of another is left alone": kept})


def _in_order(one: Request, two: Request) -> bool:
    """Whether ``one`` may stand before ``two``: by priority, and by arrival where that is equal."""
    same = all_of(one.priority == two.priority, one.arrival_time <= two.arrival_time)
    return any_of(one.priority < two.priority, same)


def _goes_before(one: Request, two: Request, new: Request) -> bool:
    """The same where ``new`` may be one of them: it stands behind its equals."""
    equal = all_of(one.priority == two.priority, one.arrival_time == two.arrival_time)
    before = _in_order(one, two)
    return all_of(before, not_(equal)) if one is new else before
