"""Loads of KV: which are due is what the connector says, not what the text makes of it.

What the text calls a load would excuse a step that gives no rows, so none of this is read off it.
"""

from __future__ import annotations

from typing import Any

from model.request import RequestStatus as ModelStatus
from proofs.source.objects.requests import Request
from proofs.source.objects.world import World
from proofs.source.runs.carried import LOADED
from proofs.source.runs.goals import Goal, plain
from proofs.source.runs.harness import Harness
from proofs.source.runs.places import loads
from spec.claims import Claim
from spec.logic import all_of, any_of, ite

INVARIANT = "async-load-idle"


def is_loading(harness: Harness, name: str) -> bool:
    """Whether a request's KV was still on its way when the step began."""
    was = harness.before[name].status
    return was is ModelStatus.WAITING_FOR_REMOTE_KVS and name not in harness.loaded_before


def starts_to_load(harness: Harness, request: Request) -> bool:
    """Whether the step begins to load a request's KV; that it may, `load_goals` claims."""
    name = request.request_id
    was_loading = harness.before[name].status is ModelStatus.WAITING_FOR_REMOTE_KVS
    again = name in harness.loaded_before and name in harness.world.served
    return loads(request) and (again or not was_loading)


def found(world: World, name: str) -> Any:
    """Tokens found for a waiting request, in the cache or by the connector.

    A connector is asked beyond a part of the local hit, the whole blocks of it; what it has
    counts only where it reaches farther than the hit does.
    """
    hit = world.hits.get(name, 0)
    if name not in world.matches:
        return hit
    return ite(_reaches_farther(world, name), world.local[name] + world.matches[name][0], hit)


def load_goals(harness: Harness, request: Request) -> list[Goal]:
    """Who loads after a step: whose load was not done, and for whom the connector starts one.

    A load that is done is over once the step looks at the request (that it has to is `progress`),
    and then forgotten: the next one is not done yet.
    """
    world, name = harness.world, request.request_id
    if not world.connector:
        return []
    now, noted = loads(request), name in getattr(harness.scheduler, LOADED)
    goals = [_goal("load_is_forgotten", name, {"noted as loaded": int(noted and not now)}, "==", 0)]
    was = harness.before[name].status
    if was is ModelStatus.RUNNING:
        return goals
    unseen = was is ModelStatus.WAITING_FOR_REMOTE_KVS and name not in world.looked
    goes_on = is_loading(harness, name)
    by_itself = name in world.served and name in world.matches and world.matches[name][1]
    due = False if by_itself is False else all_of(by_itself, _reaches_farther(world, name))
    loading = {"loading": int(now)}
    may, must = any_of(goes_on, unseen, by_itself), any_of(goes_on, due)
    goals.append(_goal("loads_only_when_told", name, loading, "<=", ite(may, 1, 0)))
    goals.append(_goal("loads_when_told", name, loading, ">=", ite(must, 1, 0)))
    return goals


def _goal(claim: str, name: str, left: dict[str, Any], relation: str, right: Any) -> Goal:
    return plain(INVARIANT, claim, name, Claim(left, relation, {"as the connector says": right}))


def _reaches_farther(world: World, name: str) -> Any:
    hit, local = world.hits.get(name, 0), world.local[name]
    return local + world.matches[name][0] > hit
