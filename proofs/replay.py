"""Running a scenario on integers and telling what it broke: the only source of traces."""

from __future__ import annotations

import traceback

from model.engine import Engine
from model.policies import POLICIES
from model.request import Request
from proofs.play import Moment, Play
from proofs.scenario import AnswersExhausted, RecordedWorld, Scenario
from proofs.trace import RequestLine, Trace, TraceStep, Violation, config_to_json
from spec.records import LOADING, SCHEDULED, Decision


class NotReproduced(Exception):
    """The scenario ran and the promise was kept: the counterexample is not one."""


def replay(scenario: Scenario, invariant: str) -> Trace:
    """Run a scenario on the model and return the trace up to the first breach of ``invariant``.

    Raises:
        NotReproduced: the run ended, or asked for answers the scenario lacks, without a breach.
    """
    requests: dict[str, Request] = {}
    events: dict[tuple[int, int], list[str]] = {}

    def enter(step: int, rank: int, engine: Engine) -> None:
        said = events.setdefault((step, rank), [])
        for order, arrival in enumerate(scenario.arrivals):
            if arrival.step == step and arrival.rank == rank:
                request = Request(
                    arrival.request_id,
                    arrival.num_prompt_tokens,
                    arrival.max_tokens,
                    arrival.priority,
                    order,
                )
                requests[request.request_id] = request
                engine.add_request(request)
                said.append(
                    f"{request.request_id} arrives: {request.num_prompt_tokens} prompt tokens, "
                    f"max_tokens {request.max_tokens}"
                )
        for when, name in scenario.aborts:
            if when == step and name in requests:
                engine.abort(requests[name])
                said.append(f"{name} is aborted by the client")

    worlds = [RecordedWorld(answers) for answers in scenario.answers]
    play = Play(scenario.config, POLICIES[scenario.policy], worlds, enter)
    violation = None
    for number in range(scenario.num_steps):
        crash = _step(play, number)
        broken = next(
            (p for p in play.promises if p.invariant == invariant and not p.claim.holds), None
        )
        play.promises.clear()
        if broken is not None:
            violation = Violation.of(invariant, broken.claim, broken.request)
        elif crash is not None and invariant == "no-reachable-assert":
            violation = crash
        if violation is not None:
            rank = broken.rank if broken is not None else 0
            return Trace(
                invariant,
                scenario.policy,
                config_to_json(scenario.config),
                _steps(play.moments, events, violation, number, rank),
                scenario=scenario.to_json(),
            )
        if crash is not None:
            break
    raise NotReproduced(f"{invariant} holds on the replayed execution")


def _step(play: Play, number: int) -> Violation | None:
    """One step; an exception of the model is a violation, one of the replay is not."""
    try:
        play.step(number)
    except AnswersExhausted:
        play.close(number)
        raise NotReproduced("the replay asked for an answer the scenario does not have") from None
    except Exception as error:
        play.close(number)
        where = traceback.extract_tb(error.__traceback__)[-1]
        sentence = f"{type(error).__name__} in {where.name}: {error}"
        return Violation("no-reachable-assert", 1, "==", 0, {"exceptions": 1}, sentence, "")
    return None


def _steps(
    moments: list[Moment],
    events: dict[tuple[int, int], list[str]],
    violation: Violation,
    at: int,
    rank: int,
) -> tuple[TraceStep, ...]:
    return tuple(
        TraceStep(
            step=moment.step,
            rank=moment.rank,
            requests=tuple(RequestLine.of(decision) for decision in moment.decisions),
            decision="; ".join(_in_words(decision) for decision in moment.decisions) or "idle",
            events=(
                *events.get((moment.step, moment.rank), ()),
                *(
                    f"output booked for {b.request_id}: {b.num_emitted_tokens} token(s), "
                    f"{b.num_tokens} in all"
                    for b in moment.bookings
                ),
            ),
            violated=violation if (moment.step, moment.rank) == (at, rank) else None,
        )
        for moment in moments
    )


def _in_words(decision: Decision) -> str:
    if decision.outcome == SCHEDULED:
        rows = decision.num_scheduled_tokens
        drafts = decision.num_draft_tokens
        return f"{decision.request_id} {decision.reason}: {rows} rows, {drafts} drafts"
    if decision.outcome == LOADING:
        return f"{decision.request_id}: {decision.reason}"
    return f"{decision.request_id} {decision.outcome}: {decision.reason}"
