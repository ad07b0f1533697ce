"""What a run leaves as it has to: KV blocks of who lives, the order of who runs, its output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from model.request import RequestStatus as ModelStatus
from proofs.source.objects.requests import Request, RequestStatus
from proofs.source.objects.stubs import Record, constant_of
from proofs.source.runs.goals import Goal, plain
from proofs.source.runs.harness import Harness
from proofs.source.runs.places import loads
from spec.claims import Claim
from spec.logic import all_of, any_of, ite, not_
from spec.records import SCHEDULED, Decision

BLOCKS = "block-accounting"
AHEAD = "num_lookahead_tokens"
"""The attribute of a scheduler that says how many slots a drafter writes ahead."""
OUTPUT = "SchedulerOutput"
DECIDED = "num_spec_tokens_to_schedule"
"""A field of the output in which a step tells itself K, and forks their own number (since 0.30)."""


def block_goals(harness: Harness, request: Request, gets_rows: bool = False) -> list[Goal]:
    """Who runs, loads, or waits with something computed keeps its KV blocks; what others may find
    in the prefix cache is computed.

    Args:
        gets_rows: the step just decided computes some of it, which the pool publishes then, too.
    """
    name = request.request_id
    goals = []
    for cached, computed in harness.world.published.get(name, ()):
        if gets_rows:
            sent = request.num_computed_tokens
            computed = ite(sent <= request.num_tokens, sent, request.num_tokens)
        claim = Claim({"cached": cached}, "<=", {"computed": computed})
        goals.append(plain(BLOCKS, "cached_is_computed", name, claim))
    if name not in harness.world.freed or request.status > RequestStatus.PREEMPTED:
        return goals
    lives = request.status is RequestStatus.RUNNING or loads(request)
    needs = ite(any_of(lives, request.num_computed_tokens > 0), 1, 0)
    claim = Claim({"KV blocks": 0}, ">=", {"needed": needs})
    return [*goals, plain(BLOCKS, "blocks_of_who_lives", name, claim)]


def demand_goals(harness: Harness, request: Request) -> list[Goal]:
    """After a step: nobody asked the pool for more tokens than it got rows for.  A pool that could
    serve it would have refused."""
    name, world = request.request_id, harness.world
    if name not in world.served or request.status is not RequestStatus.RUNNING:
        return []
    asked, computed = world.slots.get(name, 0), request.num_computed_tokens
    most = Claim({"tokens asked for": asked}, "<=", {"num_computed_tokens": computed})
    goals = [plain(BLOCKS, "no_more_blocks_than_rows", name, most)]
    handed, counted = world.handed[name]
    whole = Claim({"tokens of cached blocks": handed}, "==", {"num_new_computed_tokens": counted})
    goals.append(plain(BLOCKS, "blocks_of_what_is_counted", name, whole))
    ahead = getattr(harness.scheduler, AHEAD, None)
    if ahead is not None and harness.before[name].status is ModelStatus.RUNNING:
        slots = Claim({"look-ahead slots": world.ahead[name]}, "==", {AHEAD: ahead})
        goals.append(plain(BLOCKS, "slots_for_the_drafter", name, slots))
    return goals


def step_goals(harness: Harness) -> list[Goal]:
    """The pool is told once that a step begins, and who holds KV is looked at first.

    A request that holds blocks behind one that finds none is never served again, when nothing
    runs that could be preempted (#45388, #57841).
    """
    world, holders = harness.world, harness.holders
    told = Claim({"steps begun": world.begun}, "==", {"1": 1})
    goals = [plain(BLOCKS, "a_step_begins_in_the_pool", "", told)]
    for name in sorted(holders):
        seen = world.looked.index(name) if name in world.looked else len(world.looked)
        others = [other for other in world.looked[:seen] if other not in holders]
        first = Claim({"requests looked at before": len(others)}, "==", {"0": 0})
        goals.append(plain("progress", "who_holds_kv_comes_first", name, first))
    return goals


def order_goals(harness: Harness) -> list[Goal]:
    """Running requests keep their order, and who is admitted comes last.

    A step preempts from the end, as `progress` takes it to do.
    """
    ran = harness.ran_before
    order = [request for request in ran if request.status is RequestStatus.RUNNING]
    runs = [r for r in harness.scheduler.running if any(r is other for other in harness.everyone)]
    stay = [r for r in runs if r.status is RequestStatus.RUNNING]
    first = stay[: len(order)]
    kept = len(first) == len(order) and all(a is b for a, b in zip(first, order, strict=True))
    claim = Claim({"in order": int(kept)}, "==", {"1": 1})
    return [plain("progress", "running_keeps_its_order", "", claim)]


def held_back_goals(harness: Harness, decisions: Iterable[Decision]) -> list[Goal]:
    """A step that is told to hold prefills back gives none rows where somebody decodes, unless the
    step before found more waiting than can be held back."""
    if not harness.features.holds_back:
        return []
    ran = [harness.before[request.request_id] for request in harness.ran_before]
    decodes = any_of(*(not_(was.is_prefill_chunk) for was in ran))
    return [
        plain(
            "uniform-decode",
            "prefills_are_held_back",
            d.request_id,
            Claim(
                {"num_scheduled_tokens": d.num_scheduled_tokens},
                "==",
                {"0": 0},
                when=all_of(d.outcome == SCHEDULED, waits, decodes, not_(harness.is_bound)),
            ),
        )
        for d in decisions
        for left in [d.num_tokens - d.num_computed_tokens]
        for waits in [left > 1 if d.from_waiting else d.is_prefill]
    ]


def handed_on(harness: Harness, output: Any) -> None:
    """A booking is run on an output made for it: what a step sets in one has to be its row's.

    Otherwise the booking would read what the profile says, and not what the step has written.
    ``DECIDED`` a booking cannot look at.
    """
    fields: Iterable[tuple[str, Any]] = vars(output).items() if isinstance(output, Record) else ()
    nothing = object()
    for name, value in list(fields):
        usual = nothing if name == DECIDED else constant_of(output, name, nothing)
        if usual is nothing or (type(value) is type(usual) and value == usual):
            continue
        host = harness.loaded.host
        line = f"{OUTPUT}.{name} | const | {usual!r} | | | why this choice is sound"
        host.unknown_state(f"{OUTPUT}.{name}", harness.loaded.place_of(name), line)
