"""One inductive step of a text: which promises hold from every state its own steps keep.

The clauses a text keeps are found, not assumed: start from all, drop those some run breaks, and
begin again until none is dropped.  A promise is *proved* when it holds at the end of every path
from every state satisfying the kept clauses, *violated* when a counterexample was run again on
integers and broke it there, and *undecided* otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from proofs.clauses import SERVES
from proofs.source.concrete import NotReplayed, clean, replay
from proofs.source.errors import Gap, Rejected
from proofs.source.goals import UNLESS, Goal
from proofs.source.harness import CLAUSE, UNJUDGED, Harness
from proofs.source.host import RAN_ON, Host, RanOn
from proofs.source.loader import Loaded
from proofs.source.scenarios import Task
from proofs.source.verdicts import NOT_SHOWN, Finding
from proofs.symbolic import Exploration, Limits, Path, Proved, Refuted, evaluate
from proofs.symbolic import Undecided as Unknown
from proofs.verdict import ASYNC, PROVED, SYNC, UNDECIDED, VIOLATED, Statistics
from spec.invariants import IDS
from spec.logic import all_of, not_

ASSERT = "no-reachable-assert"
AMBIGUOUS = (AttributeError, NameError)
"""Exceptions that may come from the profile as well as from the text."""
SIZES = ("max_model_len", "num_spec_tokens", "long_prefill_token_threshold")
"""Knobs made small first in a counterexample."""


@dataclass
class Candidate:
    """A counterexample the solver proposed, with what makes it small."""

    task: Task
    answers: Mapping[str, int]
    size: tuple[int, ...]


@dataclass
class Outcome:
    """What is known about one mode so far."""

    enough: frozenset[str] | None = None
    """Invariants of which one counterexample each is all that is wanted; None: look everywhere."""
    claims: bool = True
    """Whether the catalogue's claims are put, or only the clauses."""
    candidates: dict[tuple[str, str], Candidate] = field(default_factory=dict)
    """(invariant id, task name) → the smallest counterexample seen."""
    broken: set[str] = field(default_factory=set)
    """Clauses some path breaks."""
    doubts: list[str] = field(default_factory=list)
    """Why nothing is proved."""
    doubtful: dict[str, str] = field(default_factory=dict)
    """Invariant id → why this one is not proved."""
    gaps: dict[Gap, None] = field(default_factory=dict)
    used: dict[str, set[str]] = field(default_factory=dict)
    """Invariant id → names of tracked hypotheses its proof used."""
    spoken: set[str] = field(default_factory=set)
    statistics: Statistics = field(default_factory=Statistics)

    @property
    def satisfied(self) -> bool:
        """Whether everything wanted was found."""
        return self.enough is not None and self.enough <= {name for name, _ in self.candidates}


def check_mode(
    loaded: Loaded, tasks: Iterable[Task], scope: str, limits: Limits, inductive: bool
) -> tuple[list[Finding], tuple[str, ...], Statistics]:
    """Every invariant on one text under one scheduling mode.

    Args:
        tasks: the explorations; together they cover the mode.
        scope: what a proof covers, in words.
        inductive: whether the tasks make up the whole loop, so that clauses must be kept.
    """
    tasks = list(tasks)
    statistics = Statistics()
    everything = frozenset(SERVES) - UNJUDGED
    kept = everything
    while True:
        outcome, broken = Outcome(), frozenset[str]()
        for task in tasks:
            # Once a clause is broken this round is void: look for more such clauses only.
            part = outcome if not broken else Outcome(claims=False)
            explore(loaded, task, kept - broken, limits, part)
            broken |= part.broken & kept if inductive else frozenset()
            if part is not outcome:
                statistics += part.statistics
        statistics += outcome.statistics
        if not broken:
            break
        kept -= broken
    dropped = tuple(sorted(everything - kept)) if inductive else ()
    mode = ASYNC if tasks[0].features.async_scheduling else SYNC
    findings = [
        _finding(loaded, outcome, invariant, mode, scope, kept)
        for invariant in IDS
        if invariant in outcome.spoken or invariant == ASSERT or outcome.doubts
    ]
    return findings, dropped, statistics


# -- exploring -------------------------------------------------------------------------------------


def explore(
    loaded: Loaded, task: Task, kept: frozenset[str], limits: Limits, outcome: Outcome
) -> None:
    """All paths of one task."""
    host = loaded.host

    built: list[Harness] = []

    def run(context: Any) -> list[Goal]:
        with bounded(host):
            built.clear()
            built.append(Harness(loaded, task.context(context), task.features, kept))
            return task.scenario(built[0])

    try:
        with Exploration(run, limits) as exploration:
            for path in exploration:
                _judge(loaded, task, path, built[0] if built else None, outcome)
                for gap in host.gaps:
                    outcome.gaps[gap] = None
                if outcome.satisfied:
                    return
            complete, reasons = exploration.complete, exploration.reasons
            s = exploration.statistics
    except RanOn as ran_on:
        raise Rejected(ran_on.file, ran_on.line, RAN_ON) from None
    outcome.statistics += Statistics(s.wall_seconds, s.paths, s.queries, s.solver_seconds)
    if not complete:
        outcome.doubts += [f"{task.name}: {reason}" for reason in reasons or ("stopped early",)]
    if s.paths == 0:
        outcome.doubts.append(f"{task.name}: no state satisfies the assumptions")


