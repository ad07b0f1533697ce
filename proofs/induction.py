"""The unbounded proof: every body keeps the clauses, and under the clauses every promise holds.

Houdini: start from all candidate clauses, prove the bodies, drop the clauses some body does not
re-establish, and prove again what leant on them, until nothing is dropped.  What is left is
inductive *for this policy*; a promise proved under it holds in every reachable state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from model.policies import PaddingPolicy
from proofs.bodies import BODIES, FEATURES, run_body
from proofs.clauses import SERVES
from proofs.harness import CLAUSE, WAIVED, Goal, Harness
from proofs.symbolic import Exploration, Limits, Path, Proved, Refuted
from proofs.verdict import ASYNC, Statistics
from spec.config import Config
from spec.logic import not_


@dataclass(slots=True)
class GoalResult:
    """How one goal of one body fared over all its paths."""

    invariant: str
    name: str
    refuted: bool = False
    unknown: str = ""
    used: set[str] = field(default_factory=set)
    """Names in the unsat cores: assumptions, ``unless:`` waivers, ``clause:`` clauses."""
    features: frozenset[str] | None = None
    """The fewest configuration features (``bodies.FEATURES``) a refuting state needs."""
    error: str = ""
    """The exception behind a refuted ``no-reachable-assert``."""


@dataclass(slots=True)
class BodyResult:
    """One body explored to the end (or not)."""

    name: str
    goals: dict[str, GoalResult] = field(default_factory=dict)
    pruned_by: frozenset[str] = frozenset()
    """Names whose cores made branches infeasible: every goal of the body leans on them."""
    incomplete: str = ""
    statistics: Statistics = field(default_factory=Statistics)

    def leans_on(self, clause: str) -> bool:
        """Whether dropping ``clause`` may change this result."""
        name = CLAUSE + clause
        return name in self.pruned_by or any(name in goal.used for goal in self.goals.values())


@dataclass(slots=True)
class Induction:
    """The proof of one policy under one mode."""

    policy: PaddingPolicy
    mode: str
    clauses: frozenset[str]
    bodies: dict[str, BodyResult]
    corners: dict[str, list[frozenset[str]]]
    """Invariant → feature sets of its refuting states, those under all clauses first."""
    rounds: int

    def goals(self, invariant: str) -> list[tuple[BodyResult, GoalResult]]:
        """Every promise (not clause) of one catalogue id, with its body."""
        return [
            (body, goal)
            for body in self.bodies.values()
            for goal in body.goals.values()
            if goal.invariant == invariant and goal.name not in SERVES
        ]

    def statistics(self) -> Statistics:
        """What all bodies of the last round cost."""
        total = Statistics()
        for body in self.bodies.values():
            total += body.statistics
        return total


Cache = dict[tuple[Any, ...], BodyResult]
"""Results of bodies that do not depend on the policy, shared between policies."""


def prove(
    policy: PaddingPolicy, mode: str, limits: Callable[[], Limits], cache: Cache
) -> Induction:
    """Prove every body of one policy, dropping clauses until the rest is inductive.

    ``limits`` is asked anew before each exploration, so that a deadline can run out.
    """
    clauses = frozenset(SERVES)
    bodies: dict[str, BodyResult] = {}
    corners: dict[str, list[frozenset[str]]] = {}
    rounds = 0
    while True:
        rounds += 1
        for name in BODIES:
            if name not in bodies:
                bodies[name] = _explore(name, policy, mode, clauses, limits(), cache)
        _note_corners(bodies, corners)
        broken = {
            goal.name
            for body in bodies.values()
            for goal in body.goals.values()
            if goal.name in clauses and (goal.refuted or goal.unknown)
        }
        if not broken:
            return Induction(policy, mode, clauses, bodies, corners, rounds)
        clauses -= broken
        for name, body in list(bodies.items()):
            if any(body.leans_on(clause) for clause in broken):
                del bodies[name]
            else:
                for clause in broken:
                    body.goals.pop(clause, None)


def _note_corners(bodies: dict[str, BodyResult], corners: dict[str, list[frozenset[str]]]) -> None:
    """Where in the configuration space each refuted promise fails, fewest features first."""
    fresh = {
        (goal.invariant, goal.features)
        for body in bodies.values()
        for goal in body.goals.values()
        if goal.refuted and goal.features is not None
    }
    for invariant, features in sorted(fresh, key=lambda f: (f[0], len(f[1]), sorted(f[1]))):
        known = corners.setdefault(invariant, [])
        if features not in known:
            known.append(features)


def _explore(
    name: str,
    policy: PaddingPolicy,
    mode: str,
    clauses: frozenset[str],
    limits: Limits,
    cache: Cache,
) -> BodyResult:
    key = (name, mode, clauses, _policy_as_seen(name, policy))
    if key not in cache:
        result = _explore_body(name, policy, mode, clauses, limits)
        if result.incomplete:
            return result  # what a deadline cut is not worth keeping
        cache[key] = result
    result = cache[key]
    # Dropping a clause edits the goals of a result: keep the cached one as it was.
    return BodyResult(
        result.name, dict(result.goals), result.pruned_by, result.incomplete, result.statistics
    )


def _policy_as_seen(name: str, policy: PaddingPolicy) -> Any:
    """The part of a policy that a body reads."""
    if name == "waiting-pass":
        return policy
    return policy.clamps_running if name == "running-pass" else None


def _explore_body(
    name: str, policy: PaddingPolicy, mode: str, clauses: Iterable[str], limits: Limits
) -> BodyResult:
    result = BodyResult(name)
    configs: list[Config] = []

    def run(context: Any) -> list[Goal]:
        harness = Harness(context, policy, mode == ASYNC, clauses)
        configs[:] = [harness.config]
        return run_body(name, harness)

    reasons: list[str] = []
    with Exploration(run, limits) as exploration:
        for path in exploration:
            if path.unsupported:
                reasons += [f"{gap.where}: {gap.reason}" for gap in path.unsupported]
            else:
                _judge(path, configs[0], result)
        result.incomplete = "; ".join((*exploration.reasons, *reasons))
        result.pruned_by = exploration.used_assumptions
        result.statistics = Statistics.of(exploration.statistics)
    return result


def _judge(path: Path[list[Goal]], config: Config, result: BodyResult) -> None:
    """Settle every goal at the end of one path."""
    goals = path.value or []
    if path.error is not None:
        goals = [Goal("no-reachable-assert", "no_reachable_assert", False)]
        _goal(result, goals[0]).error = f"{type(path.error).__name__}: {path.error}"
    batches: dict[tuple[str, ...], list[Goal]] = {}
    for goal in goals:
        batches.setdefault(tuple(sorted(goal.granted)), []).append(goal)
    for batch in batches.values():
        claims = {str(index): goal.formula for index, goal in enumerate(batch)}
        answers = path.prove_all(claims, tracked=batch[0].granted)
        for index, goal in enumerate(batch):
            settled = _goal(result, goal)
            answer = answers[str(index)]
            if isinstance(answer, Proved):
                settled.used |= answer.core
            elif isinstance(answer, Refuted):
                settled.refuted = True
                if goal.name not in SERVES:
                    _note_features(settled, path, goal, config)
            else:
                settled.unknown = answer.reason


def _note_features(settled: GoalResult, path: Path[list[Goal]], goal: Goal, config: Config) -> None:
    """Remember the fewest configuration features under which the goal still fails."""
    for wanted in ((), *((name,) for name in FEATURES), tuple(FEATURES)):
        if settled.features is not None and len(settled.features) <= len(wanted):
            return
        off = [not_(on(config)) for name, on in FEATURES.items() if name not in wanted]
        if isinstance(path.holds(goal.formula, off, goal.granted), Refuted):
            settled.features = frozenset(wanted)
            return


def _goal(result: BodyResult, goal: Goal) -> GoalResult:
    if goal.name not in result.goals:
        result.goals[goal.name] = GoalResult(goal.invariant, goal.name)
    return result.goals[goal.name]


__all__ = ["CLAUSE", "WAIVED", "Cache", "Induction", "prove"]
