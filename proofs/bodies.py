"""The loop bodies under proof: the model's own functions on one arbitrary request.

Each function below builds an arbitrary state that satisfies the inductive clauses, runs the
model's code on it once, and lists what must hold afterwards.  ``any number of requests`` is the
arbitrary request; ``any number of steps`` is the arbitrary state; ``any number of ranks`` is the
free flag ``group_has_prefill``, which says whether some other rank computes prompt in this step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from model.engine import request_state
from model.environment import Sample
from model.output import book_output, propose_drafts
from model.policies import PaddingPolicy
from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from model.step import Scheduled, Step
from proofs.clauses import (
    SERVES,
    Clauses,
    StepSoFar,
    request_clauses,
    resting_clauses,
    step_clauses,
)
from proofs.symbolic import Context
from spec import assumptions as world
from spec.config import FLAGS, KNOBS, Config
from spec.invariants import about, no_reachable_assert
from spec.logic import all_of, any_of, implies, ite, not_
from spec.records import SCHEDULED, Booking, Decision, PoolState, StepTotals


@dataclass(frozen=True, slots=True)
class Goal:
    """One formula to prove at the end of a path."""

    invariant: str
    """The catalogue id that is at stake."""
    name: str
    """The claim's function or the clause's name."""
    formula: bool
    granted: Mapping[str, bool] = field(default_factory=dict)
    """Tracked extra hypotheses: assumptions by id, and ``not <waiver>`` for each waiver."""


PROGRESS_NEEDS = (
    world.BUDGET_COVERS_BATCH,
    world.INPUTS_COVER_ROWS,
    world.WHOLE_PROMPTS_FIT,
)
NOTHING: Mapping[str, bool] = {}
WAIVED = "unless:"
"""Prefix of a tracked hypothesis that says a waiver does not apply."""
CLAUSE = "clause:"
"""Prefix of a tracked hypothesis that is an inductive clause."""


class Harness:
    """An arbitrary state of one policy under one scheduling mode, and the goals collected on it."""

    def __init__(
        self,
        context: Context,
        policy: PaddingPolicy,
        async_scheduling: bool,
        clauses: Iterable[str],
    ) -> None:
        self.context = context
        self.policy = policy
        self.kept = frozenset(clauses)
        self.goals: list[Goal] = []
        self.config = arbitrary_config(context, async_scheduling)
        self.assume(world.LEGAL_CONFIG, self.config)
        self.group_has_prefill = context.bool("group_has_prefill")
        self.rejections: dict[str, bool] = {}
        """What the runner grants about placeholder drafts in the step being booked."""
        self.computes_prompt: bool = False
        """Whether the last decision scheduled prompt rows."""

    # -- assuming -----------------------------------------------------------------------------

    def assume(self, assumption: world.Assumption, *arguments: Any) -> None:
        """Take a named assumption about the world for granted."""
        self.context.assume(assumption.condition(*arguments), assumption.id)

    def suppose(self, clauses: Clauses) -> None:
        """Take the kept inductive clauses for granted, each under its name."""
        for name, formula in clauses.items():
            if name in self.kept:
                self.context.assume(formula, CLAUSE + name)

    # -- arbitrary objects --------------------------------------------------------------------

    def request(self, status: RequestStatus) -> Request:
        """A request with arbitrary counters."""
        new = self.context.int
        request = Request("r", new("num_prompt_tokens", 1), new("max_tokens", 1))
        request.status = status
        request.num_output_tokens = new("num_output_tokens", 0)
        request.num_computed_tokens = new("num_computed_tokens")
        request.num_output_placeholders = new("num_output_placeholders")
        request.num_spec_tokens = new("len_spec_token_ids")
        request.num_in_flight_tokens = new("num_in_flight_tokens")
        request.num_stale_output_tokens = new("num_stale_output_tokens")
        request.num_blocks = new("num_blocks", 0)
        request.is_prefill_chunk = self.context.bool("is_prefill_chunk")
        return request

    def scheduler(self, request: Request) -> Scheduler:
        """A scheduler whose pool also serves any number of other requests."""
        environment = ArbitraryWorld(self)
        scheduler = Scheduler(self.config, self.policy, environment, self.observe)
        scheduler.kv_cache_manager.num_free_blocks = self.context.int("num_free_blocks", 0)
        self.other_blocks = self.context.int("blocks held by others", 0)
        self.context.assume(self._blocks(scheduler, request) == self.config.num_gpu_blocks)
        return scheduler

    def step(self, slots_taken: int) -> StepSoFar:
        """A step in which any number of requests already got rows."""
        new = self.context.int
        alone = self.context.bool("no other unfinished request")
        step = Step(
            token_budget=new("token_budget"),
            input_budget=new("input_budget"),
            threshold=ite(
                all_of(self.config.exempt_only_request, alone),
                0,
                self.config.long_prefill_token_threshold,
            ),
            running_scheduled=self.context.bool("running_scheduled"),
            prefill_scheduled=self.context.bool("prefill_scheduled"),
        )
        has_prefill = self.context.bool("rank_has_prefill")
        so_far = StepSoFar(step, new("num_scheduled_reqs", 0), has_prefill, slots_taken)
        self.suppose(step_clauses(self.config, so_far))
        self.context.assume(implies(has_prefill, self.group_has_prefill))
        return so_far

    # -- goals --------------------------------------------------------------------------------

    def observe(self, record: Any, granting: Mapping[str, bool] = NOTHING) -> None:
        """Every invariant that speaks about this record becomes a goal."""
        if isinstance(record, Decision):
            self.computes_prompt = all_of(record.outcome == SCHEDULED, record.is_prefill)
            self.context.assume(implies(self.computes_prompt, self.group_has_prefill))
            record = replace(record, group_has_prefill=self.group_has_prefill)
        for invariant in about(type(record)):
            claim = invariant.claim(record)
            granted = {WAIVED + name: not_(applies) for name, applies in claim.waivers.items()}
            if invariant.id == "progress":
                granted |= {a.id: a.condition(self.config) for a in PROGRESS_NEEDS}
            if isinstance(record, Booking):
                granted |= self.rejections
            granted |= granting
            self.goals.append(
                Goal(invariant.id, invariant.claim.__name__, claim.unless_waived, granted)
            )

    def must_keep(self, clauses: Clauses, granting: Mapping[str, bool] = NOTHING) -> None:
        """Every kept clause becomes a goal: the body must re-establish it."""
        self.goals.extend(
            Goal(SERVES[name], name, formula, granting)
            for name, formula in clauses.items()
            if name in self.kept
        )

    def must_conserve(self, scheduler: Scheduler, request: Request) -> None:
        """Blocks and queues add up, wherever the request went."""
        manager = scheduler.kv_cache_manager
        held = self.other_blocks + request.num_blocks
        self.observe(PoolState(self.config, manager.num_free_blocks, held))
        self.observe(request_state(scheduler, request))

    def _blocks(self, scheduler: Scheduler, request: Request) -> int:
        return scheduler.kv_cache_manager.num_free_blocks + request.num_blocks + self.other_blocks


class ArbitraryWorld:
    """The environment with every answer free, under the named assumptions."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness

    def prefix_hit(self, request: Request) -> int:
        hit: int = self.harness.context.int("prefix_hit", 0)
        self.harness.assume(world.HIT_LEAVES_ONE, request.num_tokens, hit)
        return hit

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        harness = self.harness
        matched: int = harness.context.int("connector_match", 0)
        load_async: bool = harness.context.bool("connector_load_is_async")
        within = world.HIT_LEAVES_ONE.condition(request.num_tokens, num_local_tokens + matched)
        harness.context.assume(load_async | within, world.HIT_LEAVES_ONE.id)
        loaded = world.LOAD_WITHIN_REQUEST.condition(request.num_tokens, num_local_tokens, matched)
        harness.context.assume(implies(load_async, loaded), world.LOAD_WITHIN_REQUEST.id)
        return matched, load_async

    def load_finished(self, request: Request) -> bool:
        finished: bool = self.harness.context.bool("load_finished")
        return finished

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        harness, new = self.harness, self.harness.context.int
        generated = new("num_generated_tokens", 0)
        harness.assume(world.RUNNER_SAMPLES, harness.config, num_draft_tokens, generated)
        placeholders = new("num_accepted_placeholders", 0)
        harness.context.assume(implies(not_(padded), placeholders == 0))
        rejected = world.PLACEHOLDERS_REJECTED
        harness.rejections = {rejected.id: rejected.condition(padded, placeholders)}
        return Sample(generated, placeholders, new("stop_after", 0))

    def draft(self, request: Request) -> int:
        drafts: int = self.harness.context.int("num_proposed_drafts")
        self.harness.assume(world.DRAFTS_AT_MOST_K, self.harness.config, drafts)
        return drafts


