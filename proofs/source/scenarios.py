"""The runs of the text under proof: one step, one preemption, one booking.

Each builds an arbitrary state, calls the text's own methods once, and returns what must hold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from proofs.source.goals import (
    CONSERVATION,
    Goal,
    as_asked_goals,
    clause_goals,
    flight_goals,
    goals_about,
)
from proofs.source.harness import Harness
from proofs.source.narrow import Narrowed
from proofs.source.observe import Step, booking, request_state
from proofs.source.requests import Request, RequestStatus, sequence
from proofs.source.state import Features
from proofs.source.stubs import Record
from proofs.source.world import Context
from spec import assumptions as spec_world
from spec.logic import implies, ite, not_

Scenario = Callable[[Harness], list[Goal]]
"""Runs the text once and returns what must hold."""
Arrangement = Callable[[Harness], None]
"""Builds an arbitrary state of some shape."""

OUTPUT = "SchedulerOutput"

MOST_SAMPLED = 3
"""Tokens one request may get back from one step; the text's own loop appends them one by one."""


def pair(h: Harness) -> None:
    """At most one running and at most one waiting request."""
    if bool(h.context.bool("a request is running")):
        h.running("R")
    h.waiting("W")
    h.others_wait()


def after_running_pass(h: Harness) -> None:
    """One waiting request, after any running pass.

    What an earlier running pass does to a waiting request is that some request got rows, that one
    of them was a prefill, and that budgets shrank.  A stand-in that takes one row, with arbitrary
    budgets, produces each of these contexts; nothing is claimed about it.
    """
    if bool(h.context.bool("a request is running")):
        h.stand_in("R")
    h.waiting("W")
    h.others_wait()


def one_running(h: Harness) -> None:
    """One running request, any number waiting behind."""
    h.running("R")
    h.others_wait()


def two_running(h: Harness) -> None:
    """Two running requests, either of which may be preempted for the other."""
    h.running("R")
    h.running("S")
    h.context.assume(h.config.max_num_seqs >= 2)


def two_waiting(h: Harness) -> None:
    """Two waiting requests: what the first takes, the second no longer finds."""
    h.waiting("V")
    h.waiting("W")


def two_running_one_waiting(h: Harness) -> None:
    """A waiting request behind two running ones, of which one, both or none may be a prefill.

    Nobody is preempted for the first of them: that is what ``two_running`` is about.
    """
    two_running(h)
    h.world.never_short.add("R")
    h.waiting("W")


def behind_a_victim(h: Harness) -> None:
    """The first of three may be preempted for the second: the third finds what it gave back."""
    victim, others = h.stand_in("R"), [h.running("S"), h.running("T")]
    h.world.never_short.add("T")
    h.context.assume(h.config.max_num_seqs >= 3)
    for other in others:
        h.context.assume(victim.priority > other.priority)


def one_step_from(arrange: Arrangement) -> Scenario:
    """One step from the states an arrangement describes."""

    def run(h: Harness) -> list[Goal]:
        arrange(h)
        return scheduled(h)

    return run


def two_steps(h: Harness) -> list[Goal]:
    """Two steps in a row, as async scheduling runs them; what a check needs one of."""
    pair(h)
    h.arbitrary_state()
    h.moment()
    h.scheduler.schedule()
    return _one_more_step(h)


def scheduled(h: Harness) -> list[Goal]:
    """Call ``schedule()`` on the state built so far, and claim everything about it."""
    h.arbitrary_state()
    return _one_more_step(h)


def _one_more_step(h: Harness) -> list[Goal]:
    h.snapshot()
    h.moment()
    output = h.scheduler.schedule()
    seen = Step(h, output)
    decisions = seen.decisions()
    h.record(seen, decisions)
    judged = {request.request_id for request in h.judged}
    about = [d for d in decisions if d.request_id in judged]
    goals = goals_about(h, [*about, *seen.advances(), seen.totals()])
    states = goals_about(h, seen.states())
    # Under sync scheduling the counters settle when the step is booked; who is queued, now.
    goals += [g for g in states if h.is_async or g.invariant == CONSERVATION]
    for request in h.judged:
        decision = next((d for d in decisions if d.request_id == request.request_id), None)
        goals += flight_goals(h, request, seen.rows.get(request.request_id, 0))
        goals += as_asked_goals(h, request)
        in_flight = _in_flight(h, seen, request)
        goals += clause_goals(h, request, in_flight, not h.is_async, decision)
    return goals


