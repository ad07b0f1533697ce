"""Who comes first: the place a request takes in a queue, and who is preempted, of any requests.

The scripts of ``passes`` play these with a few requests; here two strangers stand in the queue, and
every counter of all three is arbitrary.
"""

from __future__ import annotations

from itertools import pairwise

from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from proofs.harness import Harness
from spec.logic import all_of, any_of

WAITS = RequestStatus.WAITING, RequestStatus.WAITING_FOR_REMOTE_KVS, RequestStatus.PREEMPTED
STRANGERS = "first", "second"


def places(h: Harness) -> None:
    """A queue in order, one more request, and the running request that has to go."""
    new = h.request(h.one_of(WAITS))
    queue = [h.request(status, name) for status, name in zip(WAITS, STRANGERS, strict=False)]
    scheduler = h.scheduler(new)
    by_urgency = bool(h.config.priority_scheduling)
    h.context.assume(_in_order(*queue) if by_urgency else True)

    scheduler.waiting = list(queue)
    Scheduler._enqueue(scheduler, scheduler.waiting, new)
    placed = scheduler.waiting
    if by_urgency:
        sorted_ = all_of(*(_in_order(one, two) for one, two in pairwise(placed)))
    else:
        sorted_ = placed == [*queue, new]
    complete = len(placed) == 3 and all(r in placed for r in (*queue, new))
    h.must_be("progress", a_request_takes_its_place=all_of(sorted_, complete))

    scheduler.running = [*queue, new]
    victim = Scheduler.lowest_priority(scheduler)
    if by_urgency:
        least = all_of(*(_in_order(other, victim) for other in scheduler.running))
    else:
        least = victim is new
    h.must_be("progress", the_least_urgent_is_chosen=least)


def _in_order(one: Request, two: Request) -> bool:
    """Whether ``one`` may stand before ``two``: by priority, and by arrival where that is equal."""
    same = all_of(one.priority == two.priority, one.arrival_time <= two.arrival_time)
    return any_of(one.priority < two.priority, same)
