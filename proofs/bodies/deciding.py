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
from proofs.frame import fields_of
from proofs.harness import Goal, Harness
from spec import assumptions as world
from spec.logic import all_of, any_of, ceil_div, ite, max, min, not_, size, total
from spec.records import LOADING, SCHEDULED, PoolState, StepTotals


def arrival(h: Harness) -> None:
    """A new request, straight from the client."""
    new = h.integer
    asked = new("num_prompt_tokens"), new("max_tokens"), new("priority"), new("arrival_time")
    request = Request("r", *asked)
    h.assume(world.PROMPT_FITS, h.config, request.num_prompt_tokens)
    h.assume(world.ASKS_FOR_OUTPUT, request.max_tokens)
    scheduler = h.scheduler(request)
    h.watch(scheduler, request)
    scheduler.add_request(request)
    kept = request.num_prompt_tokens, request.max_tokens, request.priority, request.arrival_time
    same = all_of(*(now == then for now, then in zip(kept, asked, strict=True)))
    h.must_be("request-conservation", asked_for_as_sent=same)
    h.must_leave()
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
    scheduler.running = Crowd(h.context, [request], num_running - 1)
    drafts, counted = request.num_spec_tokens, request.num_computed_tokens
    h.watch(scheduler, request, step)
    outcome = scheduler.try_running(step, request)
    scheduled = outcome is SCHEDULED
    h.must_be("progress", outcome_is_told=outcome is h.told.outcome)
    asked = fields_of("request", "num_prompt_tokens num_output_tokens num_output_placeholders")
    usable = total(h.frame.before(field) for field in asked) + drafts
    h.must_be("progress", no_more_slots_than_it_can_use=h.refused <= usable)
    if h.stranger is not None:
        so_far, slots_taken = _without_stranger(h, so_far), slots_taken - 1
    if request.status is RequestStatus.RUNNING:
        _must_leave(h, scheduled, "request.num_spec_tokens")
        if not scheduled:
            kept = request.num_spec_tokens == drafts
            h.must_be("rows-match-drafts", drafts_kept_for_later=kept)
    else:
        _must_leave(h, scheduled, *PREEMPTION)
    _must_flag(h, step, before, scheduled)
    _after_decision(h, scheduler, so_far, request, counted, scheduled, slots_taken)


def waiting(h: Harness) -> None:
    """One decision of the waiting pass, from the queue or after a KV load."""
    loading = bool(h.truth("status is WAITING_FOR_REMOTE_KVS"))
    resumed = not loading and bool(h.truth("status is PREEMPTED"))
    request = h.request(
        RequestStatus.WAITING_FOR_REMOTE_KVS
        if loading
        else RequestStatus.PREEMPTED
        if resumed
        else RequestStatus.WAITING
    )
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
    holding = loading or (resumed and request.num_computed_tokens != 0)
    queue = scheduler.kv_holding_waiting if holding else scheduler.waiting
    queue.append(request)
    had = counted = request.num_computed_tokens
    if loading:  # of a whole prompt loaded, the last token is computed again
        counted = min(had, request.num_tokens - 1)
    h.watch(scheduler, request, step)
    outcome = scheduler.try_waiting(step, request)
    admitted = outcome is SCHEDULED
    h.must_be("progress", outcome_is_told=outcome is h.told.outcome)
    _must_leave(h, admitted, "request.status", "request.num_computed_tokens")
    now = request.num_computed_tokens
    if outcome is LOADING:
        kept = all_of(now == h.found, counted == 0)  # what is there is not loaded again
        needed = max(ceil_div(now, h.config.block_size), h.frame.before(BLOCKS))
        h.must_be("block-accounting", no_block_to_spare_for_a_load=request.num_blocks <= needed)
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
    h.watch(scheduler, victim, step)
    Scheduler.preempt(scheduler, step, victim)  # the body that chose it asks whom
    h.must_leave(*PREEMPTION, "step.token_budget", "step.input_budget", "step.index")
    waits = victim.status is RequestStatus.PREEMPTED
    h.must_be("request-conservation", victim_waits=waits)
    h.must_keep(resting_clauses(h.config, victim))
    left = StepSoFar(step, count, has_prefill, others_with_slots)
    kept = step_clauses(h.config, left)
    # After a preemption the waiting pass does not run: the flags are not read again.
    kept.pop("flags-imply-rows")
    h.must_keep(kept)
    h.must_conserve(scheduler, victim)
    assert victim in step.preempted_reqs


BLOCKS = "request.num_blocks"
PREEMPTION = fields_of(
    "request",
    "status num_computed_tokens num_spec_tokens num_output_placeholders num_stale_output_tokens"
    " num_preemptions num_blocks",
)
"""What a preemption resets; what was asked for, generated and is in flight stays."""
ADVANCE = fields_of(
    "request",
    "num_computed_tokens num_in_flight_tokens is_prefill_chunk num_output_placeholders"
    " num_spec_tokens",
)
"""What counts rows that were given."""


