"""A step is decided: the call, and everything that must hold then."""

from __future__ import annotations

from typing import Any

from proofs.source.objects.requests import Request, RequestStatus
from proofs.source.runs.due import Due, Judged, clauses_of, judged
from proofs.source.runs.goals import (
    CONSERVATION,
    as_asked_goals,
    flight_goals,
    known_goals,
    output_goals,
    victim_goals,
)
from proofs.source.runs.harness import Harness
from proofs.source.runs.keeping import (
    block_goals,
    demand_goals,
    handed_on,
    held_back_goals,
    order_goals,
    step_goals,
)
from proofs.source.runs.loads import load_goals
from proofs.source.runs.observe import Step
from proofs.source.runs.resting import resting_goals
from proofs.source.runs.shapes import Event
from spec.logic import ite, not_


def decide(h: Harness, _: Any = None) -> Any:
    """Call ``schedule()``; what it returned."""
    h.moment()
    return h.schedule()


def claims(h: Harness, _: Any, output: Any) -> list[Due]:
    """Everything about a step that has just been decided."""
    seen = Step(h, output)
    decisions = seen.decisions()
    h.record(seen, decisions)
    claimed = {request.request_id for request in h.judged}
    about = [d for d in decisions if d.request_id in claimed]
    due: list[Due] = [*judged([*about, *seen.advances(), seen.totals()])]
    # Under sync scheduling the counters settle when the step is booked; who is queued, now.
    due += [Judged(state, "" if h.is_async else CONSERVATION) for state in seen.states()]
    due += output_goals(h, output, seen.rows) + victim_goals(h) + order_goals(h)
    due += step_goals(h) + held_back_goals(h, decisions)
    handed_on(h, output)
    for request in h.judged:
        decision = next((d for d in decisions if d.request_id == request.request_id), None)
        due += flight_goals(h, request, seen.rows.get(request.request_id, 0))
        due += as_asked_goals(h, request) + known_goals(h, request) + load_goals(h, request)
        due += resting_goals(h, request) + demand_goals(h, request)
        due += block_goals(h, request, request.request_id in seen.rows)
        in_flight = _in_flight(h, seen, request)
        due.append(clauses_of(h, request, in_flight, not h.is_async, decision))
    return due


def _in_flight(h: Harness, seen: Step, request: Request) -> Any:
    """Sampled tokens and drafts in flight for a request after the step."""
    if request.status is not RequestStatus.RUNNING:
        return 0
    if h.features.async_scheduling or request.request_id not in seen.rows:
        return h.in_flight(request)
    s = h.config.num_sampled_tokens_per_step
    drafts = seen.draft_count(request)
    return ite(not_(request.is_prefill_chunk), s + drafts, 0)


STEP = Event(decide, claims, "rows")
