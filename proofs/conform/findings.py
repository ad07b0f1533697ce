"""Replaying what ``check`` found on the released scheduler object: confirmed, or not.

A counterexample of the model is *confirmed* when the engine, given the same arrivals and the same
answers, shows the same rows, drafts, counters, queues and blocks after every call up to the broken
promise (so the promise is broken with the same numbers), or dies with the same exception in the
same call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from model.request import Request
from proofs.check import Task, check
from proofs.conform.compare import Execution, difference, knobs
from proofs.conform.engine import EngineProcess
from proofs.conform.lockstep import ModelSide
from proofs.conform.releases import Release
from proofs.induction import Cache
from proofs.replay import NotReproduced, replay
from proofs.scenario import Arrival, RecordedWorld, Scenario
from proofs.verdict import MODES, VIOLATED


@dataclass(frozen=True, slots=True)
class Finding:
    """One violated cell and what the released scheduler did with its execution."""

    invariant: str
    mode: str
    sentence: str
    """The broken promise with numbers."""
    confirmed: bool
    why: str
    """What the engine did, or why it could not be asked."""


def findings(release: Release, engine: EngineProcess, deadline: float) -> Iterator[Finding]:
    """Every violated cell of the release's policy, replayed on the release.

    Raises:
        EngineDied: the engine's child ended.
    """
    cache = Cache()
    for mode in MODES:
        for obligation in check(Task(release.policy, mode, deadline=deadline), cache):
            if obligation.verdict == VIOLATED and obligation.trace is not None:
                scenario = Scenario.from_json(obligation.trace.scenario)
                yield confirm(release, engine, scenario, obligation.invariant, mode)


def confirm(
    release: Release, engine: EngineProcess, scenario: Scenario, invariant: str, mode: str
) -> Finding:
    """Replay one execution on both sides; ranks do not meet, so each is replayed on its own."""
    why = ""
    for settled in settable(release, scenario):
        try:
            sentence = replay(settled, invariant).violation.sentence
            break
        except NotReproduced as reason:
            why = why or f"{reason} with the knobs of 0.{release.minor}"
    else:
        return Finding(invariant, mode, "", False, why)
    last = ""
    for rank in range(len(settled.answers)):
        execution = played(release, settled, rank)
        engine_saw = engine.play(knobs(execution.config), execution.calls)
        found = difference(execution, engine_saw)
        if found is not None:
            unlike = "; ".join(f"{n}: model {m}, engine {e}" for n, (m, e) in found.values.items())
            return Finding(invariant, mode, sentence, False, unlike)
        last = str(engine_saw[-1].get("where", "")) if engine_saw else ""
    return Finding(invariant, mode, sentence, True, last or "same numbers after every call")


def settable(release: Release, scenario: Scenario) -> Iterator[Scenario]:
    """The execution under knobs the release has, then with company.

    From 0.31 on the long-prefill threshold spares a request that is alone: a second one, arriving
    behind it, brings the threshold back.
    """
    config = replace(scenario.config, exempt_only_request=release.exempts_only_request)
    if not release.has_draft_slots:
        config = replace(
            config, draft_slots=0, max_num_batched_tokens=config.max_num_scheduled_tokens
        )
    scenario = replace(scenario, config=config)
    yield scenario
    for step in reversed(range(scenario.num_steps)):
        for rank in range(len(scenario.answers)):
            arrivals = (*scenario.arrivals, Arrival(step, "company", 1, 1, rank=rank))
            yield replace(scenario, arrivals=arrivals)


def played(release: Release, scenario: Scenario, rank: int) -> Execution:
    """One rank of a scenario, watched as the random executions are."""
    world = RecordedWorld(scenario.answers[rank])
    side = ModelSide(scenario.config, release.policy, world, release.scheduler)
    for step in range(scenario.num_steps):
        for order, arrival in enumerate(scenario.arrivals):
            if (arrival.step, arrival.rank) == (step, rank):
                side.add_request(
                    Request(
                        arrival.request_id,
                        arrival.num_prompt_tokens,
                        arrival.max_tokens,
                        arrival.priority,
                        order,
                    )
                )
        for when, name in scenario.aborts:
            if when == step and name in side.requests:
                side.abort(side.requests[name])
        side.advance()
        if side.over:
            break
    return Execution(scenario.config, tuple(side.calls), tuple(side.seen), side.num_steps)
