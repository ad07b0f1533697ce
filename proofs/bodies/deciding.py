"""Bodies in which a step decides: arrival, the first decision, the two passes, preemption."""

from __future__ import annotations

from model.engine import request_state
from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from model.step import Step
from proofs.bodies.aftermath import (
    AROUND,
    BLOCKS,
    CHARGED,
    CONTAINERS,
    POOL,
    PREEMPTION,
    after_decision,
    must_charge,
    must_flag,
    must_give,
    must_record,
    without_stranger,
)
from proofs.clauses import StepSoFar, resting_clauses, step_clauses
from proofs.crowds import Crowd, Name
from proofs.frame import fields_of
from proofs.goal import Goal
from proofs.harness import Harness
from proofs.known_fields import FRESH, must_know
from proofs.surroundings import ProvedEngine
from spec import assumptions as world
from spec.logic import all_of, any_of, ceil_div, ite, max, min, not_, size, total
from spec.records import LOADING, SCHEDULED


def arrival(h: Harness) -> None:
    """A new request, straight from the client."""
    new = h.integer
    asked = new("num_prompt_tokens"), new("max_tokens"), new("priority"), new("arrival_time")
    request = Request(Name(h.context, "r"), *asked)
    h.assume(world.PROMPT_FITS, h.config, request.num_prompt_tokens)
    h.assume(world.ASKS_FOR_OUTPUT, request.max_tokens)
    scheduler = h.scheduler(request)
    engine = ProvedEngine(h, scheduler)
    must_know(h.context, request, scheduler.begin_step())
    begins = all_of(*(getattr(request, name) == 0 for name in FRESH))
    waits = request.status is RequestStatus.WAITING
    h.must_be("request-conservation", a_request_begins_as_new=all_of(begins, waits))
    h.must_be("request-conservation", an_engine_begins_empty=engine.begins_empty)
    queues = scheduler.running, scheduler.waiting, scheduler.kv_holding_waiting
    works = any_of(*(size(queue) > 0 for queue in queues))
    h.must_be("progress", work_left_is_told=works == engine.has_unfinished_requests)
    h.watch(scheduler, request, engine=engine)
    engine.add_request(request)
    scheduler.must_enqueue(request)
    most = 1 if h.config.async_scheduling else 0
    h.must_be("placeholder-accounting", steps_in_flight=engine.made_for == most)
    h.must_be("request-conservation", an_engine_is_made_as_asked=engine.as_given)
    must_record(h, engine, request_state(scheduler, request))
    kept = request.num_prompt_tokens, request.max_tokens, request.priority, request.arrival_time
    same = all_of(*(now == then for now, then in zip(kept, asked, strict=True)))
    h.must_be("request-conservation", asked_for_as_sent=same)
    h.must_leave("scheduler.waiting")
    h.must_keep(resting_clauses(h.config, request))
    h.must_conserve(scheduler, request)


def first_decision(h: Harness) -> None:
    """A step nothing is scheduled in yet: its budgets are whole, its threshold is in force."""
    config = h.config
    gone = h.request(RequestStatus.FINISHED_STOPPED)
    scheduler = h.scheduler(gone)
    queues = scheduler.running, scheduler.waiting, scheduler.kv_holding_waiting
    counts = [size(queue) for queue in queues]
    num_running = counts[0]
    h.watch(scheduler, gone)
    step = scheduler.begin_step()
    h.must_leave()
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
    h.must_be("within-budget", a_step_begins_empty=_is_empty(step, scheduler.begin_step()))
    pool = Scheduler(config, h.policy, scheduler.environment).kv_cache_manager
    whole = all_of(
        pool.num_free_blocks == config.num_gpu_blocks, pool.block_size == config.block_size
    )
    h.must_be("block-accounting", a_new_pool_is_whole=whole)


def _is_empty(step: Step, next_step: Step) -> bool:
    """Whether a new step remembers nothing, and shares nothing with another that is to."""
    plain = {"num_scheduled_tokens": dict, "num_draft_tokens": dict, "padded": set}
    return all(
        type(held) is kind and not held and held is not getattr(next_step, name)
        for name, kind in (plain | {"preempted_reqs": list}).items()
        for held in [getattr(step, name)]
    )


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
    h.watch(scheduler, request, step=step)
    outcome = scheduler.try_running(step, request)
    scheduled = outcome is SCHEDULED
    told_once = h.decided == 1 and outcome is h.told.outcome
    h.must_be("progress", outcome_is_told=told_once)
    asked = fields_of("request", "num_prompt_tokens num_output_tokens num_output_placeholders")
    usable = total(h.frame.before(field) for field in asked) + drafts
    h.must_be("progress", no_more_slots_than_it_can_use=h.refused <= usable)
    moved: tuple[str, ...] = ("request.num_spec_tokens",)
    if h.stranger is not None or request.status is not RequestStatus.RUNNING:
        slots = counted + h.told.num_scheduled_tokens if scheduled else h.refused
        missing = ceil_div(slots, h.config.block_size) - h.frame.before(BLOCKS)
        short = missing > h.frame.before(POOL)
        h.must_be("progress", nobody_is_preempted_without_need=short)
    if h.stranger is not None:
        so_far, slots_taken = without_stranger(h, so_far), slots_taken - 1
        moved = (*moved, *AROUND)
    if request.status is not RequestStatus.RUNNING:
        moved = (*PREEMPTION, *AROUND)
    elif scheduled:
        moved = (*moved, BLOCKS, POOL)
    else:
        kept = request.num_spec_tokens == drafts
        h.must_be("rows-match-drafts", drafts_kept_for_later=kept)
    must_charge(h, scheduled, *moved)
    stays = step.index == h.frame.before("step.index") + scheduler.index_moved
    h.must_be("progress", only_preemptions_move_the_pass=stays)
    must_flag(h, step, before, scheduled)
    after_decision(h, scheduler, so_far, request, counted, scheduled, slots_taken)


