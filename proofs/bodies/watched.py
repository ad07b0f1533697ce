"""The model's engine with its answers read from a script, and what it made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from model.engine import Engine, Recorder
from model.environment import Sample
from model.policies import RECOMMENDED
from model.request import Request
from model.step import Scheduled, SchedulerOutput, Step
from proofs.bodies.cast import least_urgent
from proofs.bodies.script import Endless
from proofs.bodies.sealed import OneByOne, Seal, Sealed, Truth, proved_for_any, unsealed
from spec.config import Config

SHARES = "SchedulerOutput.scheduled"
MOST_TURNS = 500
"""Of all requests in one run, several times what the longest run takes."""


@dataclass(slots=True)
class Asked:
    """What the outside world was asked for while one step was booked."""

    samples: list[tuple[Request, int, bool]]
    drafts: list[tuple[Request, int]]
    """Each with its answer."""


class Script:
    """The answers: some drafts are accepted, one KV load takes three looks, some tokens stop."""

    def __init__(
        self,
        config: Config,
        stops: dict[Request, int],
        loads: set[Request],
        cached: set[Request],
    ) -> None:
        self.config = config
        self.cached = cached
        """Requests whose tokens but the last are cached: that one may be padded."""
        self.stops = stops
        """Request → the number of its stop token."""
        self.loads = dict.fromkeys(loads, 3)
        self.returned = Counter[Request]()
        """Tokens returned for each request."""
        self.asked = Asked([], [])
        self.complete = True
        """When a request samples, it holds all tokens that were returned for it."""

    def prefix_hit(self, request: Request) -> int:
        return request.num_tokens - 1 if request in self.cached else 0

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        offered = self.loads.get(request, 0) == 3
        return (2, True) if offered else (0, False)

    def load_finished(self, request: Request) -> bool:
        self.loads[request] -= 1
        return self.loads[request] <= 0

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        self.asked.samples.append((request, num_draft_tokens, padded))
        before = self.returned[request]
        self.complete &= request.num_output_tokens == before
        sampled = self.config.num_sampled_tokens_per_step
        drafts = 0 if padded else num_draft_tokens
        accepted = min(drafts, max(drafts - before % 2, 1 - sampled))
        self.returned[request] += sampled + accepted
        stop = self.stops.get(request, 0)
        due = before < stop <= self.returned[request]
        return Sample(self.returned[request] - before, stop_after=stop - before if due else 0)

    def draft(self, request: Request) -> int:
        most = self.config.num_spec_tokens
        fewer = self.config.num_sampled_tokens_per_step * (self.returned[request] % (most + 1))
        self.asked.drafts.append((request, most - fewer))
        return most - fewer


@dataclass(slots=True)
class Seen:
    """What an engine did."""

    decided: list[SchedulerOutput] = field(default_factory=list)
    """Steps that gave rows."""
    booked: list[SchedulerOutput] = field(default_factory=list)
    own_answers: bool = True
    """Every share was booked with what was answered for it."""
    fair: bool = True
    """Every victim was the last admitted; under priority scheduling, the least urgent."""
    begun: dict[str, Any] = field(default_factory=dict)
    """Its fields and its scheduler's as it began; only what the queues among them hold changes."""
    turns: int = 0
    """Of all requests in all passes."""

    def open_shares(self) -> list[Scheduled]:
        """What was decided and not booked."""
        booked = {id(output) for output in self.booked}
        late = [output for output in self.decided if id(output) not in booked]
        return [share for output in late for share in output.scheduled]


class SealedOutput(Sealed):
    """A step's output: the engine sees whether there are shares, and takes them one by one."""

    __slots__ = ()

    @property
    def scheduled(self) -> Any:
        """The shares."""
        shares = self._target.scheduled
        if not self._seal.closed:
            return shares
        kind = OneByOne if SHARES in self._seal.visible else Truth
        return kind(self._seal, SHARES, shares)


