"""What must be true once a step has decided about a request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from model.observation import advance
from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from model.step import Step
from proofs.clauses import StepSoFar, request_clauses, resting_clauses, step_clauses
from proofs.frame import contents, fields_of, same_contents, same_record
from proofs.goal import Goal
from proofs.harness import Harness
from proofs.known_fields import must_know
from proofs.surroundings import ProvedEngine
from spec import assumptions as world
from spec.logic import all_of, any_of, ceil_div, ite, max, not_
from spec.records import PoolState, StepTotals

BLOCKS, POOL = "request.num_blocks", "pool.num_free_blocks"
PREEMPTION = fields_of(
    "request",
    "status num_computed_tokens num_spec_tokens num_output_placeholders num_stale_output_tokens"
    " num_preemptions num_blocks",
)
"""What a preemption resets; what was asked for, generated and is in flight stays."""
AROUND = (POOL, "scheduler.running", "scheduler.waiting", "step.index")
"""What it moves besides the victim."""
CONTAINERS = fields_of("step", "num_scheduled_tokens num_draft_tokens padded preempted_reqs")
"""What ``must_give`` is about."""
CHARGED = fields_of("step", "token_budget input_budget")
FLAGS = fields_of("step", "running_scheduled prefill_scheduled")
"""What ``must_flag`` is about."""
ADVANCE = fields_of(
    "request",
    "num_computed_tokens num_in_flight_tokens is_prefill_chunk num_output_placeholders"
    " num_spec_tokens",
)
"""What counts rows that were given."""


def without_stranger(h: Harness, so_far: StepSoFar) -> StepSoFar:
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
    places = sum(list.count(queue, stranger) for queue, _ in h.queues.values())
    h.must_be("request-conservation", victim_is_in_one_queue=places == 1)
    return StepSoFar(so_far.step, count, so_far.has_prefill, slots)


def must_give(h: Harness, scheduled: bool) -> None:
    """The step holds what was told of the request, nothing of victims, and what it held besides."""
    request, step = h.frame.watched("request"), h.frame.watched("step")
    ran = h.frame.before("request.status") is RequestStatus.RUNNING
    victims = [
        each
        for each in (h.stranger, request if ran else None)
        if each is not None and each.status is RequestStatus.PREEMPTED
    ]
    rows, drafts, padded, preempted = (h.frame.held(name) for name in CONTAINERS)
    for victim in victims:
        rows.pop(victim, None)
        drafts.pop(victim, None)
    drafts[request], marked = 0, False  # 0 reads like none
    if scheduled:
        rows[request], drafts[request] = h.told.num_scheduled_tokens, h.told.num_draft_tokens
        marked = h.told.is_padded
    if request in step.padded:
        padded[request] = None
    preempted |= enumerate(victims, start=len(preempted))
    given = {request: 0} | contents(step.num_draft_tokens)
    names = all_of((request in step.padded) == marked, same_contents(padded, contents(step.padded)))
    told = same_contents(preempted, contents(step.preempted_reqs))
    h.must_be(
        "within-budget",
        rows_are_of_whom_was_told=same_contents(rows, contents(step.num_scheduled_tokens)),
    )
    h.must_be("rows-match-drafts", drafts_are_of_whom_was_told=same_contents(drafts, given))
    h.must_be("placeholder-accounting", padding_is_of_whom_was_told=names)
    h.must_be("request-conservation", victims_are_told=told)


def must_charge(h: Harness, scheduled: bool, *moved: str) -> None:
    """A decision charges the step for the rows it told of; besides, it moves what is named."""
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
    must_give(h, scheduled)
    h.must_leave(*moved, *CHARGED, *CONTAINERS, *FLAGS)
    h.must_be("placeholder-accounting", nothing_is_sampled_yet=not (h.sampled or h.proposed))


def after_decision(
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
        h.watch(scheduler, request, step=step)
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
        h.observe_state(scheduler, request, granted)


def must_flag(h: Harness, step: Step, before: tuple[bool, bool, bool], scheduled: bool) -> None:
    """The step remembers whether running work got rows, and whether prefill was among it."""
    running_scheduled, prefill_scheduled, is_prefill = before
    followed = all_of(
        step.running_scheduled == any_of(running_scheduled, scheduled),
        step.prefill_scheduled == any_of(prefill_scheduled, all_of(scheduled, is_prefill)),
    )
    h.goals.append(Goal("no-padding-with-prefill", "flags-follow", followed))


def must_record(h: Harness, engine: ProvedEngine, *happened: Any) -> None:
    """The engine recorded what happened: this and nothing else."""
    told = all_of(len(engine.told) == len(happened), *map(same_record, engine.told, happened))
    h.must_be("progress", what_happened_is_told=told)


def _must_tell(h: Harness, step: Step, request: Request, rows: int, known: int) -> None:
    """What the runner is told of the request: whether it samples, and which drafts are real."""
    drafts = step.num_draft_tokens.get(request, 0)
    told = replace(
        step,
        num_scheduled_tokens={request: rows},
        num_draft_tokens={request: drafts},
        preempted_reqs=[],
    )
    output = told.output()
    must_know(h.context, output, *output.scheduled)
    (share,) = output.scheduled
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
