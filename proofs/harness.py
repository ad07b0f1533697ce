"""An arbitrary state of the model, and the goals collected on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from model.engine import request_state
from model.environment import Sample
from model.policies import PaddingPolicy
from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from model.step import Step
from proofs.clauses import SERVES, Clauses, StepSoFar, resting_clauses, step_clauses
from proofs.crowds import Crowd, Ledger, Marks, Name
from proofs.frame import Frame
from proofs.goal import NOTHING, QUEUED, WAIVED, Goal
from proofs.surroundings import ArbitraryWorld, WatchedScheduler, arbitrary_config
from proofs.symbolic import Context
from proofs.watching import Watching
from spec import assumptions as world
from spec.invariants import about
from spec.logic import all_of, implies, ite, min, not_, size
from spec.promises import placeholders_not_emitted
from spec.records import SCHEDULED, Decision, PoolState, RequestState


class Harness(Watching):
    """An arbitrary state of one policy under one scheduling mode, and the goals collected on it."""

    def __init__(
        self,
        context: Context,
        policy: PaddingPolicy,
        async_scheduling: bool,
        clauses: Iterable[str],
    ) -> None:
        super().__init__(context)
        self.policy = policy
        self.kept = frozenset(clauses)
        self.supposed: set[str] = set()
        """The clauses taken for granted on this path."""
        self.config = arbitrary_config(context, async_scheduling)
        self.assume(world.LEGAL_CONFIG, self.config)
        self.group_has_prefill = self.truth("group_has_prefill")
        self.still_loading: bool = False
        """Whether the request's KV is still on its way, whatever the scheduler makes of it."""
        self.offers_load: bool = False
        """Whether the connector offered to load KV for the request in the background."""
        self.never_loaded: bool = True
        """Whether no KV was loaded for the request while it waited: it holds no block then."""
        self.budget_left: int
        """Rows that one request can get as the step begins, tokens."""
        self.decided = 0
        """Decisions observed on this path."""
        self.told: Decision
        """The last of them, as the scheduler told it."""
        self.stranger: Request | None = None
        """Another running request, which the scheduler chose to preempt."""
        self.stranger_frame: Frame
        """What it was then."""
        self.refused = 0
        """KV slots the pool was asked for in vain in the last decision, as it was told."""
        self.withdrawn: int | None = None
        """Rows the stranger had got in this step already, tokens; None: none."""
        self.sampled: list[tuple[Sample, Request, int, bool]] = []
        """What the runner was asked to sample: the answer, for whom, how many drafts, padding?"""
        self.proposed: list[tuple[int, Request]] = []
        """What the drafter was asked for: the number of drafts, and for whom."""
        self.rejections: dict[str, bool] = {}
        """What the runner grants about placeholder drafts in the step being booked."""
        self.prefill_withdrawn = all_of(
            self.config.priority_scheduling, self.truth("prefill_withdrawn")
        )
        """Whether every prefill scheduled so far on this rank will be preempted in this step."""
        self.computes_prompt: bool = False
        """Whether the last decision scheduled prompt rows."""
        self.found: int = 0
        """What the caches and the connector hold of the request, tokens."""

    # -- inputs -------------------------------------------------------------------------------

    def integer(self, name: str, low: int | None = None, high: int | None = None) -> Any:
        """An arbitrary integer, within optional bounds; stands for an ``int`` of the model."""
        return self.context.int(name, low, high)

    def truth(self, name: str) -> Any:
        """An arbitrary truth value."""
        return self.context.bool(name)

    def one_of(self, statuses: Sequence[RequestStatus], name: str = "r") -> RequestStatus:
        """What an arbitrary request is doing, one of these: each is tried on paths of its own."""
        *others, last = statuses
        for one in others:
            if bool(self.truth(f"status of {name} is {one.name}")):
                return one
        return last

    # -- assuming -----------------------------------------------------------------------------

    def assume(self, assumption: world.Assumption, *arguments: Any) -> None:
        """Take a named assumption about the world for granted."""
        self.context.assume(assumption.condition(*arguments), assumption.id)

    def suppose(self, clauses: Clauses) -> None:
        """Take the kept inductive clauses for granted."""
        granted = {name: formula for name, formula in clauses.items() if name in self.kept}
        self.supposed.update(granted)
        self.context.assume(all_of(*granted.values()))

    def suppose_queued(self, request: Request) -> None:
        """The request is in a waiting queue, and holds blocks only if KV was loaded for it."""
        self.never_loaded = self.truth("never loaded")
        self.suppose({QUEUED: implies(self.never_loaded, request.num_blocks == 0)})

    # -- arbitrary objects --------------------------------------------------------------------

    def request(self, status: RequestStatus, name: str = "r") -> Request:
        """A request with arbitrary counters."""

        def named(counter: str) -> str:
            return counter if name == "r" else f"{name} {counter}"

        def new(counter: str, low: int | None = None) -> Any:
            return self.integer(named(counter), low)

        known = Name(self.context, name)
        request = Request(known, new("num_prompt_tokens"), new("max_tokens"))
        request.status = status
        request.priority, request.arrival_time = new("priority"), new("arrival_time")
        request.num_preemptions = new("num_preemptions", 0)
        request.num_output_tokens = new("num_output_tokens", 0)
        request.num_computed_tokens = new("num_computed_tokens")
        request.num_output_placeholders = new("num_output_placeholders")
        request.num_spec_tokens = new("len_spec_token_ids")
        request.num_in_flight_tokens = new("num_in_flight_tokens")
        request.num_stale_output_tokens = new("num_stale_output_tokens")
        request.num_blocks = new("num_blocks", 0)
        request.is_prefill_chunk = self.truth(named("is_prefill_chunk"))
        return request

    def scheduler(self, request: Request) -> WatchedScheduler:
        """A scheduler that serves any number of other requests; ``request`` is in no queue yet."""
        environment = ArbitraryWorld(self)
        scheduler = WatchedScheduler(self, environment)
        scheduler.running = self.crowd("running")
        scheduler.waiting = self.crowd("waiting")
        scheduler.kv_holding_waiting = self.crowd("holding KV")
        scheduler.finished = self.crowd("finished")
        scheduler.kv_cache_manager.num_free_blocks = self.integer("num_free_blocks", 0)
        self.num_streaming = self.integer("num_waiting_for_streaming_input", 0)
        scheduler.num_waiting_for_streaming_input = self.num_streaming
        self.other_blocks = self.integer("blocks held by others", 0)
        self.context.assume(self._blocks(scheduler, request) == self.config.num_gpu_blocks)
        return scheduler

    def crowd(self, name: str) -> Crowd:
        """A queue of any number of requests, none of which is shown."""
        return Crowd(self.context, others=self.integer(name, 0))

    def step(self, slots_taken: int) -> StepSoFar:
        """A step in which any number of requests already got rows."""
        new = self.integer
        alone = self.truth("no other unfinished request")
        preempted = Crowd(self.context, others=new("num_preempted", 0))
        preempted.watch()
        step = Step(
            token_budget=new("token_budget"),
            input_budget=new("input_budget"),
            threshold=ite(
                all_of(self.config.exempt_only_request, alone),
                0,
                self.config.long_prefill_token_threshold,
            ),
            running_scheduled=self.truth("running_scheduled"),
            prefill_scheduled=self.truth("prefill_scheduled"),
            index=new("index", 0),
            num_scheduled_tokens=Ledger(self.context),
            num_draft_tokens=Ledger(self.context),
            padded=Marks(self.context),
            preempted_reqs=preempted,
        )
        has_prefill = self.truth("rank_has_prefill")
        so_far = StepSoFar(step, new("num_scheduled_reqs", 0), has_prefill, slots_taken)
        self.suppose(step_clauses(self.config, so_far))
        self.budget_left = min(step.token_budget, step.input_budget - self.config.draft_slots)
        stays = has_prefill & not_(self.prefill_withdrawn)
        self.context.assume(implies(stays, self.group_has_prefill))
        return so_far

    # -- goals --------------------------------------------------------------------------------

    def observe(self, record: Any, granted: Mapping[str, bool] = NOTHING) -> None:
        """Every invariant about this record becomes a goal, under tracked hypotheses."""
        record = self.as_judged(record)
        if isinstance(record, RequestState):
            empty = implies(record.needs_no_blocks, record.num_blocks == 0)
            self.must_keep({QUEUED: empty}, granted)
        for invariant in about(type(record)):
            claim = invariant.claim(record)
            tracked = dict(granted)
            tracked |= {WAIVED + name: not_(applies) for name, applies in claim.waivers.items()}
            if invariant.id == "progress":
                tracked |= {a.id: a.condition(self.config) for a in world.PROGRESS_NEEDS}
            if invariant.claim is placeholders_not_emitted:
                tracked |= self.rejections
            self.goals.append(
                Goal(invariant.id, invariant.claim.__name__, claim.unless_waived, tracked)
            )

    def as_judged(self, record: Any) -> Any:
        """A record with the knobs of the harness and what it knows of the world and the group,
        whatever the scheduler took them to be."""
        if record.config is not self.config:
            record = replace(record, config=self.config)
        if isinstance(record, RequestState):
            needs_none = all_of(record.needs_no_blocks, self.never_loaded)
            return replace(record, needs_no_blocks=needs_none)
        if not isinstance(record, Decision):
            return record
        self.computes_prompt = all_of(record.outcome == SCHEDULED, record.is_prefill)
        self.context.assume(implies(self.computes_prompt, self.group_has_prefill))
        self.decided += 1
        self.told = record
        running = self.frame.watched("scheduler").running
        free = size(running) + self.num_streaming < self.config.max_num_seqs
        self.must_be("progress", free_seats_are_told=record.has_slot == free)
        loads = self.still_loading | all_of(self.offers_load, record.outcome == SCHEDULED)
        return replace(
            record,
            is_loading=loads,
            budget_left=self.budget_left,  # before anything was taken back from a victim
            group_has_prefill=self.group_has_prefill,
            prefill_withdrawn=self.prefill_withdrawn,
        )

    def must_keep(self, clauses: Clauses, granted: Mapping[str, bool] = NOTHING) -> None:
        """Every kept clause becomes a goal: the body must re-establish it."""
        self.goals.extend(
            Goal(SERVES[name], name, formula, granted)
            for name, formula in clauses.items()
            if name in self.kept
        )

    def must_conserve(self, scheduler: Scheduler, request: Request) -> None:
        """Blocks and queues add up, wherever the request went."""
        manager = scheduler.kv_cache_manager
        held = self.held_by_others + ite(request.is_finished, 0, request.num_blocks)
        self.observe(PoolState(self.config, manager.num_free_blocks, held))
        self.observe_state(scheduler, request)

    def observe_state(
        self, scheduler: Scheduler, request: Request, granted: Mapping[str, bool] = NOTHING
    ) -> None:
        """``observe`` what a request has come to, which must be told as it is."""
        record = request_state(scheduler, request)
        queues = scheduler.running, scheduler.waiting, scheduler.kv_holding_waiting
        held = sum(list.count(queue, request) for queue in (*queues, scheduler.finished))
        waits = request.status in (RequestStatus.WAITING, RequestStatus.PREEMPTED)
        idle = request.is_finished or (waits and list.count(scheduler.waiting, request) > 0)
        told = record.num_queues == held and record.needs_no_blocks == idle
        self.must_be("request-conservation", a_state_is_told_as_it_is=told)
        self.observe(record, granted)

    def another(self, scheduler: Scheduler) -> Request:
        """Another running request, which holds some of the blocks that others hold."""
        self.stranger = stranger = self.request(RequestStatus.RUNNING, "stranger")
        self.context.assume(stranger.num_blocks <= self.other_blocks)
        self.other_blocks = self.other_blocks - stranger.num_blocks
        self.suppose(resting_clauses(self.config, stranger))
        list.append(scheduler.running, stranger)
        step = self.frame.watched("step")
        if bool(self.truth("the stranger got rows in this step")):
            self.withdrawn = rows = self.integer("stranger rows", 1)
            step.num_scheduled_tokens[stranger] = rows
            step.num_draft_tokens[stranger] = self.integer("stranger drafts", 0)
            stranger.num_spec_tokens = 0  # they went into those rows
        self.stranger_frame = Frame(request=stranger)
        return stranger

    @property
    def held_by_others(self) -> Any:
        """KV blocks of all requests but the one under proof."""
        return self.other_blocks + (0 if self.stranger is None else self.stranger.num_blocks)

    def _blocks(self, scheduler: Scheduler, request: Request) -> Any:
        return scheduler.kv_cache_manager.num_free_blocks + request.num_blocks + self.other_blocks
