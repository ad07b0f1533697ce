"""One rank's engine loop: schedule, execute, book, with up to one step in flight.

Async scheduling decides step t + 1 before the output of step t is back (vLLM's batch queue of
two); sync scheduling books each step before the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from model.environment import Environment, Sample
from model.output import book_counters, book_output, is_decode, propose_drafts
from model.policies import PaddingPolicy
from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from model.step import Scheduled, SchedulerOutput
from spec.config import Config
from spec.logic import any_of, size
from spec.records import PoolState, RequestState

Recorder = Callable[[Any], None]
"""Takes every record an invariant of ``spec.invariants`` speaks about."""


NOTHING = Sample(0)
"""The output of a step that did not sample."""


class Engine:
    """One rank.

    Args:
        config: the knobs.
        policy: the padding guard.
        environment: answers everything the scheduler does not decide.
        record: called with every record of ``spec.records``; None to run at full speed.
    """

    def __init__(
        self,
        config: Config,
        policy: PaddingPolicy,
        environment: Environment,
        record: Recorder | None = None,
    ) -> None:
        self.config = config
        self.environment = environment
        self.record = record
        self.scheduler = Scheduler(config, policy, environment, record)
        self.in_flight: deque[SchedulerOutput] = deque()
        self.max_in_flight = 1 if config.async_scheduling else 0

    def add_request(self, request: Request) -> None:
        """A new request arrives."""
        self.scheduler.add_request(request)
        self._record_state(request)

    def step(self) -> SchedulerOutput:
        """Schedule one step; book the oldest step in flight when the pipeline is full."""
        output = self.scheduler.schedule()
        self._record_step(output)
        if output.scheduled:
            self.in_flight.append(output)
        if len(self.in_flight) > (self.max_in_flight if output.scheduled else 0):
            self.book(self.in_flight.popleft())
        return output

    def book(self, output: SchedulerOutput) -> None:
        """The output of one step is back."""
        for share in output.scheduled:
            self.book_share(share)
        self._record_pool()

    def book_share(self, share: Scheduled) -> None:
        """The output of one request's rows is back."""
        config, record, request = self.config, self.record, share.request
        was_finished = request.is_finished
        sample = NOTHING
        if not was_finished and share.samples:
            sample = self.environment.sample(request, share.num_draft_tokens, share.padded)
        if record is None:
            book_counters(config, share, sample)
        else:
            booking = book_output(config, share, sample)
        is_finished = request.is_finished
        if is_finished and not was_finished:
            self.scheduler.finish(request, request.status)
        if not config.async_scheduling and not is_finished:
            propose_drafts(config, request, self.environment.draft(request))
        if record is not None:
            record(booking)
            self._record_state(request)

    def abort(self, request: Request) -> None:
        """The client goes away; the request may have rows in flight."""
        if not request.is_finished:
            self.scheduler.finish(request, RequestStatus.FINISHED_ABORTED)
            self._record_state(request)
            self._record_pool()

    @property
    def has_unfinished_requests(self) -> bool:
        """Whether some request still waits or runs."""
        scheduler = self.scheduler
        queues = scheduler.running, scheduler.waiting, scheduler.kv_holding_waiting
        return bool(any_of(*(size(queue) > 0 for queue in queues)))

    def _record_step(self, output: SchedulerOutput) -> None:
        if self.record is not None:
            self.record(output.totals(self.config))
            if self.config.async_scheduling:  # sync: a step is only over when it is booked
                for share in output.scheduled:
                    self._record_state(share.request)
            for request in output.preempted_reqs:
                self._record_state(request)
            self._record_pool()

    def _record_state(self, request: Request) -> None:
        if self.record is not None:
            self.record(request_state(self.scheduler, request))

    def _record_pool(self) -> None:
        if self.record is not None:
            scheduler = self.scheduler
            held = sum(
                request.num_blocks
                for queue in (scheduler.running, scheduler.waiting, scheduler.kv_holding_waiting)
                for request in queue
            )
            self.record(PoolState(self.config, scheduler.kv_cache_manager.num_free_blocks, held))


def request_state(scheduler: Scheduler, request: Request) -> RequestState:
    """The record of one request between two steps."""
    queues = (
        scheduler.running,
        scheduler.waiting,
        scheduler.kv_holding_waiting,
        scheduler.finished,
    )
    return RequestState(
        config=scheduler.config,
        request_id=request.request_id,
        num_tokens=request.num_tokens,
        num_computed_tokens=request.num_computed_tokens,
        num_output_placeholders=request.num_output_placeholders,
        is_decode=is_decode(request),
        num_queues=sum(queue.count(request) for queue in queues),
        num_blocks=request.num_blocks,
        needs_no_blocks=request.is_finished
        or (
            request.status in (RequestStatus.WAITING, RequestStatus.PREEMPTED)
            and request in scheduler.waiting
        ),
    )
