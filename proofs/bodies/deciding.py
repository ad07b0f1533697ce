"""Bodies in which a step decides: arrival, the first decision, the two passes, preemption."""

from __future__ import annotations

from dataclasses import replace

from model.engine import request_state
from model.observation import advance
from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from model.step import Step
from proofs.clauses import StepSoFar, request_clauses, resting_clauses, step_clauses
from proofs.crowds import Crowd
from proofs.harness import Goal, Harness
from spec import assumptions as world
from spec.logic import all_of, any_of, ite, min, not_, size
from spec.records import LOADING, SCHEDULED, PoolState, StepTotals


def arrival(h: Harness) -> None:
    """A new request, straight from the client."""
    new = h.integer
    urgency = new("priority"), new("arrival_time")
    request = Request("r", new("num_prompt_tokens"), new("max_tokens"), *urgency)
    h.assume(world.PROMPT_FITS, h.config, request.num_prompt_tokens)
    h.assume(world.ASKS_FOR_OUTPUT, request.max_tokens)
    scheduler = h.scheduler(request)
    scheduler.waiting = []  # the place it takes there is played in ``passes``
    scheduler.add_request(request)
    h.must_keep(resting_clauses(h.config, request))
    h.must_conserve(scheduler, request)


def first_decision(h: Harness) -> None:
    """A step nothing is scheduled in yet: its budgets are whole, its threshold is in force."""
    config = h.config
    scheduler = h.scheduler(h.request(RequestStatus.FINISHED_STOPPED))
    queues = scheduler.running, scheduler.waiting, scheduler.kv_holding_waiting
    counts = [size(queue) for queue in queues]
    num_running = counts[0]
    step = scheduler.begin_step()
    h.suppose({"seats": num_running <= config.max_num_seqs})
    h.must_keep(step_clauses(config, StepSoFar(step, 0, False, num_running)))
    untouched = all_of(
        step.token_budget == config.max_num_scheduled_tokens,
        step.input_budget == config.max_num_batched_tokens,
    )
    h.goals.append(Goal("progress", "whole-budget-first", untouched))
    # The arbitrary step of the other bodies (``Harness.step``) has one of these thresholds.
    spared = all_of(config.exempt_only_request, sum(counts) <= 1)
    known = step.threshold == ite(spared, 0, config.long_prefill_token_threshold)
    h.goals.append(Goal("uniform-decode", "threshold-in-force", known))


def running(h: Harness) -> None:
    """One decision of the running pass; a less or more urgent request may be preempted for it."""
    request = h.request(RequestStatus.RUNNING)
    h.suppose(resting_clauses(h.config, request))
    scheduler = h.scheduler(request)
    num_running = h.integer("num_running", 1)
    slots_taken = num_running + h.num_streaming
    h.suppose({"seats": slots_taken <= h.config.max_num_seqs})
    so_far = h.step(slots_taken - 1)
    step = so_far.step
    before = step.running_scheduled, step.prefill_scheduled, request.is_prefill_chunk
    scheduler.waiting = []  # the place it takes there is played in ``passes``
    scheduler.running = Crowd(h.context, [request], num_running - 1)
    drafts, counted = request.num_spec_tokens, request.num_computed_tokens
    scheduled = scheduler.try_running(step, request) is SCHEDULED
    if request.status is RequestStatus.RUNNING and not scheduled:
        kept = request.num_spec_tokens == drafts
        h.goals.append(Goal("rows-match-drafts", "drafts-kept-for-later", kept))
    _must_flag(h, step, before, scheduled)
    _after_decision(h, scheduler, so_far, request, counted, scheduled, slots_taken)


def waiting(h: Harness) -> None:
    """One decision of the waiting pass, from the queue or after a KV load."""
    loading = bool(h.truth("status is WAITING_FOR_REMOTE_KVS"))
    request = h.request(RequestStatus.WAITING_FOR_REMOTE_KVS if loading else RequestStatus.WAITING)
    h.suppose(resting_clauses(h.config, request))
    scheduler = h.scheduler(request)
    num_running = h.integer("num_running", 0)
    if loading:
        h.still_loading = not_(h.truth("load_finished"))
    else:
        h.suppose_queued(request)
    so_far = h.step(num_running + h.num_streaming)
    step = so_far.step
    before = step.running_scheduled, step.prefill_scheduled, False
    scheduler.running = Crowd(h.context, others=num_running)
    queue = scheduler.kv_holding_waiting if loading else scheduler.waiting
    queue.append(request)
    had = counted = request.num_computed_tokens
    if loading:  # of a whole prompt loaded, the last token is computed again
        counted = min(had, request.num_tokens - 1)
    admitted = scheduler.try_waiting(step, request) is SCHEDULED
    now = request.num_computed_tokens
    if h.outcome is LOADING:
        kept = all_of(now == h.found, counted == 0)  # what is there is not loaded again
        h.goals.append(Goal("async-load-idle", "load-is-remembered", kept))
    elif not admitted:
        kept = any_of(now == had, now == counted)
        h.goals.append(Goal("progress", "computed-is-kept", kept))
    counted = counted + ite(counted == 0, h.found, 0)
    _must_flag(h, step, before, scheduled=False)
    slots_taken = num_running + h.num_streaming + int(admitted)
    _after_decision(h, scheduler, so_far, request, counted, admitted, slots_taken)


