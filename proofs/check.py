"""Deciding one policy: prove what is inductive, find an execution for what is not.

A promise the induction proves is *proved*.  One it does not prove is searched for from the empty
engine; found and replayed on integers it is *violated*, otherwise *undecided*, with the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter, time

from model.policies import POLICIES, PaddingPolicy
from proofs.alike import told_apart
from proofs.bodies import FEATURES
from proofs.clauses import SERVES
from proofs.goal import WAIVED
from proofs.induction import Cache, Induction, prove
from proofs.known import ALIKE, CAUSES, expected
from proofs.replay import NotReproduced, replay
from proofs.search import Found, Search, search
from proofs.small_world import LARGEST
from proofs.symbolic import Limits
from proofs.trace import Trace
from proofs.verdict import PROVED, SCOPE, UNDECIDED, VIOLATED, Obligation, Statistics
from spec.assumptions import CRASH_IS_THE_END
from spec.invariants import IDS

WHOLE_PASSES: tuple[tuple[frozenset[str], tuple[tuple[int, int], ...]], ...] = (
    (frozenset(), ((1, 2), (2, 1), (2, 2))),
    (frozenset({"preemption"}), ((1, 2), (2, 1), (2, 2))),
    (frozenset({"load"}), ((1, 2), (2, 1))),
)
"""Features and depths (steps, requests) at which whole passes are played."""
WHOLE_PASS_LENGTHS = (4,)
DEPTH_OF_A_CAUSE = 2, 2
"""Steps and requests within which each of several bugs in one cell has to show."""
CRASH_RULED_OUT = ("positive-schedule", "no-reachable-assert")
"""Where these are proved no step ends the engine: nothing is assumed about the time after."""


@dataclass(frozen=True, slots=True)
class Task:
    """One policy under one mode."""

    policy: PaddingPolicy
    mode: str
    only: frozenset[str] = frozenset(IDS)
    deadline: float = inf
    """Wall-clock time after which what is open stays undecided."""

    @property
    def limits(self) -> Limits:
        """What is left of the time, for the next exploration."""
        return Limits(seconds=max(self.deadline - time(), 0.0))


def check(task: Task, cache: Cache) -> list[Obligation]:
    """Every invariant of ``task.only`` for one policy under one mode, in catalogue order."""
    started = perf_counter()
    induction = prove(task.policy, task.mode, lambda: task.limits, cache)
    open_goals = {name: _unproved(induction, name) for name in IDS if name in task.only}
    traces, cost = _executions(task, cache, induction, [n for n, why in open_goals.items() if why])
    if not any(open_goals.values()):
        traces, cost, complete = _whole_passes(task, cache, list(open_goals))
        if not complete:
            open_goals = dict.fromkeys(open_goals, "whole passes were not played to the end")
    lost, more = _lost(task, cache, traces)
    statistics = induction.statistics() + cost + more
    seconds = perf_counter() - started
    share = 1 / max(len(open_goals), 1)
    return [
        replace(
            _obligation(task, induction, name, why, traces.get(name)),
            lost=lost.get(name, ()),
            statistics=statistics.scaled(seconds, share),
            work=statistics,
        )
        for name, why in open_goals.items()
    ]


def _unproved(induction: Induction, invariant: str) -> str:
    """Why the induction does not prove an invariant; empty if it does."""
    reasons = [
        f"{body.name} ({goal.name}){': ' + detail if detail else ''}"
        for body, goal in induction.goals(invariant)
        for detail in [goal.error or goal.unknown]
        if goal.refuted or goal.unknown
    ]
    # A clause serves its invariant: what is not kept is a promise that nobody keeps.
    reasons += [
        f"the clause {name} is not kept"
        for name, served in SERVES.items()
        if served == invariant and name not in induction.clauses
    ]
    reasons += [
        f"{body.name}: {body.incomplete}" for body in induction.bodies.values() if body.incomplete
    ]
    return "; ".join(reasons)


def _executions(
    task: Task, cache: Cache, induction: Induction, targets: Sequence[str]
) -> tuple[dict[str, Trace], Statistics]:
    """Replayed executions for the invariants that are not proved."""
    traces: dict[str, Trace] = {}
    cost = Statistics()
    everywhere = (frozenset[str](), *(frozenset({name}) for name in FEATURES))
    likely = {name: tuple(induction.corners.get(name, everywhere[:1])) for name in targets}
    for corners in (likely, dict.fromkeys(targets, everywhere)):
        missing = {name: sets for name, sets in corners.items() if name not in traces}
        found = search(Search(task.policy, task.mode, missing, task.deadline), cache.grounds)
        cost += found.statistics
        traces |= dict(_replayed(found))
    return traces, cost


def _lost(
    task: Task, cache: Cache, violated: Collection[str]
) -> tuple[dict[str, tuple[str, ...]], Statistics]:
    """What no execution of its own shows any more: the known bugs behind one violated cell, and
    what a policy does otherwise than another with the same row."""
    lost: dict[str, tuple[str, ...]] = {}
    cost = Statistics()
    for name, causes in CAUSES.get((task.policy.name, task.mode), {}).items():
        for features in causes if name in violated else ():
            wanted = Search(
                task.policy,
                task.mode,
                {name: (features,)},
                task.deadline,
                depths=(DEPTH_OF_A_CAUSE,),
                lengths=(LARGEST,),
                smallest=False,
            )
            found = search(wanted, cache.grounds)
            cost += found.statistics
            # What time ran out for is not lost: the cell stands by the execution it has.
            if found.complete and name not in dict(_replayed(found)):
                lost[name] = (*lost.get(name, ()), *sorted(features))
    other, name = ALIKE.get(task.policy.name, ("", ""))
    if name in violated:
        apart = told_apart(task.policy, POLICIES[other], task.mode, task.limits)
        if apart is False:
            lost[name] = (f"a decision other than {other}'s",)
    return lost, cost


def _whole_passes(
    task: Task, cache: Cache, proved: Sequence[str]
) -> tuple[dict[str, Trace], Statistics, bool]:
    """Play short executions of whole passes of a policy that breaks nothing.

    The induction runs the loop bodies; this runs the loops, the queues and the engine around them,
    which all policies share.  A breach found here overrules a proof: then the argument from bodies
    to passes is wrong.  Returns also whether everything was played.
    """
    traces: dict[str, Trace] = {}
    cost, complete = Statistics(), True
    for features, depths in WHOLE_PASSES:
        found = search(
            Search(
                task.policy,
                task.mode,
                dict.fromkeys(proved, (features,)),
                task.deadline,
                depths=depths,
                lengths=WHOLE_PASS_LENGTHS,
            ),
            cache.grounds,
        )
        cost += found.statistics
        complete &= found.complete
        traces |= dict(_replayed(found))
    return traces, cost, complete


def _replayed(found: Found) -> Iterator[tuple[str, Trace]]:
    for name, scenario in found.scenarios.items():
        try:
            yield name, replay(scenario, name)
        except NotReproduced:
            continue


def _obligation(
    task: Task,
    induction: Induction,
    invariant: str,
    why: str,
    trace: Trace | None,
) -> Obligation:
    verdict = VIOLATED if trace is not None else UNDECIDED if why else PROVED
    used = induction.foundations()
    used = used.union(*(goal.used for _, goal in induction.goals(invariant)))
    used.discard(CRASH_IS_THE_END.id)
    if any(_unproved(induction, name) for name in CRASH_RULED_OUT):
        used.add(CRASH_IS_THE_END.id)
    return Obligation(
        invariant=invariant,
        policy=task.policy.name,
        mode=task.mode,
        verdict=verdict,
        scope=SCOPE.format(mode=task.mode),
        assumptions=tuple(sorted(n for n in used if not n.startswith(WAIVED))),
        waivers=tuple(sorted(n.removeprefix(WAIVED) for n in used if n.startswith(WAIVED))),
        reason=why,
        expected=expected(task.policy.name, invariant, task.mode),
        trace=trace,
    )
