"""The model beside a recording: the same arrivals, the same answers, compared after every line.

Cache, connector, block pool, runner and drafter answer as recorded; everything the scheduler
decides the model decides anew, with the padding policy and queue order of the recorded release.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from model.engine import Engine
from model.environment import Sample
from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from model.step import Scheduled, SchedulerOutput
from proofs.conform.releases import Release
from proofs.recorder import lines
from proofs.recorder.known import ABORTED, CAPPED, LOADING, OTHER, STOPPED
from proofs.recording.consistent import LACKING, SINCE
from spec.config import Config

COUNTERS = (
    "num_output_tokens",
    "num_computed_tokens",
    "num_output_placeholders",
    "num_spec_tokens",
    "num_in_flight_tokens",
    "num_stale_output_tokens",
    "is_prefill_chunk",
    "num_preemptions",
)
"""Compared for a live request, in the order of ``lines.STATE``."""
ENDED = {
    STOPPED: RequestStatus.FINISHED_STOPPED,
    CAPPED: RequestStatus.FINISHED_LENGTH_CAPPED,
    ABORTED: RequestStatus.FINISHED_ABORTED,
    OTHER: RequestStatus.FINISHED_ABORTED,
}


class Unlike(Exception):
    """The model does not do what was recorded; the message says what differs."""


class Answers:
    """The world, as recorded for one call."""

    def __init__(self) -> None:
        self.asked: dict[tuple[str, int], list[Any]] = {}
        self.refusals: list[int] = []
        self.states: dict[int, list[int]] = {}
        self.samples: dict[int, int] = {}
        self.output_before: dict[int, int] = {}

    def of_step(self, line: lines.Line) -> None:
        """Answer for one ``schedule`` call."""
        self.asked = {(what, request): told for what, request, *told in line["asked"]}
        self.refusals = [a[1] for a in line["asked"] if a[0] == "slots" and not a[4]]
        self.states = {state[0]: state for state in line.get("state", ())}

    def prefix_hit(self, request: Request) -> int:
        return int(self._told("hit", request)[0])

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        told = self.asked.get(("match", _number(request)))
        return (max(told[1], 0), bool(told[2])) if told else (0, False)

    def load_finished(self, request: Request) -> bool:
        state = self.states.get(_number(request))
        return state is not None and state[1] != LOADING

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        number = _number(request)
        generated, state = self.samples.get(number, 0), self.states.get(number)
        stopped = state is not None and state[1] == STOPPED
        kept = state[2] - request.num_output_tokens if state is not None else 0
        return Sample(generated, 0, max(kept, 0) if stopped else 0)

    def draft(self, request: Request) -> int:
        return request.num_spec_tokens  # what the drafter proposed is a line of its own

    def _told(self, what: str, request: Request) -> list[Any]:
        try:
            return self.asked[what, _number(request)]
        except KeyError:
            asks = f"the model looks for a {what} of {request.request_id}, the engine did not"
            raise Unlike(asks) from None


class RecordedPool:
    """The block pool, as recorded: it grants all but what the engine's refused."""

    def __init__(self, config: Config, answers: Answers) -> None:
        self.block_size, self.num_free_blocks = config.block_size, config.num_gpu_blocks
        self.answers = answers

    def allocate_slots(self, request: Request, num_tokens: int) -> bool:
        refusals = self.answers.refusals
        if refusals and refusals[0] == _number(request):
            del refusals[0]
            return False
        return True

    def free(self, request: Request) -> None:
        """Blocks are not counted here."""

    def capacity(self, request: Request) -> int:
        return request.num_blocks * self.block_size


