"""An arbitrary state of one rank, built around the text's own scheduler object.

``README.md`` argues why one running and one waiting request, with whatever budgets the requests
before them left, stand for any number of requests.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from proofs.clauses import SERVES, request_clauses
from proofs.source.loader import Loaded
from proofs.source.objects.fresh import Fresh
from proofs.source.objects.history import sequence
from proofs.source.objects.queues import RequestQueue
from proofs.source.objects.requests import Request, RequestStatus
from proofs.source.objects.stubs import Stub
from proofs.source.objects.tokens import PLACEHOLDER, UNSEEN
from proofs.source.objects.world import Context, World
from proofs.source.runs.carried import LOADED, Carried, make_arbitrary
from proofs.source.runs.places import enqueue, queue_names
from proofs.source.runs.state import Features, Moment, View, arbitrary_config, knows
from proofs.symbolic import SymSeq
from proofs.symbolic.counts import start_counting
from proofs.verdict import ASYNC, SYNC
from spec import assumptions as spec_world
from spec.config import Config, coupled_ranges
from spec.logic import all_of, implies
from spec.records import Decision

CLAUSE = "clause:"
"""Prefix of a tracked hypothesis that is an inductive clause."""
NOTHING_IN_FLIGHT = "waiting-nothing-in-flight"
"""The clause of a text that forgets H when it preempts, and tells by other means what is stale."""
UNJUDGED = frozenset({"blocks-cover-computed"})
"""Clauses about the block pool, which is not part of the text."""
HOLD_BACK = "throttle_prefills"
"""What `schedule` is told when prefills shall wait (since 0.25)."""
HELD_BACK = "prefills held back"
"""How a run is called in which they do."""
BOUND = "prefill_capacity_bound"
"""The attribute that says whether the step before left prefills waiting for rows."""


@dataclass
class Harness:
    """The text's scheduler in a world of free answers, and the hypotheses it starts from."""

    loaded: Loaded
    context: Context
    features: Features
    kept: Collection[str] | None = None
    """Clauses that may be supposed; None: all of them."""
    config: Config = field(init=False)
    world: World = field(init=False)
    scheduler: Any = field(init=False)
    carried: Carried = field(init=False)
    everyone: list[Request] = field(init=False, default_factory=list)
    """The requests of the harness, in the order they were made."""
    stand_ins: set[str] = field(init=False, default_factory=set)
    peers: list[Harness] = field(init=False, default_factory=list)
    """The other data-parallel ranks of the run, where there are any."""
    moments: list[Moment] = field(init=False, default_factory=list)
    """The steps of the run."""
    before: dict[str, View] = field(init=False, default_factory=dict)
    """Request id → its counters when the step began."""
    ran_before: tuple[Request, ...] = ()
    """The running requests in the order they had then."""
    loaded_before: frozenset[str] = frozenset()
    """Requests whose load was done when the step began."""
    is_bound: Any = False
    """Whether the step before had left prefills waiting for rows, as the text says."""
    holders: set[str] = field(init=False, default_factory=set)
    """Waiting requests that hold KV, in front of others that hold none."""

    def __post_init__(self) -> None:
        self.config = arbitrary_config(self.context, self.features, self.loaded.mentioned)
        host = self.loaded.host
        self.world = World(host, self.context, self.config, self.features.connector)
        host.begin(self.world)
        self.is_first = self.context.bool("nothing was scheduled before")
        self._legal()
        # Serving counts; under a connector what it counts is a further question for each request.
        self.scheduler = make_scheduler(
            self.loaded, self.config, log_stats=self.features.connector is not True
        )
        start_counting()
        self.carried = Carried(self)

    def _legal(self) -> None:
        """Legal knobs; between two decisions the input budget may be the smaller one."""
        for name, (holds, _) in coupled_ranges(self.config).items():
            if name == "rows within inputs":
                holds = implies(self.is_first | (self.config.draft_slots == 0), holds)
            self.context.assume(holds, spec_world.LEGAL_CONFIG.id)

    def assume(self, assumption: spec_world.Assumption, *arguments: Any) -> None:
        """Take a named assumption for granted."""
        self.world.assume(assumption, *arguments)

    def moment(self) -> Moment:
        """A step begins: what the trace will show of it."""
        self.moments.append(Moment(hits=self.world.hits, matches=self.world.matches))
        return self.moments[-1]

    def record(self, seen: Any, decisions: list[Decision]) -> None:
        """Keep what a step decided, for the trace."""
        if not self.moments:
            self.moment()
        self.moments[-1].rows, self.moments[-1].decisions = seen.rows, decisions

    # -- requests ------------------------------------------------------------------------------

    def request(self, name: str, status: RequestStatus) -> Request:
        """A request with arbitrary counters, known to the scheduler."""
        new = self.context.int
        prompt = new(f"{name} num_prompt_tokens", 1)
        request = Request(self.loaded.host, name, prompt, new(f"{name} max_tokens", 1))
        request.status = status
        request.num_emitted__ = new(f"{name} num_output_tokens", 0)
        request.num_computed_tokens = new(f"{name} num_computed_tokens")
        if status in (RequestStatus.RUNNING,):
            request.num_output_placeholders = new(f"{name} num_output_placeholders")
            drafts = request.spec_token_ids = self.drafts(new(f"{name} len_spec_token_ids", 0))
            if self.is_async and type(drafts) is SymSeq:
                drafts.is_merged = True  # all requests of vLLM's share one list of placeholders
            request.is_prefill_chunk = self.context.bool(f"{name} is_prefill_chunk")
            request.num_preemptions = new(f"{name} num_preemptions", 0)
        if self.is_async and self.tracks_flight:
            request.num_in_flight_tokens = new(f"{name} num_in_flight_tokens", 0)
            request.num_stale_output_tokens = new(f"{name} num_stale_output_tokens", 0)
        request.num_preemptions = new(f"{name} num_preemptions", 0)
        if self.features.priority is not False:
            request.priority = new(f"{name} priority")
            request.arrival_time = new(f"{name} arrival_time", 0)
        make_arbitrary(self.world, request)
        self.scheduler.requests[request.request_id] = request
        self.everyone.append(request)
        return request

    def drafts(self, count: Any) -> Any:
        """So many drafts: placeholders where steps overlap; otherwise some drafter's tokens."""
        return sequence(count, PLACEHOLDER if self.is_async else UNSEEN)

    def running(self, name: str) -> Request:
        """An arbitrary running request between two steps."""
        request = self.request(name, RequestStatus.RUNNING)
        self.suppose(request, self.in_flight(request))
        self.scheduler.running.append(request)
        return request

    def stand_in(self, name: str) -> Request:
        """A running request that takes one row, whatever the features; nothing is claimed of it."""
        request = self.request(name, RequestStatus.RUNNING)
        request.num_output_placeholders, request.spec_token_ids = 0, Fresh()
        request.num_in_flight_tokens = request.num_stale_output_tokens = 0
        request.num_computed_tokens = request.num_tokens - 1
        self.context.assume(request.num_output_tokens >= 1)
        self.context.assume(request.num_tokens <= self.config.max_model_len - 1)
        self.world.never_short.add(request.request_id)
        self.scheduler.running.append(request)
        self.stand_ins.add(request.request_id)
        return request

    def waiting(self, name: str, anywhere: bool = True) -> Request:
        """An arbitrary waiting request: new, preempted, or holding KV.

        ``anywhere``: in any queue it may stand in.
        """
        flag = self.context.bool
        status = RequestStatus.WAITING
        if self.features.connector and bool(flag(f"{name} is loading KV")):
            status = RequestStatus.WAITING_FOR_REMOTE_KVS
        request = self.request(name, status)
        preempted = bool(flag(f"{name} was preempted"))
        self.suppose(request, 0)
        if preempted:
            self.context.assume(request.num_preemptions >= 1)
            request.is_prefill_chunk = flag(f"{name} is_prefill_chunk")
            if status is RequestStatus.WAITING:
                request.status = RequestStatus.PREEMPTED
        else:
            request.num_preemptions = 0
            self.context.assume(request.num_output_tokens == 0)
            self.context.assume(request.num_in_flight_tokens == 0)
        if status is RequestStatus.WAITING_FOR_REMOTE_KVS:
            self.context.assume(request.num_computed_tokens >= 1)
            if bool(flag(f"{name} KV load is done")):
                self.scheduler.finished_recving_kv_req_ids.add(request.request_id)
        elif not self.features.connector:
            self.context.assume(request.num_computed_tokens == 0)
        enqueue(self, request, anywhere)
        return request

    @property
    def keeps_placeholders(self) -> bool:
        """Whether the text leaves H as it is when it preempts (vLLM up to 0.26)."""
        return self.is_async and self.kept is not None and NOTHING_IN_FLIGHT not in self.kept

    def queues(self) -> list[RequestQueue]:
        """The waiting queues the text keeps."""
        return [getattr(self.scheduler, name) for name in queue_names(self.scheduler)]

    def others_wait(self) -> None:
        """Any number of further requests stand behind in the queue."""
        queue = getattr(self.scheduler, "waiting", None)
        if isinstance(queue, RequestQueue):
            queue.others__ = self.context.int("other waiting requests", 0)

    def is_alone(self) -> Any:
        """Whether there is one request in all, which a text may exempt from the threshold."""
        others: Any = 0
        for queue in self.queues():
            others = others + queue.others__
        return all_of(len(self.everyone) == 1, others == 0)

    # -- clauses -------------------------------------------------------------------------------

    def in_flight(self, request: Request) -> Any:
        """Sampled tokens and drafts in flight when no step is being decided."""
        return request.num_output_placeholders if self.features.async_scheduling else 0

    def supposed(self, mid_step: bool = False) -> frozenset[str]:
        """The names of the inductive clauses that may be taken for granted.

        ``mid_step``: under sync scheduling, between a step and its booking, drafts are not yet
        proposed, so a diffusion canvas may still be missing.
        """
        unjudged = UNJUDGED | ({"canvas-full"} if mid_step else set())
        return frozenset(SERVES if self.kept is None else self.kept) - unjudged

    def suppose(self, request: Request, in_flight: Any, mid_step: bool = False) -> None:
        """Take the kept clauses for granted, each under its name."""
        supposed = self.supposed(mid_step)
        clauses = request_clauses(self.config, self.view(request), in_flight)  # type: ignore[arg-type]
        for name, formula in clauses.items():
            if name in supposed:
                self.context.assume(formula, CLAUSE + name)

    @property
    def judged(self) -> list[Request]:
        """The requests about which something is claimed."""
        return [r for r in self.everyone if r.request_id not in self.stand_ins]

    @property
    def is_async(self) -> bool:
        """Whether steps overlap."""
        return self.features.async_scheduling

    @property
    def tracks_flight(self) -> bool:
        """Whether the text counts rows in flight (since 0.27)."""
        return "num_stale_output_tokens" in self.loaded.mentioned

    @property
    def knows_draft_slots(self) -> bool:
        """Whether the text reads D (since 0.28)."""
        return knows(self.loaded.mentioned, "draft_slots")

    # -- the scheduler's own state ---------------------------------------------------------------

    def arbitrary_state(self) -> None:
        """Give what the scheduler carries from step to step the value its row names."""
        self.carried.make_arbitrary()

    def schedule(self) -> Any:
        """One step of the text's own."""
        if self.features.holds_back:
            return self.scheduler.schedule(**{HOLD_BACK: True})
        return self.scheduler.schedule()

    def settle(self) -> None:
        """The run is over: undecided where it changed what the profile takes to stay as it is."""
        for rank in (self, *self.peers):
            rank.carried.settle()

    def view(self, request: Request) -> View:
        """A request's counters as they are now."""
        return View.of(request, self.tracks_flight)

    def snapshot(self) -> None:
        """Remember every request's counters, who runs, and which loads are done, as it begins."""
        self.before = {request.request_id: self.view(request) for request in self.everyone}
        known = {id(request) for request in self.everyone}
        self.ran_before = tuple(r for r in self.scheduler.running if id(r) in known)
        done = getattr(self.scheduler, LOADED, ())
        self.is_bound = getattr(self.scheduler, BOUND, False)
        self.loaded_before = frozenset(name for name in self.before if name in done)


def make_scheduler(loaded: Loaded, config: Config, log_stats: bool = True) -> Any:
    """Construct the text's scheduler on the profile's configuration."""
    made: Any = loaded.schedulers[ASYNC if config.async_scheduling else SYNC]
    host = loaded.host
    return made(
        vllm_config=Stub(host, "vllm_config"),
        kv_cache_config=Stub(host, "kv_cache_config"),
        structured_output_manager=Stub(host, "structured_output_manager"),
        block_size=config.block_size,
        log_stats=log_stats,
    )