def preemption(h: Harness) -> None:
    """A running request loses its blocks; it may already hold rows in this very step."""
    victim = h.request(RequestStatus.RUNNING)
    h.suppose(resting_clauses(h.config, victim))
    scheduler = h.scheduler(victim)
    so_far = h.step(h.integer("num_running", 1))
    step = so_far.step
    scheduler.running.append(victim)
    scheduler.waiting = []  # the place it takes there is played in ``passes``
    count, has_prefill = so_far.num_scheduled_reqs, so_far.has_prefill
    others_with_slots = so_far.slots_taken - 1
    if bool(h.truth("victim already scheduled")):
        rows = h.integer("victim rows", 1)
        step.num_scheduled_tokens[victim] = rows
        step.num_draft_tokens[victim] = h.integer("victim drafts", 0)
        victim.num_spec_tokens = 0  # they went into those rows
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
    held, priority, arrival = victim.num_tokens, victim.priority, victim.arrival_time
    scheduler.preempt(step, victim)
    survive = victim.num_tokens == held
    h.goals.append(Goal("request-conservation", "tokens-survive-preemption", survive))
    waits = victim.status is RequestStatus.PREEMPTED
    h.goals.append(Goal("request-conservation", "victim-waits", waits))
    remains = all_of(victim.priority == priority, victim.arrival_time == arrival)
    h.goals.append(Goal("progress", "place-survives-preemption", remains))
    h.must_keep(resting_clauses(h.config, victim))
    left = StepSoFar(step, count, has_prefill, others_with_slots)
    kept = step_clauses(h.config, left)
    # After a preemption the waiting pass does not run: the flags are not read again.
    kept.pop("flags-imply-rows")
    h.must_keep(kept)
    h.must_conserve(scheduler, victim)
    assert victim in step.preempted_reqs


def _after_decision(
    h: Harness,
    scheduler: Scheduler,
    so_far: StepSoFar,
    request: Request,
    counted: int,
    scheduled: bool,
    slots_taken: int,
) -> None:
    """Advance the counters as ``schedule()`` does, then claim every clause again.

    ``counted``: tokens of the request computed before the step, and those it found cached.
    """
    config, step = h.config, so_far.step
    count, has_prefill = so_far.num_scheduled_reqs, so_far.has_prefill
    clauses = resting_clauses(config, request)
    granted: dict[str, bool] = {}
    if scheduled:
        rows = step.num_scheduled_tokens[request]
        granted = {world.CRASH_IS_THE_END.id: world.CRASH_IS_THE_END.condition(rows)}
        drafts = step.num_draft_tokens.get(request, 0)
        known = request.num_tokens + request.num_output_placeholders
        scheduler.update_after_schedule(step, request, rows)
        h.observe(advance(config, request, counted, rows), granted)
        _must_tell(h, step, request, rows, known)
        pending = request.num_output_placeholders
        if not config.async_scheduling:  # the step is booked before the next one is decided
            samples = not_(request.is_prefill_chunk)
            pending = ite(samples, config.num_sampled_tokens_per_step + drafts, 0)
        clauses = request_clauses(config, request, pending)
        count = count + 1
        has_prefill = any_of(has_prefill, h.computes_prompt)
    h.must_keep(clauses, granted)
    h.must_keep(step_clauses(config, StepSoFar(step, count, has_prefill, slots_taken)), granted)
    h.must_leave_streams(scheduler)
    used = config.max_num_scheduled_tokens - step.token_budget
    h.observe(StepTotals(config, used, count), granted)
    manager = scheduler.kv_cache_manager
    pool = PoolState(config, manager.num_free_blocks, h.other_blocks + request.num_blocks)
    h.observe(pool, granted)
    if config.async_scheduling or not scheduled:
        h.observe(request_state(scheduler, request), granted)


def _must_flag(h: Harness, step: Step, before: tuple[bool, bool, bool], scheduled: bool) -> None:
    """The step remembers whether running work got rows, and whether prefill was among it."""
    running_scheduled, prefill_scheduled, is_prefill = before
    followed = all_of(
        step.running_scheduled == any_of(running_scheduled, scheduled),
        step.prefill_scheduled == any_of(prefill_scheduled, all_of(scheduled, is_prefill)),
    )
    h.goals.append(Goal("no-padding-with-prefill", "flags-follow", followed))


def _must_tell(h: Harness, step: Step, request: Request, rows: int, known: int) -> None:
    """What the runner is told of the request: whether it samples, and which drafts are real."""
    drafts = step.num_draft_tokens.get(request, 0)
    told = replace(
        step,
        num_scheduled_tokens={request: rows},
        num_draft_tokens={request: drafts},
        preempted_reqs=[],
    )
    (share,) = told.output().scheduled
    samples = share.samples == (request.num_computed_tokens >= known)
    h.goals += [
        Goal("placeholder-accounting", "sampling-is-told", samples),
        # Unmarked, placeholders would be taken for drafts somebody proposed.
        Goal("placeholder-accounting", "placeholders-are-told", share.padded == h.padded),
    ]
