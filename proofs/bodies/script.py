"""The model's scheduler with its decisions read from a script.

The script does to a request what the bodies under proof may do to it, and remembers every field as
it leaves it: whatever differs the next time anybody looks, a loop did.  Between two turns requests,
knobs, the pool and the step are sealed (``sealed``), so a loop cannot be otherwise for others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, cast

from model.environment import Quiet
from model.policies import RECOMMENDED
from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from model.step import SchedulerOutput, Step
from proofs.bodies.aftermath import PREEMPTION
from proofs.bodies.sealed import Seal, Sealed, Truth, behind_the_seal, opened, proved_for_any
from spec.config import Config
from spec.records import BLOCKED, LOADING, SCHEDULED, SKIPPED, Advance

PREEMPTS = "preempts"
"""The pool is short for this request: one victim loses its blocks, then the request gets rows."""
PREEMPTS_TWO = "preempts two"
"""The same with two victims."""
VICTIMS = {PREEMPTS: 1, PREEMPTS_TWO: 2}
PREFILLS = "prefills"
"""The request computes prompt, with all that the budget holds but a row for each of the others."""
GIVES_ROWS = frozenset({SCHEDULED, PREFILLS, *VICTIMS})
Plan = Mapping[Request, str]
"""What each request is told when it has its turn."""
Share = tuple[Request, int, int, bool]
"""A request with its rows, its drafts, and whether these are padding."""

_fields = behind_the_seal(*Request.__slots__)
KEPT_BY_A_PREEMPTION = tuple(
    slot for slot in Request.__slots__ if f"request.{slot}" not in PREEMPTION
)
_kept_by_a_preemption = behind_the_seal(*KEPT_BY_A_PREEMPTION)
CONTAINERS = tuple(field.name for field in fields(Step) if field.default_factory is not MISSING)
_step_fields = behind_the_seal(
    *(name for name in Step.__slots__ if name != "index" and name not in CONTAINERS)
)
_step_containers = behind_the_seal(*CONTAINERS)
QUEUES = frozenset({"running", "waiting", "kv_holding_waiting", "_finished"})
"""What a step moves of the scheduler itself."""


def _of_step(step: Step) -> tuple[Any, ...]:
    """All that the bodies left of a step: a loop only moves its index."""
    return _step_fields(step), [list(each) for each in _step_containers(step)]


def sealed(seal: Seal, request: Request) -> Request:
    """A request: who it is can be seen, and nothing of it."""
    return Sealed.of(seal, request)


class SealedStep(Sealed):
    """A step: who got rows can be seen, and whether somebody lost them; a loop moves its index."""

    __slots__ = ()
    MOVES = frozenset({"index"})

    @property
    def num_scheduled_tokens(self) -> Mapping[Request, Any]:
        """The requests with rows; a loop hands the numbers on."""
        rows: dict[Request, int] = self._target.num_scheduled_tokens
        if not self._seal.closed:
            return rows
        return MappingProxyType({r: self._seal.shown("rows", n) for r, n in rows.items()})

    @property
    def preempted_reqs(self) -> Any:
        """The victims; a loop sees whether there are any."""
        victims = self._target.preempted_reqs
        return Truth(self._seal, "victims", victims) if self._seal.closed else victims

    def output(self) -> SchedulerOutput:
        """What the step ends in, made of it while its numbers are sealed."""
        seal, step = self._seal, self._target
        values = {name: seal.shown(name, getattr(step, name)) for name in Step.__slots__}
        for name in ("num_scheduled_tokens", "num_draft_tokens"):
            ledger = getattr(step, name)
            values[name] = {request: seal.shown(name, n) for request, n in ledger.items()}
        values |= {"padded": step.padded, "preempted_reqs": step.preempted_reqs}
        with seal.turned(seal.closed, "Request.is_prefill_chunk"):
            made = Step(**values).output()
        shares = [
            replace(
                share,
                num_scheduled_tokens=opened(share.num_scheduled_tokens),
                num_draft_tokens=opened(share.num_draft_tokens),
            )
            for share in made.scheduled
        ]
        return SchedulerOutput(tuple(shares), made.preempted_reqs)


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
    given: dict[str, Any] = field(default_factory=dict)
    """What the scheduler was made of."""
    counted: list[Advance] = field(default_factory=list)
    """What an observer was told."""
    endless: bool = False
    """A loop asked again and again."""
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
        self.plan, self.streams, self.diary = plan, streams, Diary()
        listens: Any = self.diary.counted.append if streams else None
        super().__init__(config, RECOMMENDED, Quiet(), listens)
        for name in ("config", "policy", "environment", "kv_cache_manager"):
            setattr(self, name, Sealed.of(seal, getattr(self, name)))
        self.running, self.waiting = list(running), list(waiting)
        self.kv_holding_waiting = list(holding)
        self.num_waiting_for_streaming_input = streams
        everyone = [*running, *holding, *waiting]
        self.kv_cache_manager.num_free_blocks -= sum(r.num_blocks for r in everyone)
        self.diary.left = {request: _fields(request) for request in everyone}
        self.diary.may_get_rows = sum(plan[r] in GIVES_ROWS for r in everyone if r in plan)
        self.diary.given = {k: v for k, v in vars(self).items() if k not in QUEUES}

    # -- the loops, behind the seal -----------------------------------------------------------

    def schedule(self) -> SchedulerOutput:
        # What a request is doing is compared by identity, which no seal can notice.
        with self.seal.turned(True, "Request.status"):
            return super().schedule()

    def add_request(self, request: Request) -> None:
        with self.seal.turned(closed=True):
            super().add_request(request)

    @property
    def finished(self) -> Any:
        return self.seal.shown("Scheduler.finished", self._finished)

    @finished.setter
    def finished(self, requests: list[Request]) -> None:
        self._finished = requests

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
        step: Any = SealedStep(self.seal, super().begin_step(), "index")
        self.diary.step_left = _of_step(step)
        return cast(Step, step)

    @proved_for_any
    def try_running(self, step: Step, request: Request) -> str:
        outcome = self._turn(step, request)
        for _ in range(VICTIMS.get(outcome, 0)):
            victim = self.lowest_priority()
            self.diary.withdrew |= victim in self.diary.turns and victim is not request
            self.preempt(step, victim)
            if victim is request:
                outcome = SKIPPED if self.config.priority_scheduling else BLOCKED
                break
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
        rows = opened(rows)
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
        given = self.diary.given
        now = {k: v for k, v in vars(self).items() if k not in QUEUES}
        same = given.keys() == now.keys() and all(now[k] is v for k, v in given.items())
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
        if self.observer is not None:
            counted = [
                Advance(self.config, r.request_id, r.num_computed_tokens, n, r.num_computed_tokens)
                for r, n in advanced
            ]
            names = [name for name in Advance.__slots__ if name != "config"]
            seen = [[opened(getattr(a, n)) for n in names] for a in self.diary.counted]
            samples &= seen == [[getattr(a, n) for n in names] for a in counted]
        return samples and told == given and self.diary.advanced == advanced

    def _turn(self, step: Step, request: Request) -> str:
        diary = self.diary
        diary.turns.append(request)
        if len(diary.turns) > 2 * len(diary.left):
            diary.endless = True
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