def _in_flight(h: Harness, seen: Step, request: Request) -> Any:
    """Sampled tokens and drafts in flight for a request after the step."""
    if request.status is not RequestStatus.RUNNING:
        return 0
    if h.features.async_scheduling or request.request_id not in seen.rows:
        return h.in_flight(request)
    s = h.config.num_sampled_tokens_per_step
    drafts = seen.draft_count(request)
    return ite(not_(request.is_prefill_chunk), s + drafts, 0)


def booked(h: Harness) -> list[Goal]:
    """The output of one step in flight is booked for one running request."""
    request = h.request("R", RequestStatus.RUNNING)
    h.scheduler.running.append(request)
    context, config = h.context, h.config
    rows: Any = context.int("share rows", 1)
    drafts: Any = context.int("share drafts", 0)
    samples = context.bool("share samples")
    s = config.num_sampled_tokens_per_step
    if not h.is_async:
        request.num_in_flight_tokens = rows
    elif h.tracks_flight:
        h.assume(spec_world.OUTPUT_IN_ORDER, request.num_in_flight_tokens, rows)
    context.assume(implies(drafts > 0, samples))
    context.assume(drafts <= config.num_spec_tokens)
    pending = ite(samples, s + drafts, 0)
    if h.features.async_scheduling:
        h.suppose(request, request.num_output_placeholders)
        h.assume(spec_world.OUTPUT_IN_ORDER, request.num_output_placeholders, pending)
    else:
        h.suppose(request, pending, mid_step=True)
        context.assume(samples == not_(request.is_prefill_chunk))
    h.arbitrary_state()
    h.snapshot()
    generated = _sampled(h, samples, drafts)
    update(h, request, rows, drafts, generated)
    return _after_booking(h, request, rows, samples, True)


def booked_stale(h: Harness) -> list[Goal]:
    """Output of rows in flight comes back for a request that was preempted meanwhile."""
    request = h.request("R", RequestStatus.WAITING)
    request.status = RequestStatus.PREEMPTED
    request.num_preemptions = h.context.int("R num_preemptions", 1)
    request.is_prefill_chunk = h.context.bool("R is_prefill_chunk")
    h.suppose(request, 0)
    h.enqueue(request)
    context = h.context
    rows: Any = context.int("share rows", 1)
    drafts: Any = context.int("share drafts", 0)
    samples = context.bool("share samples")
    if h.tracks_flight:
        h.assume(spec_world.OUTPUT_IN_ORDER, request.num_in_flight_tokens, rows)
    context.assume(implies(drafts > 0, samples))
    context.assume(drafts <= h.config.num_spec_tokens)
    if h.keeps_placeholders:  # what is in flight is part of it, as it was before
        s = h.config.num_sampled_tokens_per_step
        request.num_output_placeholders = ite(samples, s + drafts, 0)
    h.arbitrary_state()
    h.snapshot()
    update(h, request, rows, drafts, _sampled(h, samples, drafts))
    return _after_booking(h, request, rows, samples, False)


def _sampled(h: Harness, samples: Any, drafts: Any) -> int:
    """How many tokens the runner returns, decided now: the text appends them one by one."""
    config, context = h.config, h.context
    generated = context.int("num_generated_tokens", 0, MOST_SAMPLED)
    legal = spec_world.RUNNER_SAMPLES.condition(config, drafts, generated)
    context.assume(implies(samples, legal), spec_world.RUNNER_SAMPLES.id)
    context.assume(implies(not_(samples), generated == 0))
    for count in range(MOST_SAMPLED):
        if bool(generated == count):
            return count
    return MOST_SAMPLED


def update(h: Harness, request: Request, rows: Any, drafts: Any, generated: int) -> None:
    """Call ``update_from_output`` with one request's output, then propose drafts."""
    host, name = h.loaded.host, request.request_id
    attached: dict[str, Any] = {}
    if bool(drafts > 0):
        attached[name] = sequence(drafts, -1)
    step = _output_record(h)(
        num_scheduled_tokens={name: rows},
        total_num_scheduled_tokens=rows,
        scheduled_spec_decode_tokens=attached,
    )
    output = Record(
        host,
        "ModelRunnerOutput",
        {
            "sampled_token_ids": [[1] * generated],
            "req_id_to_index": {name: 0},
        },
    )
    moment = h.moment()
    moment.only_books = True
    h.scheduler.update_from_output(step, output)
    moment.returned.append((name, generated, request.num_tokens))
    if h.world.stopped:
        moment.stopped.append(name)
    if not h.features.async_scheduling and request.status is RequestStatus.RUNNING:
        proposed: Any = h.context.int("num_proposed_drafts", 0)
        h.assume(spec_world.DRAFTS_AT_MOST_K, h.config, proposed)
        made = {"req_ids": [name], "draft_token_ids": [sequence(proposed, 1)]}
        h.scheduler.update_draft_token_ids(Record(host, "DraftTokenIds", made))
        moment.proposed.append((name, proposed))


