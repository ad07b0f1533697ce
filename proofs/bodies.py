"""The loop bodies under proof: the model's own functions on one arbitrary request.

Each function below builds an arbitrary state that satisfies the inductive clauses, runs the
model's code on it once, and lists what must hold afterwards.  ``any number of requests`` is the
arbitrary request; ``any number of steps`` is the arbitrary state; ``any number of ranks`` is the
free flag ``group_has_prefill``, which says whether some other rank computes prompt in this step.
"""

from __future__ import annotations

from collections.abc import Callable

from model.engine import request_state
from model.output import book_output, propose_drafts
from model.planning import threshold_in_force
from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from model.step import Scheduled, Step
from proofs.clauses import StepSoFar, request_clauses, resting_clauses, step_clauses
from proofs.harness import ArbitraryWorld, Goal, Harness
from spec import assumptions as world
from spec.config import Config
from spec.invariants import no_reachable_assert
from spec.logic import all_of, any_of, implies, ite, not_
from spec.records import SCHEDULED, PoolState, StepTotals

# -- the bodies -----------------------------------------------------------------------------------


def arrival(h: Harness) -> None:
    """A new request, straight from the client."""
    new = h.integer
    request = Request("r", new("num_prompt_tokens"), new("max_tokens"))
    h.assume(world.PROMPT_FITS, h.config, request.num_prompt_tokens)
    h.assume(world.ASKS_FOR_OUTPUT, request.max_tokens)
    scheduler = h.scheduler(request)
    scheduler.add_request(request)
    h.must_keep(resting_clauses(h.config, request))
    h.must_conserve(scheduler, request)


def first_decision(h: Harness) -> None:
    """A step nothing is scheduled in yet: its budgets are whole, its threshold is in force."""
    config = h.config
    scheduler = Scheduler(config, h.policy, ArbitraryWorld(h))
    step = scheduler.begin_step()
    num_running = h.integer("running", 0)
    h.suppose({"seats": num_running <= config.max_num_seqs})
    h.must_keep(step_clauses(config, StepSoFar(step, 0, False, num_running)))
    untouched = all_of(
        step.token_budget == config.max_num_scheduled_tokens,
        step.input_budget == config.max_num_batched_tokens,
    )
    h.goals.append(Goal("progress", "whole-budget-first", untouched))
    # The arbitrary step of the other bodies (``Harness.step``) has one of these thresholds.
    unfinished = h.integer("num_unfinished", 0)
    spared = all_of(config.exempt_only_request, unfinished <= 1)
    in_force = threshold_in_force(config, unfinished)
    known = in_force == ite(spared, 0, config.long_prefill_token_threshold)
    h.goals.append(Goal("uniform-decode", "threshold-in-force", known))


def running(h: Harness) -> None:
    """One decision of the running pass; a less or more urgent request may be preempted for it."""
    request = h.request(RequestStatus.RUNNING)
    h.suppose(resting_clauses(h.config, request))
    scheduler = h.scheduler(request)
    num_running = h.integer("num_running", 1)
    h.suppose({"seats": num_running <= h.config.max_num_seqs})
    so_far = h.step(num_running - 1)
    scheduler.running = [request]
    outcome = scheduler.try_running(so_far.step, request)
    _after_decision(h, scheduler, so_far, request, outcome, slots_taken=num_running)


def waiting(h: Harness) -> None:
    """One decision of the waiting pass, from the queue or after a KV load."""
    loading = bool(h.truth("status is WAITING_FOR_REMOTE_KVS"))
    request = h.request(RequestStatus.WAITING_FOR_REMOTE_KVS if loading else RequestStatus.WAITING)
    h.suppose(resting_clauses(h.config, request))
    scheduler = h.scheduler(request)
    num_running = h.integer("num_running", 0)
    if loading:
        h.still_loading = not_(h.truth("load_finished"))
    scheduler.num_waiting_for_streaming_input = num_running
    so_far = h.step(num_running)
    if loading:
        scheduler.kv_holding_waiting = [request]
    else:
        scheduler.waiting = [request]
    scheduler.schedule_waiting(so_far.step)
    admitted = request in scheduler.running
    h.goals.append(Goal("progress", "looked-at", h.decided >= 1))
    _after_decision(
        h,
        scheduler,
        so_far,
        request,
        SCHEDULED if admitted else "",
        slots_taken=num_running + int(admitted),
    )


def preemption(h: Harness) -> None:
    """A running request loses its blocks; it may already hold rows in this very step."""
    victim = h.request(RequestStatus.RUNNING)
    h.suppose(resting_clauses(h.config, victim))
    scheduler = h.scheduler(victim)
    so_far = h.step(h.integer("num_running", 1))
    step = so_far.step
    scheduler.running = [victim]
    count, has_prefill = so_far.num_scheduled_reqs, so_far.has_prefill
    others_with_slots = so_far.slots_taken - 1
    if bool(h.truth("victim already scheduled")):
        rows = h.integer("victim rows", 1)
        step.num_scheduled_tokens[victim] = rows
        # The victim's rows are part of the step: without it the clauses hold as well.
        others = StepSoFar(
            Step(
                step.token_budget + rows,
                step.input_budget + rows + h.config.draft_slots,
                step.threshold,
                step.running_scheduled,
                step.prefill_scheduled,
            ),
            count - 1,
            has_prefill,
            others_with_slots,
        )
        without = step_clauses(h.config, others)
        without.pop("flags-imply-rows")
        h.suppose(without)
        count = count - 1
    else:
        h.context.assume(count <= others_with_slots)
    scheduler.preempt(step, victim)
    h.must_keep(resting_clauses(h.config, victim))
    left = StepSoFar(step, count, has_prefill, others_with_slots)
    kept = step_clauses(h.config, left)
    # After a preemption the waiting pass does not run: the flags are not read again.
    kept.pop("flags-imply-rows")
    h.must_keep(kept)
    h.must_conserve(scheduler, victim)
    assert victim in step.preempted_reqs


