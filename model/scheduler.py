"""The scheduler: a running pass, then a waiting pass.

``try_running`` and ``try_waiting`` are the two loop bodies.  The prover runs them once for an
arbitrary request in an arbitrary step; the fuzzer and the replay run the whole passes.  Names and
order follow ``vllm/v1/core/sched/scheduler.py`` of 0.33.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from model.environment import Environment
from model.kv_cache import KVCacheManager
from model.observation import advance, decision
from model.planning import (
    NO_ROWS,
    running_rows,
    scheduled_drafts,
    surely_ends_in_flight,
    threshold_in_force,
    waiting_rows,
)
from model.policies import PaddingPolicy
from model.request import Request, RequestStatus
from model.step import SchedulerOutput, Step
from spec.config import Config
from spec.logic import ite, min, not_, size, total
from spec.records import BLOCKED, LOADING, SCHEDULED, SKIPPED, Advance, Decision

Observer = Callable[[Decision | Advance], None]


def urgency(request: Request) -> tuple[int, int]:
    """Sort key of the priority queue: smaller goes first."""
    return request.priority, request.arrival_time


class Scheduler:
    """One rank's scheduler.

    Args:
        config: the knobs; must be legal.
        policy: the padding guard of the waiting pass.
        environment: answers everything the scheduler does not decide.
        observer: called with one ``Decision`` per request looked at, before the counters move, and
            with one ``Advance`` per request scheduled, after that.
    """

    def __init__(
        self,
        config: Config,
        policy: PaddingPolicy,
        environment: Environment,
        observer: Observer | None = None,
    ) -> None:
        self.config = config
        self.policy = policy
        self.environment = environment
        self.observer = observer
        self.kv_cache_manager = KVCacheManager(config)
        self.running: list[Request] = []
        self.waiting: list[Request] = []
        self.kv_holding_waiting: list[Request] = []
        """Waiting requests that hold KV blocks; always served before ``waiting``."""
        self.finished: list[Request] = []
        """Requests that ended since the engine last took them."""
        self.num_waiting_for_streaming_input = 0
        """Sequence slots held by requests outside ``running``."""

    # -- the two passes ---------------------------------------------------------------------

    def schedule(self) -> SchedulerOutput:
        """Decide one step and advance the counters optimistically."""
        step = self.begin_step()
        self.schedule_running(step)
        if not step.preempted_reqs:
            self.schedule_waiting(step)
        for request, rows in step.num_scheduled_tokens.items():
            counted = request.num_computed_tokens
            self.update_after_schedule(step, request, rows)
            if self.observer is not None:
                self.observer(advance(self.config, request, counted, rows))
        return step.output()

    def begin_step(self) -> Step:
        """A step nothing is scheduled in yet."""
        queues = (self.running, self.waiting, self.kv_holding_waiting)
        num_unfinished = total(size(queue) for queue in queues)
        return Step(
            token_budget=self.config.max_num_scheduled_tokens,
            input_budget=self.config.max_num_batched_tokens,
            threshold=threshold_in_force(self.config, num_unfinished),
        )

    def schedule_running(self, step: Step) -> None:
        """Give rows to the running requests, in order, until a budget is spent."""
        step.index = 0
        while step.index < len(self.running):
            request = self.running[step.index]
            outcome = self.try_running(step, request)
            if outcome is BLOCKED:
                break
            if request.status is RequestStatus.RUNNING:
                step.index += 1

    def schedule_waiting(self, step: Step) -> None:
        """Admit waiting requests in order, holders of KV blocks first."""
        for queue in (self.kv_holding_waiting, self.waiting):
            index = 0
            while index < len(queue):
                request = queue[index]
                outcome = self.try_waiting(step, request)
                if outcome is BLOCKED:
                    return
                if outcome is SCHEDULED:
                    queue.pop(index)
                    self.running.append(request)
                elif outcome is LOADING and queue is self.waiting:
                    queue.pop(index)
                    self._enqueue(self.kv_holding_waiting, request)
                else:
                    index += 1

    # -- the two loop bodies ----------------------------------------------------------------

    def try_running(self, step: Step, request: Request) -> str:
        """Look at one running request."""
        config = self.config
        if (step.token_budget <= 0) | (step.input_budget <= config.draft_slots):
            return self._decided(step, request, BLOCKED, "budget spent")
        if surely_ends_in_flight(request):
            return self._decided(step, request, SKIPPED, "max_tokens reached by rows in flight")
        budget = min(step.token_budget, step.input_budget - config.draft_slots)
        rows = running_rows(config, self.policy, request, step.threshold, budget)
        if rows == 0:
            return self._decided(step, request, SKIPPED, "no rows to compute")
        needed = request.num_computed_tokens + rows
        while not self.kv_cache_manager.allocate_slots(request, needed):
            victim = self.lowest_priority()
            self.preempt(step, victim)
            if victim is request:
                # Under priority scheduling the requests behind are more urgent and may still fit.
                outcome = SKIPPED if config.priority_scheduling else BLOCKED
                return self._decided(step, request, outcome, "preempted", slots_refused=needed)
        drafts = scheduled_drafts(request, rows)
        self._decided(step, request, SCHEDULED, "running", rows=rows, drafts=drafts)
        step.commit(config, request, rows, drafts)
        step.running_scheduled = True
        step.prefill_scheduled = step.prefill_scheduled | request.is_prefill_chunk
        request.num_spec_tokens = 0
        return SCHEDULED

    def try_waiting(self, step: Step, request: Request) -> str:
        """Look at one waiting request."""
        config = self.config
        if (step.token_budget <= 0) | (step.input_budget <= config.draft_slots):
            return self._decided(step, request, BLOCKED, "budget spent")
        slots_taken = size(self.running) + self.num_waiting_for_streaming_input
        if slots_taken >= config.max_num_seqs:
            return self._decided(step, request, BLOCKED, "max_num_seqs reached")
        if request.status is RequestStatus.WAITING_FOR_REMOTE_KVS:
            if not self.environment.load_finished(request):
                return self._decided(step, request, SKIPPED, "KV still loading")
            self.finish_load(request)
        if request.num_stale_output_tokens > 0:
            return self._decided(step, request, SKIPPED, "output of an earlier life in flight")
        computed, load_kv_async = request.num_computed_tokens, False
        if computed == 0:
            computed = self.environment.prefix_hit(request)
            matched, load_kv_async = self.environment.connector_match(request, computed)
            computed = computed + matched
            assert computed <= request.num_tokens, "more tokens cached than the request holds"
        if load_kv_async:
            return self._start_load(step, request, computed)
        budget = min(step.token_budget, step.input_budget - config.draft_slots)
        rows, padded = waiting_rows(
            config,
            self.policy,
            request,
            computed,
            step.running_scheduled,
            step.prefill_scheduled,
            step.threshold,
            budget,
        )
        if rows == NO_ROWS:
            return self._decided(step, request, BLOCKED, "rows do not fit", computed=computed)
        if not self.kv_cache_manager.allocate_slots(request, computed + rows):
            return self._decided(
                step,
                request,
                BLOCKED,
                "no KV block",
                computed=computed,
                slots_refused=computed + rows,
            )
        if padded and self.policy.asserts_width:
            assert rows == 1 + config.num_spec_tokens, "padded rows must keep the uniform width"
        drafts = config.num_spec_tokens if padded else 0
        reason = "padded to 1 + K" if padded else "admitted"
        self._decided(
            step,
            request,
            SCHEDULED,
            reason,
            rows=rows,
            drafts=drafts,
            padded=padded,
            computed=computed,
        )
        step.commit(config, request, rows, drafts, padded)
        request.status = RequestStatus.RUNNING
        request.num_computed_tokens = computed
        return SCHEDULED

    # -- state changes around the passes ----------------------------------------------------

    def add_request(self, request: Request) -> None:
        """A new request arrives."""
        self._enqueue(self.waiting, request)

    def lowest_priority(self) -> Request:
        """The running request to preempt next."""
        if self.config.priority_scheduling:
            return max(self.running, key=urgency)
        return self.running[-1]

    def preempt(self, step: Step, victim: Request) -> None:
        """Take a running request's blocks and send it back to the head of the queue."""
        position = self.running.index(victim)
        self.running.pop(position)
        step.index -= ite(position < step.index, 1, 0)
        step.retract(self.config, victim)
        step.preempted_reqs.append(victim)
        self.kv_cache_manager.free(victim)
        victim.status = RequestStatus.PREEMPTED
        victim.num_computed_tokens = 0
        victim.num_spec_tokens = 0
        victim.num_output_placeholders = 0
        # The output of its rows in flight still counts, but must not move the reset counters.
        victim.num_stale_output_tokens = victim.num_in_flight_tokens
        victim.num_preemptions += 1
        if self.config.priority_scheduling:
            self._enqueue(self.waiting, victim)
        else:
            self.waiting.insert(0, victim)

    def finish_load(self, request: Request) -> None:
        """An asynchronous KV load is done: leave one token to compute, and wait for admission."""
        request.num_computed_tokens = min(request.num_computed_tokens, request.num_tokens - 1)
        preempted = request.num_preemptions > 0
        request.status = RequestStatus.PREEMPTED if preempted else RequestStatus.WAITING

    def update_after_schedule(self, step: Step, request: Request, rows: int) -> None:
        """Count the scheduled rows as computed; under async scheduling, expect their output."""
        request.num_computed_tokens += rows
        request.num_in_flight_tokens += rows
        known = request.num_tokens + request.num_output_placeholders
        request.is_prefill_chunk = request.num_computed_tokens < known
        if self.config.async_scheduling:
            samples = not_(request.is_prefill_chunk)
            expected = self.config.num_sampled_tokens_per_step + step.num_draft_tokens.get(
                request, 0
            )
            request.num_output_placeholders += ite(samples, expected, 0)
            drafts = self.config.num_spec_tokens
            request.num_spec_tokens = ite(samples, drafts, request.num_spec_tokens)

    def finish(self, request: Request, status: RequestStatus) -> None:
        """A request ends, wherever it is: by its output, or aborted by the client."""
        for queue in (self.running, self.waiting, self.kv_holding_waiting):
            if request in queue:
                queue.remove(request)
        self.kv_cache_manager.free(request)
        request.status = status
        self.finished.append(request)

    # -- helpers ----------------------------------------------------------------------------

    def _start_load(self, step: Step, request: Request, computed: int) -> str:
        """Reserve blocks for KV that a connector will write; the request gets no rows."""
        if not self.kv_cache_manager.allocate_slots(request, computed):
            return self._decided(
                step, request, BLOCKED, "no KV block", computed=computed, slots_refused=computed
            )
        request.status = RequestStatus.WAITING_FOR_REMOTE_KVS
        request.num_computed_tokens = computed
        return self._decided(step, request, LOADING, "KV load started", computed=computed)

    def _enqueue(self, queue: list[Request], request: Request) -> None:
        if self.config.priority_scheduling:
            queue.insert(bisect_right(queue, urgency(request), key=urgency), request)
        else:
            queue.append(request)

    def _decided(
        self,
        step: Step,
        request: Request,
        outcome: str,
        reason: str,
        rows: int = 0,
        drafts: int = 0,
        padded: bool = False,
        computed: int | None = None,
        slots_refused: int = 0,
    ) -> str:
        """Tell the observer, if there is one, what was decided; the counters have not moved."""
        if self.observer is not None:  # slots are counted anew: an excuse rests on no decision
            made = decision(
                self.config,
                step,
                request,
                outcome,
                reason,
                rows=rows,
                drafts=drafts,
                padded=padded,
                computed=computed,
                slots_taken=size(self.running) + self.num_waiting_for_streaming_input,
                slots_refused=slots_refused,
                pool=self.kv_cache_manager,
            )
            self.observer(made)
        return outcome
