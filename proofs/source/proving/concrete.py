"""Running the same text again on the numbers of a counterexample.

No number in a report comes from a solver: the model's answers to the free questions are put to the
same harness on plain integers, the text runs on them, and the trace shows what it then did.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from proofs.source.errors import said
from proofs.source.loader import Loaded
from proofs.source.objects.host import noted_lines
from proofs.source.proving import raised
from proofs.source.proving.lines import Tracer
from proofs.source.proving.sites import site_of
from proofs.source.proving.telling import Raise, known_config, steps_of
from proofs.source.runs.due import goals_of
from proofs.source.runs.goals import Goal
from proofs.source.runs.harness import Harness
from proofs.source.runs.shapes import Task
from proofs.trace import Trace, Violation


class NotReplayed(Exception):
    """On integers the text did not break the promise: the counterexample is not one."""


class Numbers:
    """A context whose answers are given; a question beyond them gets the number nearest zero."""

    def __init__(self, answers: Mapping[str, int]) -> None:
        self.answers = dict(answers)
        self.used: dict[str, int] = {}

    def int(self, name: str, lo: int | None = None, hi: int | None = None) -> int:
        """The recorded number."""
        default = max(lo if lo is not None else 0, 0)
        value = int(self.answers.get(name, default if hi is None else min(default, hi)))
        self.used[name] = value
        return value

    def bool(self, name: str) -> bool:
        """The recorded truth value."""
        value = bool(self.answers.get(name, False))
        self.used[name] = value
        return value

    def assume(self, condition: Any, name: str | None = None) -> None:
        """What was assumed must hold of the numbers."""
        if not condition:
            raise NotReplayed(f"the numbers do not satisfy {name or 'the harness'}")

    def unsupported(self, reason: str) -> NoReturn:
        """The text leaves the profile."""
        raise NotReplayed(reason)


@dataclass(slots=True)
class Run:
    """One run on integers."""

    harness: Harness | None
    goals: list[Goal]
    error: Exception | None
    tracer: Tracer


def run(
    loaded: Loaded, task: Task, answers: Mapping[str, int], kept: Collection[str] | None = None
) -> Run:
    """Run a scenario on the given numbers, watching which lines of the text are executed.

    The text runs as it is written: if merging changed what it computes, a counterexample that rests
    on that is none.
    """
    loaded = loaded.as_written
    loaded.host.row_lines = {}
    tracer = Tracer(loaded)
    built: list[Harness] = []
    try:
        context = task.context(Numbers(answers))
        harness = Harness(loaded, context, task.features, kept)
        built.append(harness)
        with tracer:
            goals = goals_of(task.scenario(harness))
        return Run(harness, goals, None, tracer)
    except NotReplayed:
        raise
    except Exception as error:
        return Run(built[0] if built else None, [], error, tracer)
    finally:
        loaded.host.row_lines = None


def replay(
    loaded: Loaded,
    task: Task,
    answers: Mapping[str, int],
    invariant: str,
    kept: Collection[str] | None = None,
    site: str = "",
) -> Trace:
    """Run a counterexample on integers and show what the text does.

    Args:
        site: the statement that is to raise, by name; empty: any.

    Raises:
        NotReplayed: the promise is kept, or the numbers are not a legal state.
    """
    loaded = loaded.as_written
    ran = run(loaded, task, answers, kept)
    if ran.harness is None:
        raise NotReplayed(f"the scheduler cannot be built: {said(ran.error)}")
    ended, rank = None, 0
    if ran.error is not None:
        place = site_of(loaded, ran.error)
        if invariant != raised.INVARIANT or place is None or site not in ("", place.name):
            raise NotReplayed(f"the text raises {type(ran.error).__name__}: {said(ran.error)}")
        file, line = place.file, place.line
        violation = raised.violation_of(loaded, ran.error, place)
        ended = Raise(violation.request, *raised.given_at(loaded, ran.error))
    else:
        goal = _broken(ran.goals, invariant)
        assert goal.claim is not None
        violation = Violation.of(invariant, goal.claim, goal.request)
        rank = goal.rank
        file, line = ran.tracer.behind(rows_line(ran, goal.request, rank))
    return Trace(
        invariant=invariant,
        policy=task.name,
        config=known_config(ran.harness),
        steps=steps_of(ran.harness, violation, ended, rank),
        source={"file": file, "line": line},
        branches=tuple(ran.tracer.branches(file, line)),
        scenario={
            "scenario": task.name,
            "answers": {k: int(v) for k, v in answers.items()},
            "world": [moment.world() for moment in ran.harness.moments],
        },
    )


def _broken(goals: list[Goal], invariant: str) -> Goal:
    """The first claim of the invariant that does not hold."""
    for goal in goals:
        about = goal.invariant == invariant and goal.claim is not None
        if about and not goal.formula and all(goal.granted.values()):
            return goal
    raise NotReplayed(f"{invariant} holds on the replayed run")


def rows_line(ran: Run, request: str, rank: int = 0) -> int | None:
    """The line that stored the request's rows."""
    assert ran.harness is not None
    moments = [ran.harness, *ran.harness.peers][rank].moments
    if not moments:
        return None
    lines = noted_lines(moments[-1].rows)
    return lines.get(request) if request else next(iter(lines.values()), None)