class WatchedEngine(Engine):
    """The model's engine, under observation.

    While it goes from step to step its knobs, its scheduler, the world and what it books are sealed
    (``sealed``): it cannot do otherwise for other requests.
    """

    def __init__(self, config: Config, script: Script, record: Recorder | None) -> None:
        super().__init__(config, RECOMMENDED, script, record)
        scheduler = self.scheduler
        self.made_of = (
            *(self.config, self.environment, self.record),
            *(scheduler.config, scheduler.policy, scheduler.environment, scheduler.observer),
        )
        self.seal, self.script, self.seen = Seal(), script, Seen()
        self.config = Sealed.of(self.seal, config, "async_scheduling")
        self.environment = Sealed.of(self.seal, script)
        self.scheduler = Sealed.of(self.seal, scheduler, "schedule")
        for name, wrap in self._wraps().items():
            setattr(scheduler, name, wrap(getattr(scheduler, name)))
        self.seen.begun = self.own_fields()

    def own_fields(self) -> dict[str, Any]:
        """The fields of the engine and of its scheduler."""
        scheduler = vars(unsealed(self.scheduler)).items()
        return vars(self) | {f"scheduler.{name}": value for name, value in scheduler}

    def _wraps(self) -> dict[str, Callable[[Any], Any]]:
        """What is put around methods of the scheduler."""
        return {
            "try_running": self._counted,
            "try_waiting": self._counted,
            "preempt": self._judged,
            "schedule": self._sealing,
        }

    def _sealing(self, schedule: Callable[[], SchedulerOutput]) -> Callable[[], SchedulerOutput]:
        """A step decided with open eyes; the engine sees that there are shares, not what is in."""

        def sealing() -> SchedulerOutput:
            with self.seal.turned(closed=False):
                output = schedule()
                shares = tuple(Sealed.of(self.seal, share) for share in output.scheduled)
                sealed: Any = SchedulerOutput(shares, output.preempted_reqs)
                return cast(SchedulerOutput, SealedOutput(self.seal, sealed))

        return sealing

    def _judged(self, preempt: Callable[[Step, Request], None]) -> Callable[..., None]:
        """A preemption, and whether it takes the right one."""

        def judged(step: Step, victim: Request) -> None:
            due = least_urgent(self.scheduler.running, self.config.priority_scheduling)
            self.seen.fair &= victim is due
            preempt(step, victim)

        return judged

    def _counted(self, take_turn: Callable[[Step, Request], str]) -> Callable[..., str]:
        """A loop body that is asked only so often: a loop without end is a broken promise."""

        def counted(step: Step, request: Request) -> str:
            self.seen.turns += 1
            if self.seen.turns > MOST_TURNS:
                raise Endless
            return take_turn(step, request)

        return counted

    @proved_for_any
    def book_share(self, share: Scheduled) -> None:
        super().book_share(unsealed(share))

    @proved_for_any
    def _record_step(self, output: SchedulerOutput) -> None:
        super()._record_step(output)

    @proved_for_any
    def _record_pool(self) -> None:
        super()._record_pool()

    def step(self) -> SchedulerOutput:
        with self.seal.turned(closed=True):
            output = super().step()
        if output.scheduled:
            self.seen.decided.append(output)
        return output

    @proved_for_any
    def book(self, output: SchedulerOutput) -> None:
        asked = self.script.asked = Asked([], [])
        samples = [
            (share.request, share.num_draft_tokens, share.padded)
            for share in output.scheduled
            if share.samples and not share.request.is_finished
        ]
        with self.seal.turned(True, SHARES):
            super().book(output)
        self.seen.booked.append(output)
        alive = [share.request for share in output.scheduled if not share.request.is_finished]
        drafted = alive if not self.config.async_scheduling else []
        self.seen.own_answers &= asked.samples == samples
        self.seen.own_answers &= [request for request, _ in asked.drafts] == drafted
        self.seen.own_answers &= all(
            request.num_spec_tokens == (0 if request.is_prefill_chunk else drafts)
            for request, drafts in asked.drafts
        )
