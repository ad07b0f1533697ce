"""Runs in which nothing happens to anybody but one: an arrival, a booking without rows, a load that
ends."""

from __future__ import annotations

from typing import Any

from model.request import FINISHED
from proofs.source.entries import ABORTS
from proofs.source.objects.requests import Request
from proofs.source.objects.stubs import Record
from proofs.source.runs.aborts import aborted_while_loading
from proofs.source.runs.bookings import Share, update
from proofs.source.runs.carried import LOADED, make_arbitrary
from proofs.source.runs.due import Due, clauses_of, judged
from proofs.source.runs.ended import ended_goals
from proofs.source.runs.goals import as_asked_goals, flight_goals, known_goals, plain
from proofs.source.runs.harness import Harness
from proofs.source.runs.keeping import block_goals, order_goals
from proofs.source.runs.places import loads
from proofs.source.runs.resting import resting_goals
from proofs.source.runs.settled import request_state
from proofs.source.runs.shapes import Event
from spec import assumptions as spec_world
from spec.claims import Claim


def arriving(h: Harness) -> Request:
    """One request runs, another waits, and a third is about to arrive."""
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
    return request


def _arrive(h: Harness, request: Request) -> None:
    """It arrives."""
    moment = h.moment()
    moment.only_books = True
    told = request.num_prompt_tokens, request.max_tokens, request.priority
    moment.arrived.append((request.request_id, *told))
    h.scheduler.add_request(request)


def _left_alone(h: Harness, *_: Any) -> list[Due]:
    """What must hold where nothing happened to anybody."""
    due: list[Due] = [*judged(request_state(h, r) for r in h.everyone)]
    for one in h.everyone:
        due += as_asked_goals(h, one) + known_goals(h, one)
        due += flight_goals(h, one, 0) + resting_goals(h, one) + block_goals(h, one)
        ran = any(one is other for other in h.ran_before)
        due.append(clauses_of(h, one, h.in_flight(one) if ran else 0))
    return due + order_goals(h)


ARRIVAL = Event(_arrive, _left_alone, "arrival")


def nobody_ran(h: Harness) -> list[Share]:
    """A step in which nobody got rows: all wait, or load their KV."""
    h.running("R")
    h.waiting("W")
    return []


NOTHING = Event(update, _left_alone, "output")
"""A step in which nobody got rows comes back."""


def loading(h: Harness) -> Request:
    """One request waits, perhaps for its KV, or a client has aborted it while it did."""
    if ABORTS in h.loaded.mentioned and bool(h.context.bool("W was aborted")):
        return aborted_while_loading(h, "W")
    return h.waiting("W")


def _end_load(h: Harness, waiting: Request) -> Any:
    """A step without rows comes back, and with it perhaps the end of the request's load."""
    name, was_done = waiting.request_id, waiting.request_id in h.loaded_before
    waits = waiting.is_finished() or (loads(waiting) and not was_done)
    ends = waits and bool(h.context.bool(f"KV of {name} has arrived"))
    fields = {"finished_recving": {name} if ends else None, "finished_sending": None}
    returned = update(h, [], Record(h.loaded.host, "KVConnectorOutput", fields))
    h.moments[-1].loaded += [name] * ends
    return returned


def _remembered(h: Harness, waiting: Request, _: Any) -> list[Due]:
    """The end of a load is remembered, until a step looks at the request; who was aborted goes."""
    name, done = waiting.request_id, getattr(h.scheduler, LOADED)
    if h.before[name].status in FINISHED:
        state = judged([request_state(h, waiting)])
        return [*state, *ended_goals(h, waiting, has_left=name in h.moments[-1].loaded)]
    ended = name in h.loaded_before or name in h.moments[-1].loaded
    noted = Claim({"noted as loaded": int(name in done)}, "==", {"loaded": int(ended)})
    return [*_left_alone(h), plain("progress", "a_load_is_remembered", name, noted)]


END_OF_LOAD = Event(_end_load, _remembered, "end of a load")
