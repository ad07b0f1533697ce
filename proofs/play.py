"""Running whole ranks in lockstep and collecting every promise they make on the way.

The bounded search plays symbolically, the replay and the fuzzer play on integers: the same
function, the model's own engine, the catalogue's own claims.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from model.engine import Engine
from model.environment import Environment
from model.hindsight import group_has_prefill, look_back, missed, queued
from model.loads import Loads
from model.policies import PaddingPolicy
from model.request import Request
from spec.claims import Claim
from spec.config import Config
from spec.invariants import Invariant, about
from spec.records import Booking, Decision


@dataclass(frozen=True, slots=True)
class Promise:
    """One claim made at one moment of an execution."""

    step: int
    rank: int
    entry: Invariant
    record: Any

    @property
    def invariant(self) -> str:
        """The id in the catalogue."""
        return self.entry.id

    @property
    def claim(self) -> Claim:
        """What is claimed; stated when asked, as most promises of a search never are."""
        return self.entry.claim(self.record)

    @property
    def request(self) -> str:
        """Whom it is about; empty for a step or a group."""
        return getattr(self.record, "request_id", "")


@dataclass(frozen=True, slots=True)
class Moment:
    """One step of one rank: what was decided and what was booked."""

    step: int
    rank: int
    decisions: tuple[Decision, ...]
    bookings: tuple[Booking, ...]


Enter = Callable[[int, int, Engine], None]
"""Called before each step of each rank as ``(step, rank, engine)``: arrivals and aborts."""


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
            queues, records = queued(engine.scheduler), self._records[rank]
            output = engine.step()
            look_back(self.config, records, output)
            records += missed(self.config, queues, records, output)
        self.close(number)

    def close(self, number: int) -> None:
        """Turn the records of step ``number`` into promises (also after an exception)."""
        prefill = group_has_prefill(self._records)
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
                self.promises += [
                    Promise(number, rank, entry, record) for entry in about(type(record))
                ]
            records.clear()


def arrive(
    engine: Engine, name: str, prompt: int, max_tokens: int, priority: int, order: int
) -> Request:
    """A request enters a rank."""
    request = Request(name, prompt, max_tokens, priority, order)
    engine.add_request(request)
    return request
