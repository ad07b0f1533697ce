"""Runs in which nothing happens to anybody but one: an arrival, a booking without rows, a load that
ends."""

from __future__ import annotations

from typing import Any

from proofs.source.bookings import update
from proofs.source.carried import LOADED, make_arbitrary
from proofs.source.due import Due, clauses_of, judged
from proofs.source.goals import as_asked_goals, flight_goals, known_goals, plain
from proofs.source.harness import Harness
from proofs.source.keeping import block_goals, order_goals
from proofs.source.places import loads
from proofs.source.requests import Request
from proofs.source.resting import resting_goals
from proofs.source.settled import request_state
from proofs.source.stubs import Record
from spec import assumptions as spec_world
from spec.claims import Claim


def arrived(h: Harness) -> list[Due]:
    """A request arrives while another runs and a third waits."""
    h.running("R")
    h.waiting("W")
    h.others_wait()
    context = h.context
    prompt: Any = context.int("A num_prompt_tokens", 1)
    most: Any = context.int("A max_tokens", 1)
    h.assume(spec_world.PROMPT_FITS, h.config, prompt)
    request = Request(h.loaded.host, "A", prompt, most)
    make_arbitrary(h.world, request, arrives=True)
    if h.features.priority is not False:
        request.priority = context.int("A priority")
        request.arrival_time = context.int("A arrival_time", 0)
    h.everyone.append(request)
    h.arbitrary_state()
    h.snapshot()
    moment = h.moment()
    moment.only_books = True
    moment.arrived.append((request.request_id, prompt, most, request.priority))
    h.scheduler.add_request(request)
    return _left_alone(h)


def _left_alone(h: Harness) -> list[Due]:
    """What must hold where nothing happened to anybody."""
    due: list[Due] = [*judged(request_state(h, r) for r in h.everyone)]
    for one in h.everyone:
        due += as_asked_goals(h, one) + known_goals(h, one)
        due += flight_goals(h, one, 0) + resting_goals(h, one) + block_goals(h, one)
        ran = any(one is other for other in h.ran_before)
        due.append(clauses_of(h, one, h.in_flight(one) if ran else 0))
    return due + order_goals(h)


def booked_nobody(h: Harness) -> list[Due]:
    """A step in which nobody got rows comes back: all wait, or load their KV."""
    h.running("R")
    h.waiting("W")
    h.arbitrary_state()
    h.snapshot()
    update(h, [])
    return _left_alone(h)


def booked_load(h: Harness) -> list[Due]:
    """A step without rows comes back, and with it the end of a load: it is remembered, until a step
    looks at the request."""
    waiting = h.waiting("W")
    name, done = waiting.request_id, getattr(h.scheduler, LOADED)
    h.arbitrary_state()
    h.snapshot()
    was_done = name in h.loaded_before
    ends = loads(waiting) and not was_done and bool(h.context.bool(f"KV of {name} has arrived"))
    fields = {"finished_recving": {name} if ends else None, "finished_sending": None}
    update(h, [], Record(h.loaded.host, "KVConnectorOutput", fields))
    noted = Claim({"noted as loaded": int(name in done)}, "==", {"loaded": int(was_done or ends)})
    return [*_left_alone(h), plain("progress", "a_load_is_remembered", name, noted)]
