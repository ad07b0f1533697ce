"""Running a scenario on integers and telling what it broke: the only source of traces."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from model.engine import Engine
from model.environment import Sample
from model.policies import POLICIES
from model.request import Request
from proofs.play import Moment, Play
from proofs.raised import violation_of
from proofs.scenario import AnswersExhausted, RecordedWorld, Scenario
from proofs.trace import RequestLine, Trace, TraceStep, Violation, config_to_json
from spec.records import LOADING, SCHEDULED, Decision

NO_ASSERT = "no-reachable-assert"
RAISED = "raised"
"""The outcome of a request the scheduler died on: there is no decision about it."""


class NotReproduced(Exception):
    """The scenario ran and the promise was kept: the counterexample is not one."""


class LacksAnswers(NotReproduced):
    """The scenario's answers ended before the execution did: nothing was shown."""


class _TellingWorld(RecordedWorld):
    """Reads the answers back and says in words what they were."""

    def __init__(self, answers: tuple[object, ...]) -> None:
        super().__init__(answers)
        self.before: list[str] = []
        """Since the step began, ahead of the decision it led to."""
        self.after: list[str] = []

    def told(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What was said since the last call: before the decision, and after it."""
        said = tuple(self.before), tuple(self.after)
        self.before.clear()
        self.after.clear()
        return said

    def prefix_hit(self, request: Request) -> int:
        hit = super().prefix_hit(request)
        if hit:
            self.before.append(f"prefix cache holds {count(hit, 'token')} of {request.request_id}")
        return hit

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        matched, load_async = super().connector_match(request, num_local_tokens)
        if matched:
            how = "loading them in the background" if load_async else "already loaded"
            self.before.append(
                f"KV connector has {count(matched, 'token')} of {request.request_id}, {how}"
            )
        return matched, load_async

    def load_finished(self, request: Request) -> bool:
        finished = super().load_finished(request)
        state = "has arrived" if finished else "is still loading"
        self.before.append(f"KV of {request.request_id} {state}")
        return finished

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        sample = super().sample(request, num_draft_tokens, padded)
        if sample.stop_after:
            self.after.append(f"{request.request_id} samples its stop token")
        return sample

    def draft(self, request: Request) -> int:
        drafts = super().draft(request)
        if drafts:
            self.after.append(f"drafter proposes {count(drafts, 'draft')} for {request.request_id}")
        return drafts


def replay(scenario: Scenario, invariant: str, without: Collection[str] = ()) -> Trace:
    """Run a scenario on the model and return the trace up to the first breach of ``invariant``.

    ``without`` names waivers that are not to excuse anything.

    Raises:
        NotReproduced: the run ended, or asked for answers the scenario lacks, without a breach.
    """
    requests: dict[str, Request] = {}
    told: dict[tuple[int, int], list[str]] = {}

    def enter(step: int, rank: int, engine: Engine) -> None:
        said = told.setdefault((step, rank), [])
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
                    f"{request.request_id} arrives: "
                    f"{count(int(request.num_prompt_tokens), 'prompt token')}, "
                    f"max_tokens {request.max_tokens}"
                    + (
                        f", priority {request.priority}"
                        if engine.config.priority_scheduling
                        else ""
                    )
                )
        for when, name in scenario.aborts:
            if when == step and name in requests and _rank_of(scenario, name) == rank:
                engine.abort(requests[name])
                said.append(f"{name} is aborted by the client")

    worlds = [_TellingWorld(answers) for answers in scenario.answers]
    play = Play(scenario.config, POLICIES[scenario.policy], worlds, enter)
    steps: list[TraceStep] = []
    for number in range(scenario.num_steps):
        known = len(play.moments)
        try:
            crash = _step(play, number)
        except AnswersExhausted as error:
            # Where the scheduler raised, the world was asked nothing more: now it goes on.
            scheduled = number == scenario.num_steps - 1 and error.asked in ("sample", "draft")
            lacks = NotReproduced if scheduled and invariant == NO_ASSERT else LacksAnswers
            raise lacks(f"step {number} asks for an answer it does not have: {error}") from None
        for moment in play.moments[known:]:
            steps.append(_in_trace(moment, told.get((number, moment.rank), []), worlds))
        broken = next(
            (
                p
                for p in play.promises
                if p.invariant == invariant and not p.claim.without(without).holds
            ),
            None,
        )
        play.promises.clear()
        violation, rank = None, 0
        if broken is not None:
            violation, rank = Violation.of(invariant, broken.claim, broken.request), broken.rank
        elif crash is not None and invariant == crash.id:
            violation, rank = crash, _rank_of(scenario, crash.request)
        if violation is not None:
            at = next(i for i, s in enumerate(steps) if (s.step, s.rank) == (number, rank))
            steps[at] = replace(steps[at], violated=violation)
            if crash is not None and crash.request in requests:
                steps[at] = _with_raised(steps[at], requests[crash.request])
            return Trace(
                invariant,
                scenario.policy,
                config_to_json(scenario.config),
                tuple(steps),
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
        raise
    except Exception as error:
        play.close(number)
        return violation_of(error)
    return None


def _rank_of(scenario: Scenario, request: str) -> int:
    return next((a.rank for a in scenario.arrivals if a.request_id == request), 0)


def _in_trace(moment: Moment, said: list[str], worlds: list[_TellingWorld]) -> TraceStep:
    before, after = worlds[moment.rank].told()
    booked = (
        f"output of {b.request_id} booked: {count(int(b.num_emitted_tokens), 'token')}, "
        f"{b.num_tokens} in all"
        for b in moment.bookings
    )
    return TraceStep(
        step=moment.step,
        rank=moment.rank,
        requests=tuple(RequestLine.of(decision) for decision in moment.decisions),
        decision="; ".join(_in_words(decision) for decision in moment.decisions) or "idle",
        events=(*said, *before),
        booked=(*booked, *after),
    )


def _with_raised(step: TraceStep, request: Request) -> TraceStep:
    """The step with a line for the request the scheduler died on."""
    name = request.request_id
    if any(line.request_id == name for line in step.requests):
        return step
    line = RequestLine(
        name,
        int(request.num_tokens),
        int(request.num_computed_tokens),
        int(request.num_output_placeholders),
        int(request.num_spec_tokens),
        0,
        0,
        False,
        RAISED,
        "the scheduler dies before it decides",
    )
    words = [*([] if step.decision == "idle" else [step.decision]), f"{name} raises"]
    return replace(step, requests=(*step.requests, line), decision="; ".join(words))


def _in_words(decision: Decision) -> str:
    if decision.outcome == SCHEDULED:
        rows = count(int(decision.num_scheduled_tokens), "row")
        drafts = count(int(decision.num_draft_tokens), "draft")
        return f"{decision.request_id} {decision.reason}: {rows}, {drafts}"
    if decision.outcome == LOADING:
        return f"{decision.request_id}: {decision.reason}"
    return f"{decision.request_id} {decision.outcome}: {decision.reason}"


def count(number: int, what: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{number} {what}{'' if number == 1 else 's'}"
