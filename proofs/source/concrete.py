"""Running the same text again on the numbers of a counterexample.

No number in a report comes from a solver: the model's answers to the free questions are put to the
same harness on plain integers, the text runs on them, and the trace shows what it then did.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from proofs.source.goals import Goal
from proofs.source.harness import Harness
from proofs.source.host import noted_lines
from proofs.source.lines import Tracer
from proofs.source.loader import Loaded
from proofs.source.scenarios import Task
from proofs.source.state import Moment, Told
from proofs.trace import RequestLine, Trace, TraceStep, Violation, config_to_json
from spec.records import SCHEDULED, Decision


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
    """Run a scenario on the given numbers, watching which lines of the text are executed."""
    loaded.host.row_lines = {}
    tracer = Tracer(loaded)
    built: list[Harness] = []
    try:
        with tracer:
            context = task.context(Numbers(answers))
            harness = Harness(loaded, context, task.features, kept)
            built.append(harness)
            goals = task.scenario(harness)
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
) -> Trace:
    """Run a counterexample on integers and show what the text does.

    Raises:
        NotReplayed: the promise is kept, or the numbers are not a legal state.
    """
    ran = run(loaded, task, answers, kept)
    if ran.harness is None:
        raise NotReplayed(f"the scheduler cannot be built: {ran.error}")
    file, line = "", 0
    if ran.error is not None:
        position = ran.tracer.raised_at(ran.error)
        if invariant != "no-reachable-assert" or position is None:
            raise NotReplayed(f"the text raises {type(ran.error).__name__}: {ran.error}")
        file, line = position
        what = f"{type(ran.error).__name__} at {file}:{line}"
        if str(ran.error):
            what += f": {clean(str(ran.error))}"
        violation = Violation(invariant, 1, "==", 0, {"exceptions": 1}, what, "")
    else:
        goal = _broken(ran.goals, invariant)
        assert goal.claim is not None
        violation = Violation.of(invariant, goal.claim, goal.request)
        file, line = ran.tracer.behind(rows_line(ran, goal.request))
    return Trace(
        invariant=invariant,
        policy=task.name,
        config=config_to_json(ran.harness.config),
        steps=_steps(ran.harness, violation),
        source={"file": file, "line": line},
        branches=tuple(ran.tracer.branches(file, line)),
        scenario={"scenario": task.name, "answers": {k: int(v) for k, v in answers.items()}},
    )


def _broken(goals: list[Goal], invariant: str) -> Goal:
    """The first claim of the invariant that does not hold."""
    for goal in goals:
        about = goal.invariant == invariant and goal.claim is not None
        if about and not goal.formula and all(goal.granted.values()):
            return goal
    raise NotReplayed(f"{invariant} holds on the replayed run")


def rows_line(ran: Run, request: str) -> int | None:
    """The line that stored the request's rows."""
    assert ran.harness is not None
    if not ran.harness.moments:
        return None
    lines = noted_lines(ran.harness.moments[-1].rows)
    return lines.get(request) if request else next(iter(lines.values()), None)


def _steps(harness: Harness, violation: Violation) -> tuple[TraceStep, ...]:
    """Every step of the run; the last one breaks the promise."""
    moments = harness.moments or [Moment()]
    steps = []
    for number, moment in enumerate(moments):
        lines = [RequestLine.of(d) for d in moment.decisions]
        last = moment is moments[-1]
        if last and not lines:
            lines = [_line(harness, request.request_id) for request in harness.everyone]
        decided = in_words(moment.decisions) or ("raised" if last else "nothing to schedule")
        events, booked = _told(moment.events), _told(moment.booked)
        broken = violation if last else None
        steps.append(TraceStep(number, 0, tuple(lines), decided, events, broken, booked))
    return tuple(steps)


def _told(sentences: Iterable[Told]) -> tuple[str, ...]:
    return tuple(sentence.format(*values) for sentence, values in sentences)


def _line(harness: Harness, name: str) -> RequestLine:
    """A request whose step ended in an exception: its counters before, and no decision."""
    was = harness.before.get(name) or harness.view(harness.scheduler.requests[name])
    return RequestLine(
        name,
        int(was.num_tokens),
        int(was.num_computed_tokens),
        int(was.num_output_placeholders),
        int(was.num_spec_tokens),
        0,
        0,
        False,
        "raised",
        "",
    )


def in_words(decisions: list[Decision]) -> str:
    """What a step decided."""
    return "; ".join(
        f"{d.request_id} {d.reason}: {d.num_scheduled_tokens} rows, {d.num_draft_tokens} drafts"
        if d.outcome == SCHEDULED
        else f"{d.request_id} {d.outcome}: {d.reason}"
        for d in decisions
    )


def clean(text: str, limit: int = 200) -> str:
    """Text from a source, made safe to print: one line, no control characters, not long."""
    safe = "".join(c if c.isprintable() else " " for c in text)
    return safe if len(safe) <= limit else safe[: limit - 3] + "..."
