"""One inductive step of a text: which promises hold from every state its own steps keep.

The clauses a text keeps are found, not assumed: start from all, drop those some run breaks, and
begin again until none is dropped.  A promise is *proved* when it holds at the end of every path
from every state satisfying the kept clauses, *violated* when a counterexample was run again on
integers and broke it there, and *undecided* otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from proofs.clauses import SERVES
from proofs.source.errors import Rejected, said
from proofs.source.loader import Loaded
from proofs.source.objects.host import RAN_ON, RanOn, bounded
from proofs.source.proving.conclude import findings_about
from proofs.source.proving.outcome import Candidate, Outcome, Topic
from proofs.source.proving.raised import INVARIANT as ASSERT
from proofs.source.proving.sites import site_of
from proofs.source.proving.witness import disagreement
from proofs.source.runs.due import Due, Spelled
from proofs.source.runs.goals import Goal
from proofs.source.runs.harness import CLAUSE, UNJUDGED, Harness
from proofs.source.runs.shapes import Task
from proofs.source.verdicts import Finding
from proofs.symbolic import (
    Answer,
    Exploration,
    Gap,
    Ground,
    Limits,
    NondeterminismError,
    Path,
    Proved,
    Refuted,
    evaluate,
)
from proofs.symbolic import Undecided as Unknown
from proofs.verdict import ASYNC, SYNC, Statistics
from spec.invariants import IDS
from spec.logic import all_of, not_

AMBIGUOUS = (AttributeError, NameError)
"""Exceptions that may come from the profile as well as from the text."""
NOT_THE_SAME = "the text does not do the same again from the same state"
"""It keeps state where nobody looks: no verdict is worth anything then."""
SIZES = ("max_model_len", "num_spec_tokens", "long_prefill_token_threshold")
"""Knobs made small first in a counterexample."""


def check_mode(
    loaded: Loaded,
    tasks: Iterable[Task],
    scope: str,
    limits: Limits,
    inductive: bool,
    ground: Ground | None = None,
) -> tuple[list[Finding], tuple[str, ...], Statistics]:
    """Every invariant on one text under one scheduling mode.

    Args:
        tasks: the explorations; together they cover the mode.
        scope: what a proof covers, in words.
        inductive: whether the tasks make up the whole loop, so that clauses must be kept.
        ground: what is known beforehand.
    """
    tasks, ground, spelled = list(tasks), ground or Ground(), Spelled()
    statistics = Statistics()
    everything = frozenset(SERVES) - UNJUDGED
    kept = everything
    breakers: set[str] = set()
    while True:
        outcome = Outcome(relied_on=kept if inductive else frozenset())
        # A broken clause makes the round void, which is the cheaper the sooner it shows: what broke
        # one before comes first.
        for task in sorted(tasks, key=lambda task: task.name not in breakers):
            explore(loaded, task, kept, limits, outcome, ground, spelled)
            if outcome.is_void:
                breakers.add(task.name)
                break
        statistics += outcome.statistics
        if not outcome.is_void:
            break
        kept -= outcome.broken
    dropped = tuple(sorted(everything - kept)) if inductive else ()
    mode = ASYNC if tasks[0].features.async_scheduling else SYNC
    findings = [
        finding
        for invariant in IDS
        if invariant in outcome.spoken or invariant == ASSERT or outcome.doubts
        for finding in findings_about(loaded, outcome, invariant, mode, scope, kept, dropped)
    ]
    return findings, dropped, statistics


# -- exploring -------------------------------------------------------------------------------------


def explore(
    loaded: Loaded,
    task: Task,
    kept: frozenset[str],
    limits: Limits,
    outcome: Outcome,
    ground: Ground | None = None,
    spelled: Spelled | None = None,
) -> None:
    """All paths of one task.

    ``ground`` and ``spelled``: of the tasks before it; both or neither.
    """
    host, spelled = loaded.host, spelled or Spelled()

    built: list[Harness] = []

    def run(context: Any) -> list[Due]:
        with bounded(host):
            built.clear()
            built.append(Harness(loaded, task.context(context), task.features, kept))
            due = task.scenario(built[0])
            built[0].settle()
            return due

    try:
        with Exploration(run, limits, ground) as exploration:
            for path in exploration:
                _judge(loaded, task, path, spelled, built[0] if built else None, outcome)
                if outcome.counts and not path.unsupported:
                    doubt = disagreement(loaded, task, path, kept)
                    if doubt:
                        outcome.doubts.append(f"{task.name}, run as it is written: {doubt}")
                for gap in host.gaps:
                    outcome.gaps[gap] = None
                if outcome.satisfied:
                    return
            complete, reasons = exploration.complete, exploration.reasons
            s = exploration.statistics
            outcome.pruned_by |= exploration.used_assumptions
    except RanOn as ran_on:
        raise Rejected(ran_on.file, ran_on.line, RAN_ON) from None
    except NondeterminismError:
        outcome.doubts.append(f"{task.name}: {NOT_THE_SAME}")
        return
    outcome.statistics += Statistics(s.wall_seconds, s.paths, s.queries, s.solver_seconds)
    if not complete:
        outcome.doubts += [f"{task.name}: {reason}" for reason in reasons or ("stopped early",)]
    if s.paths == 0:
        outcome.doubts.append(f"{task.name}: no state satisfies the assumptions")


def _told(gap: Gap, files: Collection[str]) -> str:
    """Why a path is undecided, and where in the text, if the reason does not say so itself."""
    named = gap.where.file not in files or gap.reason.startswith(gap.where.file)
    return gap.reason if named else f"{gap.where}: {gap.reason}"


def _judge(
    loaded: Loaded,
    task: Task,
    path: Path[list[Due]],
    spelled: Spelled,
    harness: Harness | None,
    outcome: Outcome,
) -> None:
    """Put every goal of one path to the solver."""
    if path.unsupported:
        outcome.doubts += [_told(gap, loaded.host.files) for gap in path.unsupported]
        return
    outcome.doubts += (doubt for doubt in path.doubts if doubt not in outcome.doubts)
    if path.error is not None:
        if outcome.is_void:
            return
        doubt = from_profile(loaded, path.error)
        if doubt is not None or harness is None:
            outcome.doubts.append(doubt or f"the scheduler cannot be built: {said(path.error)}")
        else:
            site = site_of(loaded, path.error)
            assert site is not None, "`from_profile` doubts what the text did not raise"
            _propose(path, task, harness, ((ASSERT, site.name), task.name), True, outcome)
        return
    assert harness is not None
    (due, spoken), void = spelled.out(path.value or []), outcome.is_void
    goals = [
        goal
        for goal in due
        if (goal.name not in outcome.broken if goal.claim is None else not void)
    ]
    if not void:
        outcome.spoken |= spoken
    for goal, answer in zip(goals, _answers(path, goals, outcome.used), strict=True):
        if isinstance(answer, Proved):
            if answer.core:
                outcome.used.setdefault(goal.invariant, set()).update(answer.core)
        elif goal.claim is None:
            outcome.broken.add(goal.name)
        elif isinstance(answer, Refuted):
            broken = all_of(not_(goal.formula), *goal.granted.values())
            key = (goal.invariant, ""), f"{goal.name} of {goal.request}, {task.name}"
            _propose(path, task, harness, key, broken, outcome)
        else:
            assert isinstance(answer, Unknown)
            outcome.doubtful[goal.invariant] = answer.reason


def _answers(
    path: Path[list[Due]], goals: list[Goal], used: Mapping[str, Collection[str]]
) -> list[Answer]:
    """What the solver says of each goal, in as few queries as that takes.

    Most goals need none of the hypotheses they are granted: they are asked without them first, but
    where their invariant rests on some already.  What is left is asked again, together with those
    that share their hypotheses.

    ``used``: invariant → the assumptions it rests on already; only others are worth avoiding.
    """

    def dear(name: str, assumption: str) -> bool:
        free = used.get(goals[int(name)].invariant, ())
        return assumption not in free and not assumption.startswith(CLAUSE)

    named = {str(index): goal for index, goal in enumerate(goals)}
    plain = {
        name: goal.formula
        for name, goal in named.items()
        if not goal.granted or goal.granted.keys().isdisjoint(used.get(goal.invariant, ()))
    }
    answers = path.prove_each(plain, {}, dear)
    again = {
        name: goal
        for name, goal in named.items()
        if goal.granted and (name not in plain or not isinstance(answers[name], Proved))
    }
    for granted, group in _grouped(again):
        answers |= path.prove_each({n: named[n].formula for n in group}, granted, dear)
    return [answers[name] for name in named]


def _grouped(goals: Mapping[str, Goal]) -> Iterable[tuple[Mapping[str, Any], list[str]]]:
    """The names of goals that share their hypotheses, to be asked together."""
    groups: dict[tuple[tuple[str, int], ...], tuple[Mapping[str, Any], list[str]]] = {}
    for name, goal in goals.items():
        key = tuple((tag, id(formula)) for tag, formula in goal.granted.items())
        groups.setdefault(key, (goal.granted, []))[1].append(name)
    return groups.values()


def _propose(
    path: Path[list[Due]],
    task: Task,
    harness: Harness,
    key: tuple[Topic, str],
    doubt: Any,
    outcome: Outcome,
) -> None:
    """Keep the path's smallest counterexample, if it is smaller than the one known.

    ``key``: the topic, and which of its promises is broken in which run.
    """
    if outcome.enough is not None and key[0] not in outcome.enough:
        return
    config = harness.config
    order: list[Any] = [getattr(config, name) for name in SIZES]
    known = outcome.candidates.get(key)
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
        outcome.candidates[key] = Candidate(task, model, size)


def from_profile(loaded: Loaded, error: BaseException) -> str | None:
    """Why an exception is no verdict on the text, if it is none."""
    host = loaded.host
    frames = host.frames(error)
    inside = bool(frames) and frames[-1][0] in host.files
    mine = [f"{file}:{line}" for file, line in frames if file in host.files]
    where = mine[-1] if mine else "harness"
    call = isinstance(error, TypeError) and "argument" in said(error)
    if not inside or call or isinstance(error, AMBIGUOUS):
        return f"{where}: {type(error).__name__}: {said(error)} (text or profile?)"
    return None