def booking(h: Harness) -> None:
    """The output of one step in flight is booked for one request, whatever became of it."""
    if bool(h.truth("request is still running")):
        _book_running(h)
    elif bool(h.truth("request was preempted")):
        _book_stale(h)
    else:
        _book_finished(h)


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
    scheduler.running = [request]
    _book(h, scheduler, share)
    if not request.is_finished and not config.async_scheduling:
        propose_drafts(config, request, scheduler.environment.draft(request))
    if not request.is_finished:
        h.must_keep(resting_clauses(config, request))


def _book_stale(h: Harness) -> None:
    request = h.request(RequestStatus.PREEMPTED)
    h.suppose(resting_clauses(h.config, request))
    share = _share(h, request)
    scheduler = h.scheduler(request)
    scheduler.waiting = [request]
    _book(h, scheduler, share)
    if not request.is_finished:
        h.must_keep(resting_clauses(h.config, request))


def _book_finished(h: Harness) -> None:
    request = h.request(RequestStatus.FINISHED_ABORTED)
    h.context.assume(request.num_stale_output_tokens == 0)
    h.context.assume(request.num_output_placeholders >= 0)
    h.context.assume(request.num_blocks == 0)
    h.context.assume(request.num_tokens <= h.config.max_model_len)
    share = _share(h, request)
    scheduler = h.scheduler(request)
    scheduler.finished = [request]
    _book(h, scheduler, share)


def abortion(h: Harness) -> None:
    """The client goes away, whatever the request was doing."""
    status = RequestStatus.RUNNING
    if bool(h.truth("request is waiting")):
        status = RequestStatus.WAITING
    request = h.request(status)
    h.suppose(resting_clauses(h.config, request))
    scheduler = h.scheduler(request)
    queue = scheduler.running if status is RequestStatus.RUNNING else scheduler.waiting
    queue.append(request)
    scheduler.finish(request, RequestStatus.FINISHED_ABORTED)
    h.must_conserve(scheduler, request)


FEATURES: dict[str, Callable[[Config], bool]] = {
    "threshold": lambda c: c.long_prefill_token_threshold > 0,
    "diffusion": lambda c: c.num_sampled_tokens_per_step == 0,
    "mamba": lambda c: c.mamba_align,
    "tight-budget": lambda c: not_(world.BUDGET_COVERS_BATCH.condition(c)),
    "unchunked": lambda c: not_(c.enable_chunked_prefill),
}
"""Corners of the configuration space, in the order a search tries to do without them."""

BODIES: dict[str, Callable[[Harness], None]] = {
    "arrival": arrival,
    "first-decision": first_decision,
    "running-pass": running,
    "waiting-pass": waiting,
    "preemption": preemption,
    "output": booking,
    "abort": abortion,
}


def run_body(name: str, harness: Harness) -> list[Goal]:
    """One path of one body: the goals at its end.  An exception is the explorer's to report."""
    BODIES[name](harness)
    survived = Goal("no-reachable-assert", "no_reachable_assert", no_reachable_assert(False).holds)
    return [*harness.goals, survived]


# -- shared pieces --------------------------------------------------------------------------------


def _after_decision(
    h: Harness,
    scheduler: Scheduler,
    so_far: StepSoFar,
    request: Request,
    outcome: str,
    slots_taken: int,
) -> None:
    """Advance the counters as ``schedule()`` does, then claim every clause again."""
    config, step = h.config, so_far.step
    count, has_prefill = so_far.num_scheduled_reqs, so_far.has_prefill
    clauses = resting_clauses(config, request)
    goes_on = True
    if outcome == SCHEDULED:
        rows = step.num_scheduled_tokens[request]
        goes_on = world.CRASH_IS_THE_END.condition(rows)
        drafts = step.num_draft_tokens.get(request, 0)
        scheduler.update_after_schedule(step, request, rows)
        pending = request.num_output_placeholders
        if not config.async_scheduling:  # the step is booked before the next one is decided
            samples = not_(request.is_prefill_chunk)
            pending = ite(samples, config.num_sampled_tokens_per_step + drafts, 0)
        clauses = request_clauses(config, request, pending)
        count = count + 1
        has_prefill = any_of(has_prefill, h.computes_prompt)
    h.must_keep(clauses, goes_on)
    h.must_keep(step_clauses(config, StepSoFar(step, count, has_prefill, slots_taken)), goes_on)
    used = config.max_num_scheduled_tokens - step.token_budget
    h.observe(StepTotals(config, used, count), goes_on)
    manager = scheduler.kv_cache_manager
    pool = PoolState(config, manager.num_free_blocks, h.other_blocks + request.num_blocks)
    h.observe(pool, goes_on)
    if config.async_scheduling or outcome != SCHEDULED:
        h.observe(request_state(scheduler, request), goes_on)


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


def _book(h: Harness, scheduler: Scheduler, share: Scheduled) -> None:
    """Book one share and remove the request if it ended."""
    request = share.request
    finished_before = request.is_finished
    sample = scheduler.environment.sample(request, share.num_draft_tokens, share.padded)
    booked = book_output(h.config, share, sample)
    if request.is_finished and not finished_before:
        scheduler.finish(request, request.status)
    h.observe(booked)
    h.must_conserve(scheduler, request)
