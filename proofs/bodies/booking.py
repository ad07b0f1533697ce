"""Bodies in which a request's output comes back, or its client goes away."""

from __future__ import annotations

from model.output import book_output, propose_drafts
from model.request import FINISHED, Request, RequestStatus
from model.scheduler import Scheduler
from model.step import Scheduled
from proofs.clauses import request_clauses, resting_clauses
from proofs.frame import fields_of
from proofs.harness import Goal, Harness
from spec import assumptions as world
from spec.logic import implies, ite, not_


def booking(h: Harness) -> None:
    """The output of one step in flight is booked for one request, whatever became of it."""
    status = h.one_of([s for s in RequestStatus if s is not RequestStatus.WAITING])
    if status is RequestStatus.RUNNING:
        _book_running(h)
    else:
        _book_gone(h, status)


def _book_running(h: Harness) -> None:
    config = h.config
    request = h.request(RequestStatus.RUNNING)
    share = _share(h, request)
    pending = ite(share.samples, config.num_sampled_tokens_per_step + share.num_draft_tokens, 0)
    if config.async_scheduling:
        h.suppose(request_clauses(config, request, request.num_output_placeholders))
        h.assume(world.OUTPUT_IN_ORDER, request.num_output_placeholders, pending)
    else:
        h.suppose(request_clauses(config, request, pending))
        h.context.assume(share.samples == not_(request.is_prefill_chunk))
        h.context.assume(request.num_in_flight_tokens == share.num_scheduled_tokens)
    scheduler = h.scheduler(request)
    scheduler.running.append(request)
    _book(h, scheduler, share)
    if not request.is_finished and not config.async_scheduling:
        drafts = scheduler.environment.draft(request)
        h.watch(scheduler, request)
        propose_drafts(config, request, drafts)
        h.must_leave("request.num_spec_tokens")
        proposed = request.num_spec_tokens == ite(request.is_prefill_chunk, 0, drafts)
        h.must_be("rows-match-drafts", drafts_are_those_proposed=proposed)
    h.must_keep(resting_clauses(h.config, request))


def _book_gone(h: Harness, status: RequestStatus) -> None:
    """The request has left the running queue since the step was decided."""
    request = h.request(status)
    h.suppose(resting_clauses(h.config, request))
    share = _share(h, request)
    scheduler = h.scheduler(request)
    _queue_of(h, scheduler, request).append(request)
    if not request.is_finished:
        h.suppose_queued(request)
    _book(h, scheduler, share)
    h.must_keep(resting_clauses(h.config, request))


def abortion(h: Harness) -> None:
    """The client goes away, whatever the request was doing."""
    request = h.request(h.one_of([s for s in RequestStatus if s not in FINISHED]))
    h.suppose(resting_clauses(h.config, request))
    scheduler = h.scheduler(request)
    _queue_of(h, scheduler, request).append(request)
    h.watch(scheduler, request)
    scheduler.finish(request, RequestStatus.FINISHED_ABORTED)
    h.must_leave("request.status", "request.num_blocks")
    aborted = request.status is RequestStatus.FINISHED_ABORTED
    h.goals.append(Goal("length-capped-finish", "abort-is-kept", aborted))
    h.must_keep(resting_clauses(h.config, request))
    h.must_conserve(scheduler, request)


# -- shared pieces --------------------------------------------------------------------------------


def _share(h: Harness, request: Request) -> Scheduled:
    """An arbitrary step in flight for ``request``."""
    share = Scheduled(
        request,
        h.integer("share rows", 1),
        h.integer("share drafts", 0),
        h.truth("share is padded"),
        h.truth("share samples"),
    )
    h.assume(world.OUTPUT_IN_ORDER, request.num_in_flight_tokens, share.num_scheduled_tokens)
    h.context.assume(implies(share.num_draft_tokens > 0, share.samples))
    h.context.assume(share.num_draft_tokens <= h.config.num_spec_tokens)
    return share


def _queue_of(h: Harness, scheduler: Scheduler, request: Request) -> list[Request]:
    """Where a request of this status is."""
    if request.is_finished:
        return scheduler.finished
    if request.status is RequestStatus.RUNNING:
        return scheduler.running
    loading = request.status is RequestStatus.WAITING_FOR_REMOTE_KVS
    if loading or bool(h.truth("its KV was loaded")):
        return scheduler.kv_holding_waiting
    return scheduler.waiting


def _book(h: Harness, scheduler: Scheduler, share: Scheduled) -> None:
    """Book one share and remove the request if it ended."""
    request = share.request
    finished_before = request.is_finished
    h.watch(scheduler, request)
    sample = scheduler.environment.sample(request, share.num_draft_tokens, share.padded)
    booked = book_output(h.config, share, sample)
    back = h.frame.before("request.num_in_flight_tokens") - share.num_scheduled_tokens
    h.must_be("placeholder-accounting", rows_come_back=request.num_in_flight_tokens == back)
    h.must_leave(*(BOOKED[1:] if finished_before == request.is_finished else BOOKED))
    if request.is_finished and not finished_before:
        h.watch(scheduler, request)
        scheduler.finish(request, request.status)
        h.must_leave("request.num_blocks")
    h.observe(booked)
    h.must_conserve(scheduler, request)


BOOKED = fields_of(
    "request",
    "status num_output_tokens num_computed_tokens num_output_placeholders num_in_flight_tokens"
    " num_stale_output_tokens",
)
"""What the output of a step moves, if its request is still there; the status, if it ends it."""
