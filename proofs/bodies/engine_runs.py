"""The engine around the scheduler: whole runs of a few requests, until everybody has ended.

The other bodies assume that the output of each step is booked once, oldest first
(``output-in-order``), and under sync scheduling before the next step is decided
(``sync-all-booked``).  Here the model's own engine is played on integers, its answers read from a
script, and must keep that.  A run that does not end within a bound is a broken promise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from operator import attrgetter
from typing import Any

from model.policies import RECOMMENDED
from model.request import Request, RequestStatus
from model.step import SchedulerOutput
from proofs.bodies.counting import COUNTS, unfit
from proofs.bodies.script import Endless
from proofs.bodies.sealed import SEES, Peeked
from proofs.bodies.watched import Script, WatchedEngine
from proofs.frame import keeps_order
from proofs.goal import Goal
from proofs.harness import Harness
from proofs.known_fields import FRESH
from spec.config import Config
from spec.records import PoolState, RequestState

MOST_STEPS = 60
DRAFTERS = ((0, 1), (2, 1), (2, 0))
"""K and s: no drafter, a drafter, a diffusion canvas."""
POOLS = (64, 8)
"""KV blocks: for everybody; for one request of full length, so that requests are preempted."""
SEATS = (4, 3)
USUALLY: dict[str, Any] = {
    "max_model_len": 16,
    "max_num_scheduled_tokens": 14,
    "max_num_batched_tokens": 20,
    "block_size": 2,
}
OTHERWISE: tuple[dict[str, Any], ...] = (
    {},
    {"max_num_scheduled_tokens": 16, "enable_chunked_prefill": False},
    {"draft_slots": 1},
    {"long_prefill_token_threshold": 3, "exempt_only_request": True},
    {"mamba_align": True},
    {"max_model_len": 14, "max_num_batched_tokens": 32},
    {"block_size": 1, "num_gpu_blocks": 16},
)
"""The other knobs: a run has the next of these."""
ABORTED = (
    None,
    RequestStatus.RUNNING,
    RequestStatus.WAITING,
    RequestStatus.PREEMPTED,
    RequestStatus.WAITING_FOR_REMOTE_KVS,
)
"""What the aborted request is doing; it is aborted as soon as somebody is seen doing that."""

CLIENTS = (
    ("ends by max_tokens", 3, 6, 1, 0),
    ("ends by its stop token", 5, 8, 1, 1),
    ("ends by max_model_len", 4, 20, 2, 2),
    ("comes late", 2, 5, -1, 3),
)
"""Names, prompts, most output tokens, priorities and arrivals."""
asked_for = attrgetter("request_id", "num_prompt_tokens", "max_tokens", "priority", "arrival_time")

SERVES = {
    "a new engine is empty and as configured": "request-conservation",
    "an engine remembers nothing but the steps in flight": "placeholder-accounting",
    "steps are booked once, oldest first": "placeholder-accounting",
    "async scheduling has one step in flight, sync none": "placeholder-accounting",
    "rows in flight are those of steps not booked": "placeholder-accounting",
    "what a step leaves is recorded": "block-accounting",
    "each share is booked with its own sample and drafts": "placeholder-accounting",
    "the last or the least urgent is preempted": "progress",
    "who stays in a queue keeps the order": "progress",
    "every request ends": "progress",
    "an engine with work left says so": "progress",
    "a request gets the tokens that were returned for it": "progress",
    "a request ends where its stop token or its length says": "length-capped-finish",
    "who is aborted leaves at once, and alone": "request-conservation",
    "each request ends once": "request-conservation",
    "a request is what the client asked for": "request-conservation",
    "every block comes back": "block-accounting",
    "a step is the same whether it is recorded or not": "progress",
}
"""What the other bodies rest on → the catalogue id at stake when the engine breaks it."""
Kept = Iterator[tuple[str, bool]]
"""An entry of ``SERVES``, and whether it was kept."""


def engine_runs(h: Harness) -> None:
    """One goal per entry of ``SERVES``: it holds in every run."""
    if h.config.mamba_align:  # the runs bring their own configurations: one path plays them
        return
    for what in unfit():
        h.context.note(f"{COUNTS}: {what}")
    broken = {name for name, holds in all_runs(h.config.async_scheduling) if not holds}
    h.goals += [Goal(served, name, name not in broken) for name, served in SERVES.items()]
    h.goals += [Goal(served, SEES, SEES not in broken) for served in dict.fromkeys(SERVES.values())]


def all_runs(async_scheduling: bool) -> Kept:
    """Every promise of every run under one mode."""
    combinations = product(DRAFTERS, zip(POOLS, SEATS, strict=True), (False, True), ABORTED)
    for serial, ((drafts, sampled), (blocks, seats), priority, aborted) in enumerate(combinations):
        knobs = {
            "async_scheduling": async_scheduling,
            "priority_scheduling": priority,
            "num_spec_tokens": drafts,
            "num_sampled_tokens_per_step": sampled,
            "max_num_seqs": seats,
            "num_gpu_blocks": blocks,
        }
        config = Config.checked(**(USUALLY | knobs | OTHERWISE[serial % len(OTHERWISE)]))
        runs = [_Run(config, aborted, recorded) for recorded in (False, True)]
        for run in runs:
            yield from run.play()
        yield "a step is the same whether it is recorded or not", runs[0].told == runs[1].told


class _Run:
    """Four requests, of which the last comes late and is the most urgent."""

    def __init__(self, config: Config, aborted: RequestStatus | None, recorded: bool) -> None:
        self.config = config
        self.aborted = aborted
        self.gone: Request | None = None
        self.requests = [Request(*client) for client in CLIENTS]
        _, stops, loads, late = self.requests
        self.script = Script(config, {stops: 3}, {loads}, {late})
        self.records: list[object] = []
        self.record = self.records.append if recorded else None
        self.engine = WatchedEngine(config, self.script, self.record)

    def play(self) -> Kept:
        engine = self.engine
        yield "a new engine is empty and as configured", self._is_new()
        for queue in self._queues():
            queue.append(self.requests[0])
            yield "an engine with work left says so", engine.has_unfinished_requests is True
            queue.clear()
        fresh = all(not getattr(request, name) for request in self.requests for name in FRESH)
        yield "a request is what the client asked for", fresh
        for request in self.requests[:-1]:
            engine.add_request(request)
        for number in range(MOST_STEPS):
            if number == 2:
                engine.add_request(self.requests[-1])
            if number >= 2 and self.gone is None:
                yield from self._abort()
            left = [r for r in self.requests if not r.is_finished]
            works = number < 2 or engine.has_unfinished_requests is bool(left)
            yield "an engine with work left says so", works
            if not left and not engine.seen.open_shares():
                break
            before = [list(queue) for queue in self._queues()]
            try:
                self.records.clear()
                output = engine.step()
            except Endless:
                break
            except Peeked:
                yield SEES, False
                break
            yield SEES, True
            kept = all(map(keeps_order, before, self._queues()))
            yield "who stays in a queue keeps the order", kept
            yield from self._after_a_step(output)
            if self.record is not None:
                yield "what a step leaves is recorded", self._recorded(output)
        yield from self._at_the_end()

    @property
    def told(self) -> list[list[tuple[str, int, int, bool, bool]]]:
        """What the runner was told in each step that gave rows."""
        return [
            [
                (
                    share.request.request_id,
                    share.num_scheduled_tokens,
                    share.num_draft_tokens,
                    share.padded,
                    share.samples,
                )
                for share in output.scheduled
            ]
            for output in self.engine.seen.decided
        ]

    def _is_new(self) -> bool:
        engine, scheduler = self.engine, self.engine.scheduler
        empty = not (engine.in_flight or engine.has_unfinished_requests or any(self._queues()))
        given = (
            *(self.config, self.script, self.record),
            *(self.config, RECOMMENDED, self.script, self.record),
        )
        pool = scheduler.kv_cache_manager
        return (
            empty
            and not scheduler.finished
            and scheduler.num_waiting_for_streaming_input == 0
            and all(one is other for one, other in zip(given, engine.made_of, strict=True))
            and pool.num_free_blocks == self.config.num_gpu_blocks
            and pool.block_size == self.config.block_size
        )

    def _abort(self) -> Kept:
        """Abort somebody, twice; the client may have sent it again."""
        scheduler = self.engine.scheduler
        doing = [r for r in self.requests if r.status is self.aborted]
        queued = [request for queue in self._queues() for request in queue]
        self.gone = next((r for r in doing if r in queued), None)
        if self.gone is None:
            return
        wanted = [[r for r in queue if r is not self.gone] for queue in self._queues()]
        ended = [*scheduler.finished, self.gone]
        free = scheduler.kv_cache_manager.num_free_blocks + self.gone.num_blocks
        for _ in range(2):
            self.engine.abort(self.gone)
        left = self._queues() == wanted and scheduler.finished == ended
        yield "who is aborted leaves at once, and alone", left
        back = scheduler.kv_cache_manager.num_free_blocks == free and self.gone.num_blocks == 0
        yield "every block comes back", back

    def _after_a_step(self, output: SchedulerOutput) -> Kept:
        engine = self.engine
        now = engine.own_fields()
        same = now.keys() == engine.seen.begun.keys() and all(
            now[name] is value for name, value in engine.seen.begun.items()
        )
        yield "an engine remembers nothing but the steps in flight", same
        decided, booked = engine.seen.decided, engine.seen.booked
        in_order = [id(output) for output in decided[: len(booked)]]
        yield "steps are booked once, oldest first", in_order == [id(output) for output in booked]
        # A step without rows books what is in flight: there is nothing to wait for.
        in_flight = int(self.config.async_scheduling and bool(output.scheduled))
        overlaps = len(decided) - len(booked) == in_flight
        yield "async scheduling has one step in flight, sync none", overlaps
        rows = Counter[Request]()
        for share in engine.seen.open_shares():
            rows[share.request] += share.num_scheduled_tokens
        agree = all(request.num_in_flight_tokens == rows[request] for request in self.requests)
        yield "rows in flight are those of steps not booked", agree
        yield "each share is booked with its own sample and drafts", engine.seen.own_answers
        yield "the last or the least urgent is preempted", engine.seen.fair
        asked = all(
            asked_for(request) == client
            for request, client in zip(self.requests, CLIENTS, strict=True)
        )
        yield "a request is what the client asked for", asked

    def _recorded(self, output: SchedulerOutput) -> bool:
        """Whether the last word on the pool is right, and the states were told that are due."""
        pools = [
            (record.num_free_blocks, record.num_held_blocks)
            for record in self.records
            if isinstance(record, PoolState)
        ]
        told = {record.request_id for record in self.records if isinstance(record, RequestState)}
        due = {request.request_id for request in output.preempted_reqs}
        if self.config.async_scheduling:  # sync: a step is only over when it is booked
            due |= {share.request.request_id for share in output.scheduled}
        free = self.engine.scheduler.kv_cache_manager.num_free_blocks
        held = sum(request.num_blocks for queue in self._queues() for request in queue)
        return due <= told and pools[-1:] == [(free, held)]

    def _at_the_end(self) -> Kept:
        engine, scheduler = self.engine, self.engine.scheduler
        for request in self.requests:
            yield "every request ends", request.is_finished
            length = min(request.max_tokens, self.config.max_model_len - request.num_prompt_tokens)
            end = self.script.stops.get(request, length)
            due = min(self.script.returned[request], end)
            got = request.num_output_tokens == due
            yield "a request gets the tokens that were returned for it", got
            status = RequestStatus.FINISHED_LENGTH_CAPPED
            if request in self.script.stops:
                status = RequestStatus.FINISHED_STOPPED
            if request is self.gone:
                status = RequestStatus.FINISHED_ABORTED
            told = request.status is status and (request is self.gone or due == end)
            yield "a request ends where its stop token or its length says", told
            engine.abort(request)
        yield "a request gets the tokens that were returned for it", self.script.complete
        yield (
            "steps are booked once, oldest first",
            len(engine.seen.booked) == len(engine.seen.decided),
        )
        once = Counter(scheduler.finished) == Counter(self.requests)
        yield "each request ends once", once and not any(self._queues())
        free = scheduler.kv_cache_manager.num_free_blocks
        yield "every block comes back", free == self.config.num_gpu_blocks

    def _queues(self) -> Sequence[list[Request]]:
        scheduler = self.engine.scheduler
        return [scheduler.running, scheduler.waiting, scheduler.kv_holding_waiting]