def waiting(h: Harness) -> None:
    """One decision of the waiting pass, from the queue or after a KV load."""
    statuses = RequestStatus.WAITING_FOR_REMOTE_KVS, RequestStatus.PREEMPTED, RequestStatus.WAITING
    status = h.one_of(statuses)
    loading = status is statuses[0]
    request = h.request(status)
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
    holding = loading or bool(request.num_computed_tokens != 0)
    queue = scheduler.kv_holding_waiting if holding else scheduler.waiting
    queue.append(request)
    counted = request.num_computed_tokens
    if loading:  # of a whole prompt loaded, the last token is computed again
        counted = min(counted, request.num_tokens - 1)
    h.watch(scheduler, request, step=step)
    outcome = scheduler.try_waiting(step, request)
    admitted = outcome is SCHEDULED
    told_once = h.decided == 1 and outcome is h.told.outcome
    h.must_be("progress", outcome_is_told=told_once)
    takes = outcome in (SCHEDULED, LOADING)
    loaded = loading and not takes and request.status is not status
    becomes = fields_of("request", "status num_computed_tokens") if takes or loaded else ()
    must_charge(h, admitted, *becomes, *((BLOCKS, POOL) if takes else ()))
    now = request.num_computed_tokens
    if takes:
        due = RequestStatus.RUNNING if admitted else statuses[0]
        h.must_be("request-conservation", who_gets_rows_runs=request.status is due)
    if outcome is LOADING:
        kept = all_of(now == h.found, counted == 0)  # what is there is not loaded again
        h.must_be("async-load-idle", only_what_loads_is_awaited=h.offers_load)
        needed = max(ceil_div(now, h.config.block_size), h.frame.before(BLOCKS))
        h.must_be("block-accounting", no_block_to_spare_for_a_load=request.num_blocks <= needed)
        h.goals.append(Goal("async-load-idle", "load-is-remembered", kept))
    if loaded:
        resumes = request.num_preemptions > 0
        told = (request.status is RequestStatus.PREEMPTED) == resumes
        told = all_of(told, request.status in statuses[1:], now == counted)
        h.must_be("request-conservation", a_loaded_request_is_new_or_resumed=told)
        h.must_be("async-load-idle", a_load_ends_when_it_is_done=not_(h.still_loading))
    counted = counted + ite(counted == 0, h.found, 0)
    must_flag(h, step, before, scheduled=False)
    slots_taken = num_running + h.num_streaming + int(admitted)
    after_decision(h, scheduler, so_far, request, counted, admitted, slots_taken)


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
    h.watch(scheduler, victim, step=step)
    Scheduler.preempt(scheduler, step, victim)  # the body that chose it asks whom
    must_give(h, scheduled=False)
    h.must_leave(*PREEMPTION, *AROUND, *CHARGED, *CONTAINERS)
    waits = victim.status is RequestStatus.PREEMPTED
    h.must_be("request-conservation", victim_waits=waits)
    before, place = h.frame.before("step.index"), h.queues["running"][0].positions[victim]
    follows = step.index == before - ite(place < before, 1, 0)
    h.must_be("progress", who_comes_next_still_does=follows)
    # Under priority scheduling its urgency says where: see ``places``.
    first = next(list.__iter__(scheduler.waiting)) is victim
    h.must_be("progress", victim_goes_first=any_of(h.config.priority_scheduling, first))
    scheduler.must_enqueue(*([victim] if bool(h.config.priority_scheduling) else []))
    h.must_keep(resting_clauses(h.config, victim))
    left = StepSoFar(step, count, has_prefill, others_with_slots)
    kept = step_clauses(h.config, left)
    # After a preemption the waiting pass does not run: the flags are not read again.
    kept.pop("flags-imply-rows")
    h.must_keep(kept)
    h.must_conserve(scheduler, victim)