def _without_stranger(h: Harness, so_far: StepSoFar) -> StepSoFar:
    """The step without the other request that was preempted, and what is promised of that one."""
    stranger, config = h.stranger, h.config
    assert stranger is not None
    count, slots = so_far.num_scheduled_reqs, so_far.slots_taken - 1
    if h.withdrawn is None:
        h.context.assume(count <= slots)
    else:  # its rows were part of the step: without it the clauses hold as well
        before, count = h.frame.before, count - 1
        rest = Step(
            before("step.token_budget") + h.withdrawn,
            before("step.input_budget") + h.withdrawn + config.draft_slots,
            so_far.step.threshold,
            before("step.running_scheduled"),
            before("step.prefill_scheduled"),
        )
        clauses = step_clauses(config, StepSoFar(rest, count, so_far.has_prefill, slots))
        clauses.pop("flags-imply-rows")
        h.suppose(clauses)
    for name, kept in h.stranger_frame.kept(PREEMPTION):
        h.goals.append(Goal("request-conservation", f"{name} of a victim is left alone", kept))
    h.must_be("request-conservation", victim_waits=stranger.status is RequestStatus.PREEMPTED)
    h.must_keep(resting_clauses(config, stranger))
    return StepSoFar(so_far.step, count, so_far.has_prefill, slots)


def _must_leave(h: Harness, scheduled: bool, *moved: str) -> None:
    """A decision moves what is named, and charges the step for the rows it told of."""
    step, frame = h.frame.watched("step"), h.frame
    rows = h.told.num_scheduled_tokens if scheduled else 0
    inputs = rows + (h.config.draft_slots if scheduled else 0)
    if h.withdrawn is not None:
        rows, inputs = rows - h.withdrawn, inputs - h.withdrawn - h.config.draft_slots
    h.must_be(
        "within-budget",
        rows_are_charged=step.token_budget == frame.before("step.token_budget") - rows,
        inputs_are_charged=step.input_budget == frame.before("step.input_budget") - inputs,
    )
    flags = "step.running_scheduled", "step.prefill_scheduled"  # see ``_must_flag``
    budgets = "step.token_budget", "step.input_budget"
    preempts = h.stranger is not None or "request.num_preemptions" in moved
    index = ("step.index",) if preempts else ()
    h.must_leave(*moved, *flags, *budgets, *index, "request.num_blocks")


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
        in_flight, held = request.num_in_flight_tokens, h.frame.before(BLOCKS)
        granted = {world.CRASH_IS_THE_END.id: world.CRASH_IS_THE_END.condition(rows)}
        drafts = step.num_draft_tokens.get(request, 0)
        known = request.num_tokens + request.num_output_placeholders
        h.watch(scheduler, request, step)
        scheduler.update_after_schedule(step, request, rows)
        h.must_leave(*ADVANCE)
        h.observe(advance(config, request, counted, rows), granted)
        h.must_be(
            "placeholder-accounting",
            rows_go_in_flight=request.num_in_flight_tokens == in_flight + rows,
        )
        needed = max(ceil_div(counted + rows, config.block_size), held)
        h.must_be("block-accounting", no_block_to_spare=request.num_blocks <= needed)
        h.must_be("block-accounting", no_block_lost=request.num_blocks >= held)
        _must_tell(h, step, request, rows, known)
        pending = request.num_output_placeholders
        if not config.async_scheduling:  # the step is booked before the next one is decided
            samples = not_(request.is_prefill_chunk)
            pending = ite(samples, config.num_sampled_tokens_per_step + drafts, 0)
        clauses = request_clauses(config, request, pending)
        count = count + 1
        has_prefill = any_of(has_prefill, h.computes_prompt)
    h.must_keep(clauses, granted)
    left = step_clauses(config, StepSoFar(step, count, has_prefill, slots_taken))
    if h.withdrawn is not None:  # after a preemption the flags are not read again
        left.pop("flags-imply-rows")
    h.must_keep(left, granted)
    used = config.max_num_scheduled_tokens - step.token_budget
    h.observe(StepTotals(config, used, count), granted)
    manager = scheduler.kv_cache_manager
    pool = PoolState(config, manager.num_free_blocks, h.held_by_others + request.num_blocks)
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
        Goal("placeholder-accounting", "placeholders-are-told", share.padded == h.told.is_padded),
        Goal(
            "rows-match-drafts",
            "rows-are-told",
            all_of(
                share.num_scheduled_tokens == h.told.num_scheduled_tokens,
                share.num_draft_tokens == h.told.num_draft_tokens,
            ),
        ),
    ]
