"""The runs of the text under proof: which states, which calls, under which features.

Each builds an arbitrary state, calls the text's own methods once, and returns what must hold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from proofs.source.arrangements import (
    Arrangement,
    after_running_pass,
    behind_a_holder,
    behind_a_victim,
    beside_a_decode,
    nobody,
    one_running,
    pair,
    pair_in_one_queue,
    two_running,
    two_running_one_waiting,
    two_waiting,
)
from proofs.source.bookings import booked, booked_stale, booked_together
from proofs.source.due import Due, Judged, clauses_of, judged
from proofs.source.goals import (
    CONSERVATION,
    as_asked_goals,
    flight_goals,
    known_goals,
    output_goals,
    victim_goals,
)
from proofs.source.harness import HELD_BACK, HOLD_BACK, Harness
from proofs.source.keeping import (
    block_goals,
    demand_goals,
    handed_on,
    held_back_goals,
    order_goals,
    step_goals,
)
from proofs.source.loads import load_goals
from proofs.source.narrow import Narrowed
from proofs.source.observe import Step
from proofs.source.quiet_runs import arrived, booked_load, booked_nobody
from proofs.source.requests import Request, RequestStatus
from proofs.source.resting import resting_goals
from proofs.source.state import Features
from proofs.source.world import Context
from spec.logic import ite, not_

Scenario = Callable[[Harness], list[Due]]
"""Runs the text once and returns what must hold."""


def one_step_from(arrange: Arrangement) -> Scenario:
    """One step from the states an arrangement describes."""

    def run(h: Harness) -> list[Due]:
        arrange(h)
        return scheduled(h)

    return run


def two_steps(h: Harness) -> list[Due]:
    """Two steps in a row, as async scheduling runs them; what a check needs one of."""
    pair(h)
    h.arbitrary_state()
    h.moment()
    h.schedule()
    return _one_more_step(h)


def scheduled(h: Harness) -> list[Due]:
    """Call ``schedule()`` on the state built so far, and claim everything about it."""
    h.arbitrary_state()
    return _one_more_step(h)


def _one_more_step(h: Harness) -> list[Due]:
    h.snapshot()
    h.moment()
    output = h.schedule()
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
        due += resting_goals(h, request) + block_goals(h, request) + demand_goals(h, request)
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

    def shape(
        name: str, arrange: Arrangement, holds_back: bool = False, **features: bool | None
    ) -> Shape:
        found = Features(async_scheduling, holds_back=holds_back, **features)
        return Shape(name, arrange, found)

    found = [shape("step", pair)]
    if mentioned is None or "kv_transfer_config" in mentioned:
        found.append(shape("running, KV connector", one_running, connector=True, priority=None))
        found.append(shape("step, KV connector", after_running_pass, connector=True))
    if mentioned is None or "has_mamba_layers" in mentioned:
        found.append(shape("running, Mamba alignment", one_running, mamba=True, priority=None))
        found.append(shape("step, Mamba alignment", after_running_pass, mamba=True))
    if mentioned is not None and HOLD_BACK in mentioned:
        found.append(shape(f"step, {HELD_BACK}", pair_in_one_queue, holds_back=True))
    found.append(shape("step, priorities", after_running_pass, priority=True))
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


FEATURES_READ = frozenset({"kv_transfer_config", "has_mamba_layers"})
"""Attributes through which a text reads the features that are on in a run of their own."""


def whole_loop(async_scheduling: bool, mentioned: frozenset[str]) -> list[Task]:
    """Everything that moves a request's counters, under every feature of the scope.

    What breaks clauses comes early, and what takes long late: a broken clause voids what was done.

    ``mentioned``: the attributes the text reads; it cannot react to a feature it never asks about.
    """
    plain, with_or_without = Features(async_scheduling), Features(async_scheduling, None, None)
    everything = Features(async_scheduling, connector=True, priority=None, mamba=True)
    tasks = [Task("booking", booked, replace(plain, priority=None))]
    if async_scheduling:
        tasks.append(Task("booking after preemption", booked_stale, with_or_without))
    tasks += [
        Task(shape.name, one_step_from(shape.arrange), shape.features)
        for shape in (*shapes(async_scheduling, mentioned), *crowds(async_scheduling))
    ]
    by_priority = Features(async_scheduling, priority=True)
    tasks.append(Task("crowd, behind a victim", one_step_from(behind_a_victim), by_priority))
    if HOLD_BACK in mentioned:
        held_back = replace(plain, holds_back=True)
        tasks.append(Task(f"running, {HELD_BACK}", one_step_from(beside_a_decode), held_back))
    tasks.append(Task("booking, two requests", booked_together, plain))
    if not mentioned.isdisjoint(FEATURES_READ):
        tasks.append(Task("booking, KV connector and Mamba alignment", booked, everything))
    tasks.append(Task("arrival", arrived, with_or_without))
    tasks.append(Task("booking, nobody", booked_nobody, with_or_without))
    if not mentioned.isdisjoint(FEATURES_READ):
        connected = Features(async_scheduling, connector=True)
        tasks.append(Task("booking, a load is done", booked_load, connected))
        behind = one_step_from(behind_a_holder)
        tasks.append(Task("step, behind who holds KV", behind, connected))
    tasks.append(Task("step, nobody", one_step_from(nobody), with_or_without))
    return tasks