@contextmanager
def bounded(host: Host) -> Iterator[None]:
    """A run of a text that uses up the stack or the memory has run on."""
    try:
        yield
    except (RecursionError, MemoryError) as error:
        mine = [at for at in host.frames(error) if at[0] in host.files]
        raise RanOn(*(mine[-1] if mine else ("harness", 0))) from None


def _judge(
    loaded: Loaded,
    task: Task,
    path: Path[list[Goal]],
    harness: Harness | None,
    outcome: Outcome,
) -> None:
    """Put every goal of one path to the solver."""
    if path.unsupported:
        outcome.doubts += [gap.reason for gap in path.unsupported]
        return
    if path.error is not None:
        if not outcome.claims:
            return
        doubt = from_profile(loaded, path.error)
        if doubt is not None or harness is None:
            outcome.doubts.append(doubt or f"the scheduler cannot be built: {path.error}")
        else:
            _propose(path, task, harness, ASSERT, True, outcome)
        return
    assert harness is not None
    wanted = [g for g in path.value or [] if outcome.claims or g.claim is None]
    for granted, goals in _grouped(wanted):
        answers = path.prove_all({str(i): g.formula for i, g in enumerate(goals)}, (), granted)
        for index, goal in enumerate(goals):
            answer = answers[str(index)]
            if goal.claim is not None:
                outcome.spoken.add(goal.invariant)
            if isinstance(answer, Proved):
                outcome.used.setdefault(goal.invariant, set()).update(answer.core)
            elif goal.claim is None:
                outcome.broken.add(goal.name)
            elif isinstance(answer, Refuted):
                broken = all_of(not_(goal.formula), *granted.values())
                _propose(path, task, harness, goal.invariant, broken, outcome)
            else:
                assert isinstance(answer, Unknown)
                outcome.doubtful[goal.invariant] = answer.reason


def _grouped(goals: Iterable[Goal]) -> Iterable[tuple[Mapping[str, Any], list[Goal]]]:
    """Goals that share their hypotheses, to be asked together."""
    groups: dict[tuple[tuple[str, int], ...], tuple[Mapping[str, Any], list[Goal]]] = {}
    for goal in goals:
        if goal.formula is True and goal.claim is None:
            continue
        key = tuple((name, id(formula)) for name, formula in goal.granted.items())
        groups.setdefault(key, (goal.granted, []))[1].append(goal)
    return groups.values()


def _propose(
    path: Path[list[Goal]],
    task: Task,
    harness: Harness,
    invariant: str,
    doubt: Any,
    outcome: Outcome,
) -> None:
    """Keep the path's smallest counterexample, if it is smaller than the one known."""
    config = harness.config
    order: list[Any] = [getattr(config, name) for name in SIZES]
    known = outcome.candidates.get((invariant, task.name))
    if known is not None:
        length, drafts = order[0], order[1]
        best = known.size
        smaller = (length < best[0]) | ((length == best[0]) & (drafts < best[1]))
        if not isinstance(path.holds(not_(doubt & smaller)), Refuted):
            return
        doubt = doubt & smaller
    model = path.minimize(doubt, order)
    if model is not None:
        size = tuple(int(evaluate(term, model)) for term in order)
        outcome.candidates[invariant, task.name] = Candidate(task, model, size)


def from_profile(loaded: Loaded, error: BaseException) -> str | None:
    """Why an exception is no verdict on the text, if it is none."""
    host = loaded.host
    frames = host.frames(error)
    inside = bool(frames) and frames[-1][0] in host.files
    mine = [f"{file}:{line}" for file, line in frames if file in host.files]
    where = mine[-1] if mine else "harness"
    call = isinstance(error, TypeError) and "argument" in str(error)
    if not inside or call or isinstance(error, AMBIGUOUS):
        return f"{where}: {type(error).__name__}: {clean(str(error))} (text or profile?)"
    return None


# -- concluding ------------------------------------------------------------------------------------


def _finding(
    loaded: Loaded,
    outcome: Outcome,
    invariant: str,
    mode: str,
    scope: str,
    kept: frozenset[str],
) -> Finding:
    """The verdict on one invariant."""
    failures: list[str] = []
    proposed = [c for (about, _), c in outcome.candidates.items() if about == invariant]
    for candidate in sorted(proposed, key=lambda c: (c.task.features.count, c.size)):
        try:
            trace = replay(loaded, candidate.task, candidate.answers, invariant, kept)
        except NotReplayed as failure:
            failures.append(f"{candidate.task.name}: not replayed: {failure}")
            continue
        return Finding(invariant, mode, VIOLATED, scope, trace, NOT_SHOWN)
    reasons = [*outcome.doubts, *failures, outcome.doubtful.get(invariant, "")]
    reason = next(filter(None, reasons), "")
    used = outcome.used.get(invariant, set())
    return Finding(
        invariant,
        mode,
        UNDECIDED if reason else PROVED,
        scope,
        reason=reason,
        assumptions=tuple(sorted(n for n in used if ":" not in n)),
        waivers=tuple(sorted(n.removeprefix(UNLESS) for n in used if n.startswith(UNLESS))),
        clauses=tuple(sorted(n.removeprefix(CLAUSE) for n in used if n.startswith(CLAUSE))),
        gaps=tuple(outcome.gaps) if reason else (),
    )