def _output_record(h: Harness) -> Callable[..., Any]:
    """What makes the text's ``SchedulerOutput``: the class that extends it, or the usual one."""
    made = [c for c in h.loaded.classes.values() if issubclass(c, Record) and c is not Record]
    own = [c for c in made if any(base.__name__ == OUTPUT for base in c.__mro__)]
    if len(own) == 1:
        return own[0]
    return lambda **fields: Record(h.loaded.host, OUTPUT, fields)


def _after_booking(
    h: Harness, request: Request, rows: Any, samples: Any, was_running: bool
) -> list[Goal]:
    records = [booking(h, request, samples, 0, was_running), request_state(h, request)]
    goals = goals_about(h, records) + flight_goals(h, request, -rows)
    goals += as_asked_goals(h, request)
    if request.status <= RequestStatus.PREEMPTED:
        goals += clause_goals(h, request, h.in_flight(request))
    return goals


@dataclass(frozen=True, slots=True)
class Task:
    """One exploration: a scenario with features."""

    name: str
    scenario: Scenario
    features: Features
    ranges: tuple[tuple[str, tuple[int, int]], ...] = ()
    """Beginning of a question → bounds on its answer, for a search in a small world."""

    def context(self, context: Context) -> Context:
        """The context the scenario is run in."""
        return Narrowed(context, dict(self.ranges)) if self.ranges else context


@dataclass(frozen=True, slots=True)
class Shape:
    """States from which one step is explored: how they are built, under which features."""

    name: str
    arrange: Arrangement
    features: Features


def shapes(async_scheduling: bool, mentioned: Collection[str] | None = None) -> list[Shape]:
    """Every shape of state a step can start from.

    ``mentioned``: the attributes the text reads (None: any); it cannot react to a feature it never
    asks about.
    """

    def shape(name: str, arrange: Arrangement, **features: bool) -> Shape:
        return Shape(name, arrange, Features(async_scheduling, **features))

    found = [shape("step", pair)]
    if mentioned is None or "kv_transfer_config" in mentioned:
        found.append(shape("step, KV connector", after_running_pass, connector=True))
    if mentioned is None or "has_mamba_layers" in mentioned:
        found.append(shape("running, Mamba alignment", one_running, mamba=True))
        found.append(shape("step, Mamba alignment", after_running_pass, mamba=True))
    found.append(shape("preemption", two_running))
    found.append(shape("preemption, priorities", two_running, priority=True))
    return found


CROWDS: dict[str, Arrangement] = {
    "crowd, two waiting": two_waiting,
    "crowd, two running and one waiting": two_running_one_waiting,
}
"""More requests than the reduction needs, for texts it does not hold of: see ``README.md``."""


def crowds(async_scheduling: bool) -> list[Shape]:
    """The shapes of ``CROWDS``, with no feature but the mode."""
    features = Features(async_scheduling)
    return [Shape(name, arrange, features) for name, arrange in CROWDS.items()]


def one_step(async_scheduling: bool) -> list[Task]:
    """One running and one waiting request, one step."""
    return [Task("step", one_step_from(pair), Features(async_scheduling))]


def whole_loop(async_scheduling: bool, mentioned: Collection[str]) -> list[Task]:
    """Everything that moves a request's counters, under every feature of the scope.

    What breaks clauses comes early, and what takes long late: a broken clause voids what was done.

    ``mentioned``: the attributes the text reads; it cannot react to a feature it never asks about.
    """
    features = Features(async_scheduling)
    tasks = [Task("booking", booked, features)]
    if async_scheduling:
        tasks.append(Task("booking after preemption", booked_stale, features))
    tasks += [
        Task(shape.name, one_step_from(shape.arrange), shape.features)
        for shape in (*shapes(async_scheduling, mentioned), *crowds(async_scheduling))
    ]
    by_priority = Features(async_scheduling, priority=True)
    tasks.append(Task("crowd, behind a victim", one_step_from(behind_a_victim), by_priority))
    return tasks