class ModelSide:
    """The model, driven by a recording.

    Args:
        config: the recorded knobs.
        release: the model of the recorded release.
        has_stale: the release tells stale output apart (0.27).
    """

    def __init__(self, config: Config, release: Release) -> None:
        self.config, self.release = config, release
        self.answers = Answers()
        self.requests: dict[int, Request] = {}
        self._waiting: list[int] = []
        self._held: list[int] = []
        self._restart()

    def take(self, line: lines.Line) -> None:
        """One more line.

        Raises:
            Unlike: the model does something else.
        """
        getattr(self, f"_{line['kind']}")(line)
        if line["kind"] in (lines.ADD, lines.SCHEDULE, lines.BOOK, lines.FINISH):
            self._compare(line)

    # -- the calls ------------------------------------------------------------------------------

    def _add(self, line: lines.Line) -> None:
        number, prompt, most, priority, arrival = line["request"]
        request = Request(f"r{number}", prompt, most, priority, arrival)
        self.requests[number] = request
        self.engine.add_request(request)

    def _schedule(self, line: lines.Line) -> None:
        self.answers.of_step(line)
        try:
            output = self.scheduler.schedule()
        except AssertionError as error:
            raise Unlike(f"the model raises: {error}") from error
        rows = [
            [_number(s.request), s.num_scheduled_tokens, s.num_draft_tokens]
            for s in output.scheduled
        ]
        _same("rows", rows, line["rows"])
        preempted = sorted(_number(request) for request in output.preempted_reqs)
        _same("preempted", preempted, sorted(line["preempted"]))
        _same("refusals left", [], self.answers.refusals)
        if output.scheduled:
            self.engine.in_flight.append(output)

    def _book(self, line: lines.Line) -> None:
        self.answers.samples = dict(line["samples"])
        self.answers.states = {state[0]: state for state in line["state"]}
        if not self.engine.in_flight:
            raise Unlike("output comes back, and the model has no step in flight")
        self.engine.book(self.engine.in_flight.popleft())

    def _draft(self, line: lines.Line) -> None:
        for number, drafts in line["drafts"]:
            request = self.requests[number]
            if request.is_prefill_chunk:
                _same(f"r{number}.num_spec_tokens", 0, drafts)
            request.num_spec_tokens = drafts

    def _finish(self, line: lines.Line) -> None:
        for state in line["state"]:
            request = self.requests[state[0]]
            if not request.is_finished:
                self.scheduler.finish(request, ENDED[state[1]])

    def _raised(self, line: lines.Line) -> None:
        if line["during"] != "schedule":
            raise Unlike(f"the engine raises {line['error']} in {line['during']}")
        self.answers.of_step(line)
        try:
            output = self.scheduler.schedule()
        except AssertionError:
            return
        given = [(s.request.request_id, s.num_scheduled_tokens) for s in output.scheduled]
        raise Unlike(f"the engine raises {line['error']}, the model schedules {given}")

    def _snapshot(self, line: lines.Line) -> None:
        """Begin anew from what the snapshot tells."""
        self._restart()
        for number, prompt, most, priority, arrival in line["requests"]:
            self.requests[number] = Request(f"r{number}", prompt, most, priority, arrival)
        for state in line["state"]:
            request = self.requests[state[0]]
            for name, value in zip(COUNTERS, state[2:], strict=False):
                setattr(request, name, bool(value) if name == "is_prefill_chunk" else value)
            request.status = _status(state[1])
        scheduler = self.scheduler
        scheduler.running = [self.requests[n] for n in line["running"]]
        scheduler.waiting = [self.requests[n] for n in line["waiting"]]
        scheduler.kv_holding_waiting = [self.requests[n] for n in line["held"]]
        for _, shares in line["in_flight"]:
            given = tuple(
                Scheduled(self.requests.setdefault(n, _gone(n)), rows, drafts, padded, samples)
                for n, rows, drafts, padded, samples in shares
            )
            self.engine.in_flight.append(SchedulerOutput(given, ()))
        self._waiting, self._held = line["waiting"], line["held"]

    def _end(self, line: lines.Line) -> None:
        """Nothing to do."""

    def _restart(self) -> None:
        self.requests.clear()
        self.engine = Engine(self.config, self.release.policy, self.answers)
        self.engine.scheduler = self.release.scheduler(
            self.config, self.release.policy, self.answers
        )
        pool: Any = RecordedPool(self.config, self.answers)
        self.engine.scheduler.kv_cache_manager = pool
        self._waiting, self._held = [], []

    @property
    def scheduler(self) -> Scheduler:
        """The model's."""
        return self.engine.scheduler

    # -- the comparison -------------------------------------------------------------------------

    def _compare(self, line: lines.Line) -> None:
        scheduler = self.scheduler
        self._waiting = line.get("waiting", self._waiting)
        self._held = line.get("held", self._held)
        _same(
            "running", _numbers(scheduler.running), line.get("running", _numbers(scheduler.running))
        )
        _same("waiting", _numbers(scheduler.waiting), self._waiting)
        _same("held", _numbers(scheduler.kv_holding_waiting), self._held)
        for state in line.get("state", ()):
            for name, mine, theirs in self._counters(state):
                _same(f"r{state[0]}.{name}", mine, theirs)
        if line["kind"] == lines.BOOK:
            flying = {s.request for output in self.engine.in_flight for s in output.scheduled}
            self.requests = {
                n: r for n, r in self.requests.items() if not r.is_finished or r in flying
            }

    def _counters(self, state: list[int]) -> Iterator[tuple[str, object, object]]:
        request = self.requests[state[0]]
        yield "status", request.status.name, _status(state[1]).name
        if request.is_finished:
            yield "num_output_tokens", request.num_output_tokens, state[2]
            return
        for name, theirs in zip(COUNTERS, state[2:], strict=False):
            if theirs != LACKING or name not in SINCE:
                yield name, int(getattr(request, name)), theirs


def _number(request: Request) -> int:
    return int(request.request_id[1:])


def _numbers(queue: list[Request]) -> list[int]:
    return [_number(request) for request in queue]


def _status(number: int) -> RequestStatus:
    return ENDED.get(number) or RequestStatus[lines.STATUSES[number]]


def _gone(number: int) -> Request:
    """A request that ended before the snapshot and still has rows in flight."""
    request = Request(f"r{number}", 1, 1)
    request.status = RequestStatus.FINISHED_ABORTED
    return request


def _same(name: str, mine: object, theirs: object) -> None:
    if mine != theirs:
        raise Unlike(f"{name}: model {mine}, engine {theirs}")
