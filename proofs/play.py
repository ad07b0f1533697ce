"""Running whole ranks in lockstep and collecting every promise they make on the way.

The bounded search plays symbolically, the replay and the fuzzer play on integers: the same
function, the model's own engine, the catalogue's own claims.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from model.engine import Engine
from model.environment import Environment, Sample
from model.policies import PaddingPolicy
from model.request import Request
from spec.claims import Claim
from spec.config import Config
from spec.invariants import about
from spec.logic import all_of, any_of
from spec.records import (
    BLOCKED,
    LOADING,
    SCHEDULED,
    SKIPPED,
    Attention,
    Booking,
    Decision,
    RequestState,
)


@dataclass(frozen=True, slots=True)
class Promise:
    """One claim made at one moment of an execution."""

    step: int
    rank: int
    invariant: str
    claim: Claim
    request: str


@dataclass(frozen=True, slots=True)
class Moment:
    """One step of one rank: what was decided and what was booked."""

    step: int
    rank: int
    decisions: tuple[Decision, ...]
    bookings: tuple[Booking, ...]


Enter = Callable[[int, int, Engine], None]
"""Called before each step of each rank as ``(step, rank, engine)``: arrivals and aborts."""


class Loads:
    """Which requests' KV is on its way, from what the connector said: not from the scheduler's own
    books, which may be wrong."""

    def __init__(self, world: Environment, record: Callable[[Any], None]) -> None:
        self.world = world
        self._record = record
        self._loading: set[str] = set()

    def record(self, record: Any) -> None:
        """Pass a record on; of a decision, say whether the request's KV was on its way."""
        if isinstance(record, Decision):
            name = record.request_id
            record = replace(record, is_loading=name in self._loading)
            if record.outcome is LOADING:
                self._loading.add(name)
        self._record(record)

    def load_finished(self, request: Request) -> bool:
        finished = self.world.load_finished(request)
        if finished:
            self._loading.discard(request.request_id)
        return finished

    def prefix_hit(self, request: Request) -> int:
        return self.world.prefix_hit(request)

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        return self.world.connector_match(request, num_local_tokens)

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        return self.world.sample(request, num_draft_tokens, padded)

    def draft(self, request: Request) -> int:
        return self.world.draft(request)


class Play:
    """Ranks in lockstep.

    Args:
        config: the knobs, the same on every rank.
        policy: the padding guard.
        worlds: one environment per rank.
        enter: lets requests arrive and leave before a step.
    """

    def __init__(
        self, config: Config, policy: PaddingPolicy, worlds: Sequence[Environment], enter: Enter
    ) -> None:
        self.config = config
        self.enter = enter
        self.promises: list[Promise] = []
        self.moments: list[Moment] = []
        self._records: list[list[Any]] = [[] for _ in worlds]
        loads = [
            Loads(world, records.append)
            for world, records in zip(worlds, self._records, strict=True)
        ]
        self.engines = [Engine(config, policy, load, load.record) for load in loads]

    def step(self, number: int) -> None:
        """One step of every rank; then every promise of that step is known."""
        for rank, engine in enumerate(self.engines):
            self.enter(number, rank, engine)
            running, waiting = unfinished(engine)
            output = engine.step()
            names = {share.request.request_id for share in output.scheduled}
            self._withdraw(rank, names)
            victims = {request.request_id for request in output.preempted_reqs}
            decisions = [r for r in self._records[rank] if isinstance(r, Decision)]
            self._records[rank] += attention(self.config, running, waiting, decisions, victims)
        self.close(number)

    def _withdraw(self, rank: int, scheduled: Collection[str]) -> None:
        """Take back decisions that the same step took back: the request was preempted after all."""
        records = self._records[rank]
        withdrawn = any_of(
            *(r.is_prefill for r in records if _got_rows(r) and r.request_id not in scheduled)
        )
        for position, record in enumerate(records):
            if isinstance(record, Decision):
                records[position] = replace(record, prefill_withdrawn=withdrawn)
                if _got_rows(record) and record.request_id not in scheduled:
                    records[position] = replace(
                        record,
                        outcome=SKIPPED,
                        reason="preempted: rows withdrawn",
                        num_scheduled_tokens=0,
                        num_draft_tokens=0,
                        is_padded=False,
                        must_wait=True,
                    )

    def close(self, number: int) -> None:
        """Turn the records of step ``number`` into promises (also after an exception)."""
        prefill = any_of(
            *(
                all_of(record.outcome == SCHEDULED, record.is_prefill)
                for records in self._records
                for record in records
                if isinstance(record, Decision)
            )
        )
        for rank, records in enumerate(self._records):
            self.moments.append(
                Moment(
                    number,
                    rank,
                    tuple(r for r in records if isinstance(r, Decision)),
                    tuple(r for r in records if isinstance(r, Booking)),
                )
            )
            for record in records:
                if isinstance(record, Decision):
                    record = replace(record, group_has_prefill=prefill)
                for invariant in about(type(record)):
                    named = isinstance(record, Decision | Attention | Booking | RequestState)
                    self.promises.append(
                        Promise(
                            number,
                            rank,
                            invariant.id,
                            invariant.claim(record),
                            record.request_id if named else "",
                        )
                    )
            records.clear()


def unfinished(engine: Engine) -> tuple[list[str], list[str]]:
    """Names of the requests that run and of those that wait."""
    scheduler = engine.scheduler
    waiting = (*scheduler.kv_holding_waiting, *scheduler.waiting)
    return [r.request_id for r in scheduler.running], [r.request_id for r in waiting]


def attention(
    config: Config,
    running: Collection[str],
    waiting: Collection[str],
    decisions: Sequence[Decision],
    victims: Collection[str],
) -> list[Attention]:
    """Whether a step looked at each request it should have.

    Args:
        config: the knobs.
        running: names of the requests that ran before the step.
        waiting: names of those that waited before it.
        decisions: what it decided.
        victims: names of the requests it preempted.
    """
    looked_at = {decision.request_id for decision in decisions}
    blocked = {decision.request_id for decision in decisions if decision.outcome is BLOCKED}
    running_stopped = not blocked.isdisjoint(running)
    waiting_stopped = bool(blocked or victims)
    return [
        Attention(config, name, name in looked_at, stopped or name in victims)
        for names, stopped in ((running, running_stopped), (waiting, waiting_stopped))
        for name in names
    ]


def arrive(
    engine: Engine, name: str, prompt: int, max_tokens: int, priority: int, order: int
) -> Request:
    """A request enters a rank."""
    request = Request(name, prompt, max_tokens, priority, order)
    engine.add_request(request)
    return request


def _got_rows(record: Any) -> bool:
    return isinstance(record, Decision) and record.outcome == SCHEDULED