def arbitrary_config(context: Context, async_scheduling: bool) -> Config:
    """Every knob symbolic but the scheduling mode, which is what the table has columns for."""
    knobs: dict[str, Any] = {
        knob.name: context.int(knob.name, knob.low, knob.high) for knob in KNOBS
    }
    flags: dict[str, Any] = {flag: context.bool(flag) for flag in FLAGS}
    flags["async_scheduling"] = async_scheduling
    return Config(**knobs, **flags)


# -- the bodies -----------------------------------------------------------------------------------


def arrival(h: Harness) -> None:
    """A new request, straight from the client."""
    new = h.context.int
    request = Request("r", new("num_prompt_tokens", 1), new("max_tokens", 1))
    h.assume(world.PROMPT_FITS, h.config, request.num_prompt_tokens)
    h.assume(world.ASKS_FOR_OUTPUT, request.max_tokens)
    scheduler = h.scheduler(request)
    scheduler.add_request(request)
    h.must_keep(resting_clauses(h.config, request))
    h.must_conserve(scheduler, request)


def first_decision(h: Harness) -> None:
    """A step nothing is scheduled in yet: its budgets are whole, its threshold is in force."""
    scheduler = Scheduler(h.config, h.policy, ArbitraryWorld(h))
    step = scheduler.begin_step()
    h.must_keep(step_clauses(h.config, StepSoFar(step, 0, False, h.context.int("running", 0))))
    untouched = all_of(
        step.token_budget == h.config.max_num_scheduled_tokens,
        step.input_budget == h.config.max_num_batched_tokens,
    )
    h.goals.append(Goal("progress", "whole-budget-first", untouched))


