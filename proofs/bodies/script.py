"""The model's scheduler with its decisions read from a script.

The script does to a request what the bodies under proof may do to it, and remembers every field as
it leaves it: whatever differs the next time anybody looks, a loop did.  Between two turns requests,
knobs, the pool and the step are sealed (``sealed``), so a loop cannot be otherwise for others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from model.environment import Quiet
from model.policies import RECOMMENDED
from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from model.step import SchedulerOutput, Step
from proofs.bodies.aftermath import PREEMPTION
from proofs.bodies.sealed import Seal, Sealed, behind_the_seal, proved_for_any
from spec.config import Config
from spec.records import BLOCKED, LOADING, SCHEDULED, SKIPPED

PREEMPTS = "preempts"
"""The pool is short for this request: one victim loses its blocks, then the request gets rows."""
PREFILLS = "prefills"
"""The request computes prompt, with all that the budget holds but a row for each of the others."""
GIVES_ROWS = frozenset({SCHEDULED, PREFILLS, PREEMPTS})
Plan = Mapping[Request, str]
"""What each request is told when it has its turn."""
Share = tuple[Request, int, int, bool]
"""A request with its rows, its drafts, and whether these are padding."""

_fields = behind_the_seal(*Request.__slots__)
_kept_by_a_preemption = behind_the_seal(
    *(slot for slot in Request.__slots__ if f"request.{slot}" not in PREEMPTION)
)
_of_step = behind_the_seal(
    "token_budget", "input_budget", "threshold", "running_scheduled", "prefill_scheduled"
)


LOOPS_SEE_OF_A_REQUEST = ("status", "is_prefill_chunk")
LOOPS_SEE_OF_A_STEP = ("index", "num_scheduled_tokens", "preempted_reqs", "output")
"""Who got rows and who lost them; the numbers beside them are handed on."""


def sealed(seal: Seal, request: Request) -> Request:
    """A request of which the loops see whether it still runs, and whether it samples."""
    return Sealed.of(seal, request, *LOOPS_SEE_OF_A_REQUEST)


class Endless(Exception):
    """A loop asks again and again."""


@dataclass(slots=True)
class Diary:
    """What happened while a script was read."""

    turns: list[Request] = field(default_factory=list)
    victims: list[Request] = field(default_factory=list)
    shares: dict[Request, Share] = field(default_factory=dict)
    """What the script gave and no preemption took back, in order."""
    advanced: list[tuple[Request, int]] = field(default_factory=list)
    left: dict[Request, Any] = field(default_factory=dict)
    """Request → its fields as the script left them."""
    step_left: Any = None
    given: tuple[Any, ...] = ()
    """What the scheduler was made of."""
    may_get_rows: int = 0
    """Requests that are still to have their turn, and rows."""
    withdrew: bool = False
    """A victim had had its turn already."""
    untouched: bool = True
    """Whenever the script looked, everything was as it had left it."""


class Scripted(Scheduler):
    """The model's loops and queues around decisions read from a script."""

    def __init__(
        self,
        seal: Seal,
        config: Config,
        plan: Plan,
        running: Sequence[Request],
        holding: Sequence[Request],
        waiting: Sequence[Request],
        streams: int,
    ) -> None:
        self.seal = seal
        super().__init__(config, RECOMMENDED, Quiet())
        for name in ("config", "policy", "environment", "kv_cache_manager"):
            setattr(self, name, Sealed.of(seal, getattr(self, name)))
        self.plan, self.streams, self.diary = plan, streams, Diary()
        self.running, self.waiting = list(running), list(waiting)
        self.kv_holding_waiting = list(holding)
        self.num_waiting_for_streaming_input = streams
        everyone = [*running, *holding, *waiting]
        self.kv_cache_manager.num_free_blocks -= sum(r.num_blocks for r in everyone)
        self.diary.left = {request: _fields(request) for request in everyone}
        self.diary.given = self.config, self.policy, self.environment, self.observer
        self.diary.may_get_rows = sum(plan[r] in GIVES_ROWS for r in everyone if r in plan)

    # -- the loops, behind the seal -----------------------------------------------------------

    def schedule(self) -> SchedulerOutput:
        with self.seal.turned(closed=True):
            return super().schedule()

    def add_request(self, request: Request) -> None:
        with self.seal.turned(closed=True):
            super().add_request(request)

    @property
    def num_waiting_for_streaming_input(self) -> Any:
        return self.seal.shown("Scheduler.num_waiting_for_streaming_input", self._streaming)

    @num_waiting_for_streaming_input.setter
    def num_waiting_for_streaming_input(self, number: int) -> None:
        self._streaming = number

    # -- what the loops call ------------------------------------------------------------------

    @proved_for_any
    def _enqueue(self, queue: list[Request], request: Request) -> None:
        super()._enqueue(queue, request)

    @proved_for_any
    def begin_step(self) -> Step:
        step = Sealed.of(self.seal, super().begin_step(), *LOOPS_SEE_OF_A_STEP)
        self.diary.step_left = _of_step(step)
        return step

    @proved_for_any
    def try_running(self, step: Step, request: Request) -> str:
        outcome = self._turn(step, request)
        if outcome is PREEMPTS:
            victim = self.lowest_priority()
            self.diary.withdrew |= victim in self.diary.turns and victim is not request
            self.preempt(step, victim)
            outcome = SCHEDULED
            if victim is request:
                outcome = SKIPPED if self.config.priority_scheduling else BLOCKED
        if outcome in GIVES_ROWS:
            step.running_scheduled = True
            step.prefill_scheduled |= outcome is PREFILLS
            self._give(step, request, outcome is PREFILLS, False)
            outcome = SCHEDULED
        self._leave(step, request)
        return outcome

    @proved_for_any
    def try_waiting(self, step: Step, request: Request) -> str:
        outcome = self._turn(step, request)
        if outcome is SCHEDULED:
            request.status = RequestStatus.RUNNING
            request.num_computed_tokens = request.num_tokens - 1
            self._give(step, request, False, step.running_scheduled)
        if outcome is LOADING:
            request.status = RequestStatus.WAITING_FOR_REMOTE_KVS
            request.num_computed_tokens = request.num_tokens
            self.kv_cache_manager.allocate_slots(
                request, self.config.block_size * (request.num_blocks + 1)
            )
        self._leave(step, request)
        return outcome

    @proved_for_any
    def preempt(self, step: Step, victim: Request) -> None:
        self.look(victim)
        kept = _kept_by_a_preemption(victim)
        super().preempt(step, victim)
        self.diary.untouched &= kept == _kept_by_a_preemption(victim)
        self.diary.victims.append(victim)
        self.diary.shares.pop(victim, None)
        self._leave(step, victim)

    @proved_for_any
    def update_after_schedule(self, step: Step, request: Request, rows: int) -> None:
        self.diary.untouched &= _of_step(step) == self.diary.step_left
        self.look(request)
        request.is_prefill_chunk = not request.is_prefill_chunk
        self.diary.advanced.append((request, rows))
        self._leave(step, request)

    # -- the diary ----------------------------------------------------------------------------

    def meet(self, request: Request) -> None:
        """Remember a request that is about to enter."""
        self.diary.left[request] = _fields(request)

    def leave(self, request: Request, **fields: Any) -> None:
        """Remember a request that is about to end with these fields, and all others as they are."""
        known = zip(Request.__slots__, self.diary.left[request], strict=True)
        self.diary.left[request] = tuple(fields.get(name, value) for name, value in known)

    def look(self, request: Request) -> None:
        """Note whether anybody changed a request since the script left it."""
        self.diary.untouched &= _fields(request) == self.diary.left.get(request)

    def look_around(self) -> bool:
        """Whether everybody, and all that never changes, is as the script left it."""
        for request in self.diary.left:
            self.look(request)
        now = self.config, self.policy, self.environment, self.observer
        same = all(a is b for a, b in zip(now, self.diary.given, strict=True))
        return self.diary.untouched and same

    def adds_up(self) -> bool:
        """Whether every block is free or held by a request that has not ended."""
        held = sum(request.num_blocks for request in self.diary.left)
        return self.kv_cache_manager.num_free_blocks + held == self.config.num_gpu_blocks

    def agrees(self, output: SchedulerOutput) -> bool:
        """Whether the runner is told what the script gave, after the counters advanced for it."""
        told = [
            (s.request, s.num_scheduled_tokens, s.num_draft_tokens, s.padded)
            for s in output.scheduled
        ]
        samples = all(s.samples is not s.request.is_prefill_chunk for s in output.scheduled)
        given = list(self.diary.shares.values())
        advanced = [(request, rows) for request, rows, _, _ in given]
        return samples and told == given and self.diary.advanced == advanced

    def _turn(self, step: Step, request: Request) -> str:
        diary = self.diary
        diary.turns.append(request)
        if len(diary.turns) > 2 * len(diary.left):
            raise Endless
        diary.untouched &= _of_step(step) == diary.step_left
        self.look(request)
        outcome = self.plan.get(request, SKIPPED)
        self.diary.may_get_rows -= outcome in GIVES_ROWS
        return outcome

    def _give(self, step: Step, request: Request, most: bool, padded: bool) -> None:
        slots = self.config.draft_slots
        room = min(step.token_budget, step.input_budget - slots)
        rows = max(room - self.diary.may_get_rows * (1 + slots), 1) if most else 1
        drafts = request.num_spec_tokens + padded
        step.commit(self.config, request, rows, drafts, padded)
        self.diary.shares[request] = request, rows, drafts, padded

    def _leave(self, step: Step, request: Request) -> None:
        self.diary.left[request] = _fields(request)
        self.diary.step_left = _of_step(step)
