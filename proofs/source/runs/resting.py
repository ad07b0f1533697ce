"""What a run supposes of a waiting request where it starts, claimed of it where a run ends.

The clauses say what counters a step starts from; the harness supposes some things besides, so that
a run has fewer cases.  What is supposed of a state and proved of no other would be a hole.
"""

from __future__ import annotations

from typing import Any

from proofs.source.objects.requests import Request, RequestStatus
from proofs.source.runs.goals import CONSERVATION, IN_FLIGHT, Goal, plain
from proofs.source.runs.harness import Harness
from proofs.source.runs.places import loads, places
from spec.claims import Claim
from spec.logic import all_of, implies, ite, not_


def resting_goals(harness: Harness, request: Request) -> list[Goal]:
    """A waiting request is as `Harness.waiting` makes one, and stands where it would be put."""
    if request.status is RequestStatus.RUNNING or request.status > RequestStatus.PREEMPTED:
        return []
    goals = [
        _holds(CONSERVATION, f"may_stand_in_{queue}", request, may)
        for queue, may in places(harness, request).items()
        if any(other is request for other in getattr(harness.scheduler, queue).shown__)
    ]
    was_preempted = request.num_preemptions > 0
    untouched = all_of(
        request.num_output_tokens == 0,
        request.num_in_flight_tokens == 0,
        not_(request.is_prefill_chunk),
    )
    new = implies(not_(was_preempted), untouched)
    goals.append(_holds(IN_FLIGHT, "nothing_of_a_new_request", request, new))
    computed = request.num_computed_tokens
    if loads(request):
        goals.append(_holds("async-load-idle", "loads_something", request, computed >= 1))
        return goals
    told = request.status is RequestStatus.PREEMPTED
    known = was_preempted if told else not_(was_preempted)
    goals.append(_holds(CONSERVATION, "preempted_by_its_status", request, known))
    if harness.world.is_alone:
        goals.append(_holds(IN_FLIGHT, "nothing_computed_while_waiting", request, computed == 0))
    return goals


def _holds(invariant: str, name: str, request: Request, formula: Any) -> Goal:
    words = name.replace("_", " ")
    return plain(
        invariant, name, request.request_id, Claim({words: ite(formula, 1, 0)}, "==", {"1": 1})
    )