def running(h: Harness) -> None:
    """One decision of the running pass; a less or more urgent request may be preempted for it."""
    request = h.request(RequestStatus.RUNNING)
    h.suppose(resting_clauses(h.config, request))
    scheduler = h.scheduler(request)
    num_running = h.context.int("num_running", 1)
    h.context.assume(num_running <= h.config.max_num_seqs)
    so_far = h.step(num_running - 1)
    scheduler.running = [request]
    outcome = scheduler.try_running(so_far.step, request)
    _after_decision(h, scheduler, so_far, request, outcome, slots_taken=num_running)


def waiting(h: Harness) -> None:
    """One decision of the waiting pass, from the queue or after a KV load."""
    loading = bool(h.context.bool("status is WAITING_FOR_REMOTE_KVS"))
    request = h.request(RequestStatus.WAITING_FOR_REMOTE_KVS if loading else RequestStatus.WAITING)
    h.suppose(resting_clauses(h.config, request))
    scheduler = h.scheduler(request)
    num_running = h.context.int("num_running", 0)
    h.context.assume(num_running <= h.config.max_num_seqs)
    scheduler.num_waiting_for_streaming_input = num_running
    so_far = h.step(num_running)
    if loading:
        scheduler.kv_holding_waiting = [request]
    else:
        scheduler.waiting = [request]
    scheduler.schedule_waiting(so_far.step)
    admitted = request in scheduler.running
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
    so_far = h.step(h.context.int("num_running", 1))
    step = so_far.step
    scheduler.running = [victim]
    count, has_prefill = so_far.num_scheduled_reqs, so_far.has_prefill
    others_with_slots = so_far.slots_taken - 1
    if bool(h.context.bool("victim already scheduled")):
        rows = h.context.int("victim rows", 1)
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
    if bool(h.context.bool("request is still running")):
        _book_running(h)
    elif bool(h.context.bool("request was preempted")):
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
    if bool(h.context.bool("request is waiting")):
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
    goes_on: dict[str, bool] = {}
    if outcome == SCHEDULED:
        rows = step.num_scheduled_tokens[request]
        goes_on = {world.CRASH_IS_THE_END.id: world.CRASH_IS_THE_END.condition(rows)}
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
        h.context.int("share rows", 1),
        h.context.int("share drafts", 0),
        h.context.bool("share is padded"),
        h.context.bool("share samples"),
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
