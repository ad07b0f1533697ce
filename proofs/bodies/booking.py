"""Bodies in which a request's output comes back, or its client goes away."""

from __future__ import annotations

from model.engine import NOTHING, request_state
from model.output import booking as record_of
from model.request import FINISHED, Request, RequestStatus
from model.scheduler import Scheduler
from model.step import Scheduled
from proofs.bodies.aftermath import must_record
from proofs.clauses import request_clauses, resting_clauses
from proofs.frame import fields_of
from proofs.goal import Goal
from proofs.harness import Harness
from proofs.surroundings import ProvedEngine, WatchedScheduler
from proofs.watching import QUEUES
from spec import assumptions as world
from spec.logic import all_of, implies, ite, not_


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
    engine = ProvedEngine(h, scheduler)
    h.watch(scheduler, request, engine=engine)
    engine.abort(request)
    h.must_leave(*ENDED)
    must_record(h, engine, request_state(scheduler, request))
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


def _book(h: Harness, scheduler: WatchedScheduler, share: Scheduled) -> None:
    """The engine books one share, and removes the request if that ends it."""
    config, request = h.config, share.request
    alive, output_before = not request.is_finished, request.num_output_tokens
    engine = ProvedEngine(h, scheduler)
    h.watch(scheduler, request, engine=engine)
    engine.book_share(share)
    goes_on = alive and not request.is_finished
    moved = (*IN_FLIGHT, *(BOOKED if alive else ()))
    moved = (*moved, *(ENDED if alive and not goes_on else ()))
    must_ask(h, share, alive, goes_on)
    h.must_leave(*moved, *(DRAFTED if h.proposed else ()))
    back = h.frame.before("request.num_in_flight_tokens") - share.num_scheduled_tokens
    h.must_be("placeholder-accounting", rows_come_back=request.num_in_flight_tokens == back)
    sample = h.sampled[0][0] if h.sampled else NOTHING
    placeholders = sample.num_accepted_placeholders
    due = record_of(config, share, sample, output_before, alive, placeholders)
    must_record(h, engine, due, request_state(scheduler, request))
    h.observe(due)
    h.must_conserve(scheduler, request)


def must_ask(h: Harness, share: Scheduled, alive: bool, goes_on: bool) -> None:
    """The runner is asked for this share and the drafter for its request, once and when due."""
    request = share.request
    due = all_of(alive, share.samples)
    h.must_be("placeholder-accounting", the_runner_is_asked_when_due=due == bool(h.sampled))
    for _, who, drafts, padded in h.sampled[:1]:
        same = all_of(who is request, drafts == share.num_draft_tokens, padded == share.padded)
        h.must_be("placeholder-accounting", the_runner_is_asked_for_the_share=same)
    drafting = goes_on and not h.config.async_scheduling
    h.must_be("rows-match-drafts", the_drafter_is_asked_when_due=drafting == bool(h.proposed))
    for drafts, who in h.proposed[:1]:
        kept = request.num_spec_tokens == ite(request.is_prefill_chunk, 0, drafts)
        taken = all_of(who is request, kept)
        h.must_be("rows-match-drafts", drafts_are_those_proposed=taken)


IN_FLIGHT = fields_of("request", "num_in_flight_tokens num_stale_output_tokens")
"""What comes back with the output of a step, whatever became of the request."""
BOOKED = fields_of("request", "num_output_tokens num_computed_tokens num_output_placeholders")
"""What it moves besides if the request is still there."""
ENDED = (
    *fields_of("request", "status num_blocks"),
    *fields_of("scheduler", " ".join(QUEUES)),
    "pool.num_free_blocks",
)
"""What moves when it ends."""
DRAFTED = fields_of("request", "num_spec_tokens")
