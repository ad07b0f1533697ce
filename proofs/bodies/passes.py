"""The loops around the bodies: every order of outcomes that three requests can have.

The other bodies are proved for an arbitrary request in an arbitrary step.  That a pass applies them
to every request, in order, until one of them ends the pass, is shown here on the model's own loops
and queues: the decisions are read from a script (``script``), and all scripts are played.  A loop
treats its third turn as its second, so three requests show what any number would; it sees no number
and no knob (``sealed``), so these requests under these knobs show what any would.

What goes with a script (the order of the requests, what each of them has been through, what the
other queues hold and are told) changes from one to the next, so that nothing always comes together,
at a small part of what all combinations would cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, cycle, islice, permutations, product
from operator import attrgetter

from model.environment import Quiet
from model.policies import RECOMMENDED
from model.request import FINISHED, Request, RequestStatus
from model.scheduler import Scheduler
from proofs.bodies.cast import HOLDS, RUNS, WAITS, cast, give_parts, urgency
from proofs.bodies.counting import COUNTS, unfit
from proofs.bodies.expected import expected
from proofs.bodies.script import (
    KEPT_BY_A_PREEMPTION,
    PREEMPTS,
    PREEMPTS_TWO,
    PREFILLS,
    Endless,
    Scripted,
    sealed,
)
from proofs.bodies.sealed import SEES, Peeked, Seal
from proofs.goal import Goal
from proofs.harness import Harness
from spec.config import Config
from spec.records import BLOCKED, LOADING, SCHEDULED, SKIPPED, Attention

RUNNING_TURNS = (SCHEDULED, PREFILLS, SKIPPED, BLOCKED, PREEMPTS, PREEMPTS_TWO)
WAITING_TURNS = (SCHEDULED, SKIPPED, BLOCKED, LOADING)
NUM_REQUESTS = 3
"""Requests of the pass whose scripts are all played; as many are in the other queues."""
ORDERS = tuple(permutations(range(2 * NUM_REQUESTS)))
STRIDE = 277
"""From one order to the next: all have their turn, and neighbours have little in common."""
BESIDE_RUNNING = tuple(product(WAITING_TURNS, repeat=NUM_REQUESTS))
BESIDE_WAITING = tuple(
    turns for n in range(NUM_REQUESTS + 1) for turns in product(RUNNING_TURNS[:-2], repeat=n)
)
"""What the other pass is told meanwhile; after a preemption nobody waits for a turn."""
ENDS = tuple(status for status in RequestStatus if status in FINISHED)
CROWD = 100
"""A pass of this many requests is played too; no loop counts (``counting``)."""
SHORT = 300
"""So many run when the pool is short for one of them: there the body counts its victims."""
SIZES = {
    "max_model_len": 4096,
    "max_num_scheduled_tokens": 8192,
    "max_num_batched_tokens": 16384,
    "max_num_seqs": 1024,
    "num_gpu_blocks": 8192,
}
"""Room for all of them; no loop sees it."""

SERVES = {
    "every running request has its turn": "progress",
    "every waiting request has its turn": "progress",
    "turns in queue order": "progress",
    "nobody overtakes who stops the pass": "progress",
    "queues in order of arrival or urgency": "progress",
    "admitted requests run last, in order": "progress",
    "the last or the least urgent is preempted": "progress",
    "as many are preempted as it takes": "progress",
    "only priority scheduling withdraws rows": "uniform-decode",
    "no admission after a preemption": "within-budget",
    "the counters advance once per scheduled request": "placeholder-accounting",
    "the loops change nothing else": "placeholder-accounting",
    "streams keep their slots": "request-conservation",
    "each request in one queue": "request-conservation",
    "who ends leaves the others in their places": "request-conservation",
    "every block is free or held": "block-accounting",
}
"""What the other bodies rest on → the catalogue id at stake when a loop breaks it."""
TURNS = {"every running request has its turn", "every waiting request has its turn"}
_kept_by_a_preemption = attrgetter(*KEPT_BY_A_PREEMPTION)
Kept = Iterator[tuple[str, bool]]
"""An entry of ``SERVES``, and whether it was kept."""


def passes(h: Harness) -> None:
    """One goal per entry of ``SERVES``: it holds under every script."""
    if h.config.mamba_align:  # the scripts bring their own configurations: one path plays them
        return
    for what in unfit():
        h.context.note(f"{COUNTS}: {what}")
    broken = {name for name, holds in all_scripts() if not holds}
    h.goals += [Goal(served, name, name not in broken) for name, served in SERVES.items()]
    # A loop that looks may do anything otherwise for other requests or knobs.
    h.goals += [Goal(served, SEES, SEES not in broken) for served in dict.fromkeys(SERVES.values())]
    h.observe(Attention(h.config, "any", broken.isdisjoint(TURNS), excused=False))


def all_scripts() -> Kept:
    """Every promise of every script."""
    serial = count()
    for priority in (False, True):
        config = Config.checked(**SIZES, priority_scheduling=priority)
        for ending in range(3 * NUM_REQUESTS):
            yield from _ending(config, next(serial), ending)
        for _ in range(6):
            yield from _arrivals(config, next(serial), 1)
        yield from _arrivals(config, next(serial), CROWD)
        for running in product(RUNNING_TURNS, repeat=NUM_REQUESTS):
            number = next(serial)
            beside = BESIDE_RUNNING[number % len(BESIDE_RUNNING)]
            yield from _script(config, number, running, beside, number % 7 % 4)
        for num_holding in range(NUM_REQUESTS + 1):
            for waiting in product(WAITING_TURNS, repeat=NUM_REQUESTS):
                number = next(serial)
                beside = BESIDE_WAITING[number % len(BESIDE_WAITING)] if number % 3 else ()
                yield from _script(config, number, beside, waiting, num_holding)
        for victims in (1, 2, 3, 4, 5, SHORT // 2):
            yield from _shortage(config, victims)
        for crowd in _crowds(RUNNING_TURNS):
            yield from _script(config, next(serial), crowd, [SCHEDULED] * 3, 1)
        for crowd in _crowds(WAITING_TURNS):
            yield from _script(config, next(serial), [SCHEDULED] * 3, crowd, CROWD // 2)
            yield from _script(config, next(serial), [SCHEDULED] * 3, crowd, CROWD * 5 // 6)


def _crowds(turns: Sequence[str]) -> Iterator[list[str]]:
    """What many requests are told, of whom one stops the pass or some are preempted."""
    for told in ([SCHEDULED], [SKIPPED], [t for t in turns if t is not BLOCKED]):
        crowd = list(islice(cycle(told), CROWD))
        yield crowd
        yield [*crowd[: CROWD * 2 // 3], *[BLOCKED] * (CROWD // 3)]
    if PREEMPTS in turns:
        for victims in range(2, 10):
            yield [SCHEDULED] * 9 + [PREEMPTS] * victims + [SCHEDULED] * 11


def _script(
    config: Config,
    serial: int,
    in_running: Sequence[str],
    in_waiting: Sequence[str],
    num_holding: int,
) -> Kept:
    """One step: what the running requests are told, then what holders and waiting ones are."""
    seal = Seal()
    everyone = _in_some_order(seal, serial, len(in_running) + len(in_waiting))
    first, last = len(in_running), len(in_running) + num_holding
    queues = _queues(config, serial, everyone[:first], everyone[first:last], everyone[last:])
    plan = dict(
        zip((r for queue in queues for r in queue), (*in_running, *in_waiting), strict=True)
    )
    return _step(Scripted(seal, config, plan, *queues, streams=serial % 2))


def _step(scheduler: Scripted) -> Kept:
    end, diary = expected(scheduler), scheduler.diary
    behind = {*scheduler.kv_holding_waiting, *scheduler.waiting}
    try:
        output = scheduler.schedule()
    except (Endless, Peeked):
        yield "turns in queue order", not diary.endless
        yield SEES, not scheduler.seal.is_broken
        return
    yield "turns in queue order", not diary.endless
    yield SEES, not scheduler.seal.is_broken
    turns = diary.turns
    running, waiting = set(turns) - behind, behind.intersection(turns)
    yield "every running request has its turn", running.issuperset(end.in_running)
    yield "every waiting request has its turn", waiting.issuperset(end.in_waiting)
    in_order = [r for r in (*end.in_running, *end.in_waiting) if r in running or r in waiting]
    overtakers = running.difference(end.in_running)
    if diary.victims:
        yield "no admission after a preemption", not waiting
    else:
        overtakers |= waiting.difference(end.in_waiting)
    yield "nobody overtakes who stops the pass", not overtakers
    yield "turns in queue order", turns == in_order
    chosen = diary.victims == end.victims == list(output.preempted_reqs)
    yield "the last or the least urgent is preempted", chosen
    by_urgency = scheduler.config.priority_scheduling
    yield "only priority scheduling withdraws rows", by_urgency or not diary.withdrew
    kept = scheduler.waiting == end.waiting and scheduler.kv_holding_waiting == end.holding
    yield "queues in order of arrival or urgency", kept
    yield "admitted requests run last, in order", scheduler.running == end.running
    yield "the counters advance once per scheduled request", scheduler.agrees(output)
    yield "each request in one queue", not scheduler.finished
    yield from _nothing_else(scheduler)


def _arrivals(config: Config, serial: int, num_waiting: int) -> Kept:
    """Requests enter in some order of urgency while others run, load and wait."""
    seal = Seal()
    everyone = _in_some_order(seal, serial, num_waiting + 2 * NUM_REQUESTS)
    runs, loads, *new = everyone[num_waiting:]
    queues = _queues(config, serial, [runs], [loads], everyone[:num_waiting])
    waits = list(queues[2])
    scheduler = Scripted(seal, config, {}, *queues, streams=serial % 2)
    for request in new:
        scheduler.meet(request)
        try:
            scheduler.add_request(request)
        except Peeked:
            break
    yield SEES, not seal.is_broken
    if seal.is_broken:
        return
    by_urgency = scheduler.config.priority_scheduling
    wanted = sorted([*waits, *new], key=urgency) if by_urgency else [*waits, *new]
    yield "queues in order of arrival or urgency", scheduler.waiting == wanted
    stay = scheduler.running == [runs] and scheduler.kv_holding_waiting == [loads]
    yield "each request in one queue", stay and not scheduler.finished
    yield from _nothing_else(scheduler)


def _ending(config: Config, serial: int, place: int) -> Kept:
    """One request ends, wherever it is; three are in each queue."""
    seal = Seal()
    everyone = _in_some_order(seal, serial, 3 * NUM_REQUESTS)
    parts = (everyone[n : n + NUM_REQUESTS] for n in range(0, len(everyone), NUM_REQUESTS))
    queues = _queues(config, serial, *parts)
    scheduler = Scripted(seal, config, {}, *queues, streams=serial % 2)
    gone = [*queues[0], *queues[1], *queues[2]][place]
    before = Request("ended before", 1, 1)
    scheduler.finished = [before]
    status = ENDS[serial % len(ENDS)]
    scheduler.leave(gone, status=status, num_blocks=0)
    scheduler.finish(gone, status)
    now = scheduler.running, scheduler.kv_holding_waiting, scheduler.waiting
    stay = [[r for r in queue if r is not gone] for queue in queues] == list(now)
    yield "who ends leaves the others in their places", stay
    yield "each request in one queue", scheduler.finished == [before, gone]
    yield from _nothing_else(scheduler)


def _nothing_else(scheduler: Scripted) -> Kept:
    queued = [*scheduler.running, *scheduler.kv_holding_waiting, *scheduler.waiting]
    queued += [request for request in scheduler.finished if request in scheduler.diary.left]
    everyone = scheduler.diary.left
    once = len(queued) == len(everyone) and everyone.keys() == set(queued)
    yield "each request in one queue", once
    yield "the loops change nothing else", scheduler.look_around()
    kept = scheduler.num_waiting_for_streaming_input == scheduler.streams
    yield "streams keep their slots", kept
    yield "every block is free or held", scheduler.adds_up()


def _shortage(config: Config, victims: int) -> Kept:
    """A request needs the blocks of so many others, in front and behind: no script, the body."""
    first, *others = cast(0, SHORT)
    requests = [others[STRIDE * place % len(others)] for place in range(len(others))]
    place = SHORT // 2 if config.priority_scheduling else 0
    requests.insert(place, first)
    scheduler = Scheduler(config, RECOMMENDED, Quiet())
    scheduler.running = list(requests)
    for request in requests:
        request.status, request.num_blocks = RequestStatus.RUNNING, 1
        request.num_output_tokens, request.num_in_flight_tokens = 3, 2
    scheduler.kv_cache_manager.num_free_blocks = 0
    first.num_prompt_tokens = (victims + 1) * config.block_size - first.num_output_tokens
    step = scheduler.begin_step()
    step.index = place
    kept = [_kept_by_a_preemption(request) for request in requests]
    outcome = scheduler.try_running(step, first)
    due = list(reversed(sorted(others, key=urgency) if place else requests))[:victims]
    yield "as many are preempted as it takes", step.preempted_reqs == due
    rows = first.num_tokens
    fits = outcome is SCHEDULED and step.num_scheduled_tokens == {first: rows}
    fits &= step.token_budget == config.max_num_scheduled_tokens - rows
    fits &= step.input_budget == config.max_num_batched_tokens - rows
    yield "as many are preempted as it takes", fits
    left = [r for r in requests if r not in due]
    here = scheduler.running == left and scheduler.running[step.index] is first
    back = sorted(due, key=urgency) if place else list(reversed(due))
    yield "queues in order of arrival or urgency", here and scheduler.waiting == back
    same = kept == [_kept_by_a_preemption(request) for request in requests]
    yield "the loops change nothing else", same


def _in_some_order(seal: Seal, serial: int, number: int) -> list[Request]:
    """So many requests; the ranks of a few have every order in turn."""
    among = max(number, 2 * NUM_REQUESTS)
    requests = [sealed(seal, request) for request in cast(serial, among)]
    order: Sequence[int] = ORDERS[serial * STRIDE % len(ORDERS)]
    if number > len(order):
        order = [(STRIDE * place + serial) % number for place in range(number)]
    return [requests[rank] for rank in order[:number]]


def _queues(
    config: Config,
    serial: int,
    running: list[Request],
    holding: list[Request],
    waiting: list[Request],
) -> tuple[list[Request], list[Request], list[Request]]:
    """What requests have been through who are in these queues; these are in order of service."""
    if config.priority_scheduling:
        holding.sort(key=urgency)
        waiting.sort(key=urgency)
    give_parts(running, RUNS, serial)
    give_parts(holding, HOLDS, serial + 2)
    give_parts(waiting, WAITS, serial + 5)
    return running, holding, waiting
