"""The unbounded proof: every body keeps the clauses, and under the clauses every promise holds.

Houdini: start from all candidate clauses, prove the bodies, drop the clauses some body does not
re-establish, and prove again what leant on them, until nothing is dropped.  What is left is
inductive *for this policy*; a promise proved under it holds in every reachable state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from model.policies import PaddingPolicy
from proofs.bodies import BODIES, FEATURES, run_body
from proofs.clauses import SERVES
from proofs.goal import Goal
from proofs.harness import Harness
from proofs.memory import Memory, changed, memory
from proofs.outside import asks_outside
from proofs.symbolic import Answer, Exploration, Ground, Grounds, Limits, Path, Proved, Refuted
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
    """Names in the unsat cores: assumptions, and ``unless:`` waivers."""
    features: frozenset[str] | None = None
    """The fewest configuration features (``bodies.FEATURES``) a refuting state needs."""
    error: str = ""
    """The exception behind a refuted ``no-reachable-assert``."""

    @property
    def is_settled(self) -> bool:
        """Refuted in a corner as plain as corners get: further paths add nothing."""
        return self.refuted and self.features is not None and len(self.features) <= 1


@dataclass(slots=True)
class BodyResult:
    """One body explored to the end (or not)."""

    name: str
    goals: dict[str, GoalResult] = field(default_factory=dict)
    supposed: frozenset[str] = frozenset()
    """Clauses it took for granted; without the others its result is the same."""
    pruned_by: frozenset[str] = frozenset()
    """Assumptions that made branches infeasible: every goal of the body rests on them."""
    incomplete: str = ""
    statistics: Statistics = field(default_factory=Statistics)

    def without(self, dropped: frozenset[str]) -> BodyResult:
        """The same result when some clauses need not be kept any more."""
        goals = {name: goal for name, goal in self.goals.items() if name not in dropped}
        return replace(self, goals=goals)


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

    def foundations(self) -> set[str]:
        """Assumptions under the inductive clauses and the infeasible branches: every proof of this
        policy rests on them, as it starts from states that satisfy the clauses."""
        used: set[str] = set()
        for body in self.bodies.values():
            used |= body.pruned_by
            used = used.union(*(g.used for g in body.goals.values() if g.name in self.clauses))
        return used

    def statistics(self) -> Statistics:
        """What all bodies of the last round cost."""
        total = Statistics()
        for body in self.bodies.values():
            total += body.statistics
        return total


Results = dict[tuple[str, str], list[tuple[Mapping[str, Any], frozenset[str], BodyResult]]]
"""By body and mode: what the body read of its policy, the clauses it started from, and what came
out."""


@dataclass(slots=True)
class Cache:
    """What rounds and policies that are checked one after the other have in common."""

    results: Results = field(default_factory=dict)
    grounds: Grounds = field(default_factory=Grounds)


def prove(
    policy: PaddingPolicy, mode: str, limits: Callable[[], Limits], cache: Cache
) -> Induction:
    """Prove every body of one policy, dropping clauses until the rest is inductive.

    ``limits`` is asked anew before each exploration, so that a deadline can run out.
    """
    clauses = frozenset(SERVES)
    corners: dict[str, list[frozenset[str]]] = {}
    rounds, remembered = 0, memory()
    while True:
        rounds += 1
        bodies = {
            name: explore(name, policy, mode, clauses, limits(), cache, remembered)
            for name in BODIES
        }
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


def explore(
    name: str,
    policy: PaddingPolicy,
    mode: str,
    clauses: frozenset[str],
    limits: Limits,
    cache: Cache,
    remembered: Memory | None = None,
) -> BodyResult:
    """``explore_body``, or what the cache says it comes to."""
    known = cache.results.setdefault((name, mode), [])
    for read, start, result in known:
        alike = all(getattr(policy, field) == value for field, value in read.items())
        if alike and clauses <= start and not (start - clauses) & result.supposed:
            return result.without(start - clauses)
    noting = Noting(policy)
    result = explore_body(
        name, noting.policy, mode, clauses, limits, cache.grounds[name, mode], remembered
    )
    if not result.incomplete:  # what a deadline cut is not worth keeping
        known.append((noting.read, clauses, result))
    return result


class Noting:
    """A policy that notes which of its fields are read: without the others a body does the same.

    Comparing it, or making another from it, reads all of them.  What it cannot see is the identity
    of the policy, and ``type()`` of it.
    """

    def __init__(self, policy: PaddingPolicy) -> None:
        self.read: dict[str, Any] = {}
        noted = self.read

        def everything() -> PaddingPolicy:
            noted.update((f, getattr(policy, f)) for f in PaddingPolicy.__dataclass_fields__)
            return policy

        class Read(PaddingPolicy):
            def __getattribute__(self, name: str) -> Any:
                if name == "__class__":  # what ``==`` and ``dataclasses.replace`` go by
                    return PaddingPolicy
                if name in PaddingPolicy.__dataclass_fields__:
                    value = noted[name] = getattr(policy, name)
                    return value
                return object.__getattribute__(self, name)

            def __eq__(self, other: object) -> bool:
                return everything() == other

            def __hash__(self) -> int:
                return hash(everything())

        self.policy: PaddingPolicy = object.__new__(Read)
        """What to hand to the model."""


def explore_body(
    name: str,
    policy: PaddingPolicy,
    mode: str,
    clauses: Iterable[str],
    limits: Limits,
    ground: Ground | None = None,
    remembered: Memory | None = None,
) -> BodyResult:
    """Every path of one body under some clauses, every goal at its end.

    ``ground``: of earlier explorations of it; ``remembered``: what the model held at the start.
    """
    result = BodyResult(name)
    configs: list[Config] = []
    supposed: set[str] = set()

    def run(context: Any) -> list[Goal]:
        harness = Harness(context, policy, mode == ASYNC, clauses)
        configs[:] = [harness.config]
        goals = run_body(name, harness)
        supposed.update(harness.supposed)
        return goals

    reasons: list[str] = []
    remembered = memory() if remembered is None else remembered
    with Exploration(run, limits, ground) as exploration:
        for path in exploration:
            if path.unsupported:
                reasons += [f"{gap.where}: {gap.reason}" for gap in path.unsupported]
            else:
                _judge(path, configs[0], result)
        reasons += [f"the model keeps {name}" for name in changed(remembered, memory())]
        reasons += asks_outside()
        result.incomplete = "; ".join((*exploration.reasons, *reasons))
        result.supposed = frozenset(supposed)
        result.pruned_by = exploration.used_assumptions
        result.statistics = Statistics.of(exploration.statistics)
    return result


def _judge(path: Path[list[Goal]], config: Config, result: BodyResult) -> None:
    """Settle every goal at the end of one path."""
    goals = path.value or []
    if path.error is not None:
        goals = [Goal("no-reachable-assert", "no_reachable_assert", False)]
        _goal(result, goals[0]).error = f"{type(path.error).__name__}: {path.error}"
    open_ = [goal for goal in goals if not _goal(result, goal).is_settled]
    # Most goals need no hypothesis of their own: what is proved here rests on none.  One that
    # needed some on an earlier path rests on them anyway, and is not tried without them again.
    plain: list[Goal] = []
    batches: dict[tuple[str, ...], list[Goal]] = {}
    for goal in open_:
        if _goal(result, goal).used.isdisjoint(goal.granted):
            plain.append(goal)
        else:
            batches.setdefault(tuple(sorted(goal.granted)), []).append(goal)
    for goal, answer in _answers(path, plain, {}, result):
        if goal.granted and not isinstance(answer, Proved):
            batches.setdefault(tuple(sorted(goal.granted)), []).append(goal)
        else:
            _settle(result, path, goal, answer, config)
    for batch in batches.values():
        for goal, answer in _answers(path, batch, batch[0].granted, result):
            _settle(result, path, goal, answer, config)


def _answers(
    path: Path[list[Goal]], goals: list[Goal], granted: Mapping[str, bool], result: BodyResult
) -> list[tuple[Goal, Answer]]:
    def dear(name: str, assumption: str) -> bool:
        return assumption in granted and assumption not in _goal(result, goals[int(name)]).used

    claims = {str(index): goal.formula for index, goal in enumerate(goals)}
    answers = path.prove_each(claims, granted, dear)
    return [(goal, answers[str(index)]) for index, goal in enumerate(goals)]


def _settle(
    result: BodyResult, path: Path[list[Goal]], goal: Goal, answer: Answer, config: Config
) -> None:
    """Book one answer about one goal on one path."""
    settled = _goal(result, goal)
    if isinstance(answer, Proved):
        settled.used |= answer.core
    elif isinstance(answer, Refuted):
        settled.refuted = True
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
