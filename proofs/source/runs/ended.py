"""What must hold of a request that a client aborted, and of all that nothing happened to."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from model.request import RequestStatus as ModelStatus
from proofs.source.objects.freeset import has
from proofs.source.objects.requests import Request, RequestStatus
from proofs.source.runs.carried import LOADED
from proofs.source.runs.goals import (
    AS_ASKED,
    CONSERVATION,
    IN_FLIGHT,
    Goal,
    as_asked_goals,
    known_goals,
    plain,
)
from proofs.source.runs.harness import Harness
from proofs.source.runs.keeping import BLOCKS
from proofs.source.runs.loads import INVARIANT as LOADING
from proofs.source.runs.loads import is_loading
from proofs.source.runs.state import View
from spec.claims import Claim
from spec.logic import any_of, ite

WORKERS = "finished_req_ids"
"""The attribute of a scheduler in which the workers are told whom they may forget."""
REQUESTS = "any-requests"
"""The value of a row whose attribute is a set of requests that wait."""
_COUNTED = [
    field.name
    for field in fields(View)
    if field.name not in ("request_id", "status", "is_prefill_chunk", "num_blocks", *AS_ASKED)
]


def aborted_goals(harness: Harness, request: Request) -> list[Goal]:
    """It ends as the client says, nothing that waits holds it, and workers that know it are told.

    While its KV is being loaded its blocks are written to, and it stays known for their sake.
    """
    name, was, scheduler = request.request_id, harness.before[request.request_id], harness.scheduler
    told = int(request.status is RequestStatus.FINISHED_ABORTED)
    goals = [_goal(CONSERVATION, "ends_as_the_client_says", name, told, "==", 1)]
    ran = was.status is ModelStatus.RUNNING
    if hasattr(scheduler, WORKERS):
        knew = ite(any_of(ran, request.num_preemptions > 0), 1, 0)
        told = ite(has(name, getattr(scheduler, WORKERS)), 1, 0)
        goals.append(_goal(CONSERVATION, "workers_are_told", name, told, ">=", knew))
    for attribute, row in harness.loaded.host.profile.states:
        if row.value == REQUESTS and not ran and hasattr(scheduler, attribute):
            held = ite(has(request, getattr(scheduler, attribute)), 1, 0)
            goals.append(_goal(CONSERVATION, f"leaves_{attribute}", name, held, "==", 0))
    return goals + ended_goals(harness, request, has_left=not is_loading(harness, name))


def ended_goals(harness: Harness, request: Request, *, has_left: bool) -> list[Goal]:
    """A request that has ended is forgotten with its blocks, if it has left.

    Otherwise neither happens yet: a load that nobody could stop still writes to the blocks.
    """
    name, was, scheduler = request.request_id, harness.before[request.request_id], harness.scheduler
    known, freed = scheduler.requests.get(name) is request, harness.world.given_back.count(name)
    noted = name in getattr(scheduler, LOADED, ())
    held = was.status not in (ModelStatus.WAITING, ModelStatus.PREEMPTED)
    least = ite(any_of(held, was.num_computed_tokens > 0), 1, 0) if has_left else 0
    return [
        _goal(CONSERVATION, "known_until_it_left", name, int(known), "==", int(not has_left)),
        _goal(BLOCKS, "blocks_of_who_left", name, freed, ">=", least),
        _goal(BLOCKS, "blocks_go_back_once", name, freed, "<=", int(has_left)),
        _goal(LOADING, "load_is_forgotten", name, int(noted), "==", 0),
    ]


def alone_goals(harness: Harness, request: Request, in_place: bool) -> list[Goal]:
    """Nothing happened to a request: it stands where it stood, and has the counters it had.

    So every clause holds of it that held before.
    """
    name, was, now = request.request_id, harness.before[request.request_id], harness.view(request)
    stays = int(in_place and now.status is was.status)
    goals = [
        *as_asked_goals(harness, request),
        *known_goals(harness, request),
        _goal(CONSERVATION, "stays_where_it_was", name, stays, "==", 1),
        _goal(BLOCKS, "keeps_its_blocks", name, harness.world.given_back.count(name), "==", 0),
    ]
    for counter in _COUNTED:
        claim = Claim({counter: getattr(now, counter)}, "==", {"before": getattr(was, counter)})
        goals.append(plain(IN_FLIGHT, f"{counter}_as_before", name, claim))
    prefills = [ite(view.is_prefill_chunk, 1, 0) for view in (now, was)]
    goals.append(_goal(IN_FLIGHT, "prefills_as_before", name, prefills[0], "==", prefills[1]))
    return goals


def _goal(invariant: str, name: str, request: str, left: Any, relation: str, right: Any) -> Goal:
    words = name.replace("_", " ")
    return plain(invariant, name, request, Claim({words: left}, relation, {"due": right}))
