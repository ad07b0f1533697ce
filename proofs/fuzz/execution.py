"""One execution under watch: ranks in lockstep, the runner attached, every promise checked."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from model.environment import Environment
from model.hindsight import group_has_prefill, look_back, missed, queued
from model.loads import Loads
from model.policies import PaddingPolicy
from model.request import Request
from model.runner.shim import check_group
from proofs.fuzz.watched import WatchedEngine
from proofs.scenario import AnswersExhausted, Arrival, RecordingWorld, Scenario
from spec.assumptions import PROGRESS_NEEDS
from spec.claims import RELATIONS, Claim
from spec.config import Config
from spec.invariants import CATALOGUE, IDS, RECORDS
from spec.records import Decision

BY_CATALOGUE = "catalogue"
BY_RUNNER = "runner"
NO_ASSERT = "no-reachable-assert"


@dataclass(frozen=True, slots=True)
class Breach:
    """A broken promise: by the catalogue's claim, or by a step the runner cannot execute."""

    invariant: str
    seen_by: str
    sentence: str
    also: tuple[str, ...] = ()
    """The invariants the runner named so far, in order; empty if it could execute every step."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An execution that breaks a promise: all that is needed to show it again."""

    invariant: str
    seen_by: str
    sentence: str
    scenario: Scenario


class Execution:
    """Ranks in lockstep that can be fed requests and are checked after every step.

    Args:
        config: the knobs, the same on every rank.
        policy: the padding guard.
        worlds: one environment per rank; their answers are kept.
        only: invariants whose breach counts.
    """

    def __init__(
        self,
        config: Config,
        policy: PaddingPolicy,
        worlds: Sequence[Environment],
        only: Collection[str] = IDS,
    ) -> None:
        self.config = config
        self.policy = policy
        self.num_steps = 0
        self.arrivals: list[Arrival] = []
        self.aborts: list[tuple[int, str]] = []
        self.live: list[tuple[Arrival, Request]] = []
        """Requests that have not finished, in order of arrival."""
        self.worlds = [RecordingWorld(world) for world in worlds]
        self._records: list[list[Any]] = [[] for _ in worlds]
        loads = [
            Loads(world, records.append)
            for world, records in zip(self.worlds, self._records, strict=True)
        ]
        self.engines = [WatchedEngine(config, policy, load, load.record) for load in loads]
        judged = set(only)
        if not all(need.condition(config) for need in PROGRESS_NEEDS):
            judged.discard("progress")
        self._judged = judged
        self._claims = {
            record: [entry for entry in CATALOGUE if entry.about is record and entry.id in judged]
            for record in RECORDS
        }
        self._entering: list[tuple[Arrival, Request]] = []
        self._leaving: list[tuple[Arrival, Request]] = []

    def arrive(self, prompt: int, max_tokens: int, priority: int = 0, rank: int = 0) -> None:
        """A request enters a rank before the next step."""
        order = len(self.arrivals)
        name = chr(ord("A") + order) if order < 26 else f"R{order}"
        arrival = Arrival(self.num_steps, name, prompt, max_tokens, priority, rank)
        request = Request(name, prompt, max_tokens, priority, order)
        self.arrivals.append(arrival)
        self.live.append((arrival, request))
        self._entering.append((arrival, request))

    def abort(self, index: int) -> None:
        """The client of the ``index``-th live request goes away before the next step."""
        arrival, request = self.live.pop(index)
        self.aborts.append((self.num_steps, arrival.request_id))
        self._leaving.append((arrival, request))

    def advance(self) -> Breach | None:
        """One step of every rank; the first promise it breaks.

        Raises:
            AnswersExhausted: a replayed world has no more answers.
        """
        crash: Exception | None = None
        try:
            self._step()
        except AnswersExhausted:  # of a replay: says nothing about the model
            raise
        except Exception as error:  # the model's own crash is a finding, whatever it is
            crash = error
        self.num_steps += 1
        self.live = [pair for pair in self.live if not pair[1].is_finished]
        return self._breach(crash)

    @property
    def has_work(self) -> bool:
        """Some request has not finished, or some output is not booked."""
        return bool(self.live) or any(engine.in_flight for engine in self.engines)

    def failure(self, breach: Breach) -> Failure:
        """The execution so far as data."""
        scenario = Scenario(
            config=self.config,
            policy=self.policy.name,
            num_steps=self.num_steps,
            arrivals=tuple(self.arrivals),
            answers=tuple(tuple(world.answers) for world in self.worlds),
            aborts=tuple(self.aborts),
        )
        return Failure(breach.invariant, breach.seen_by, breach.sentence, scenario)

    def _step(self) -> None:
        """Every rank in turn, then what the runners say about the group as a whole."""
        entering, self._entering = self._entering, []
        leaving, self._leaving = self._leaving, []
        for rank, engine in enumerate(self.engines):
            for arrival, request in entering:
                if arrival.rank == rank:
                    engine.add_request(request)
            for arrival, request in leaving:
                if arrival.rank == rank:
                    engine.abort(request)
            queues, records = queued(engine.scheduler), self._records[rank]
            output = engine.step()
            look_back(self.config, records, output)
            records += missed(self.config, queues, records, output)
        check_group(self.engines)

    def _breach(self, crash: Exception | None) -> Breach | None:
        """The catalogue's word first: the replay can show it."""
        objections = [error for engine in self.engines for error in engine.objections]
        also = tuple(error.invariant_id for error in objections)
        broken = self._broken()
        if broken:
            invariant, claim = next((b for b in broken if b[0] in also), broken[0])
            return Breach(invariant, BY_CATALOGUE, claim.sentence(), also)
        for error in objections:
            if error.invariant_id in self._judged:
                return Breach(error.invariant_id, BY_RUNNER, str(error), also)
        if crash is not None and NO_ASSERT in self._judged:
            where = traceback.extract_tb(crash.__traceback__)[-1].name
            sentence = f"{type(crash).__name__} in {where}: {crash}"
            return Breach(NO_ASSERT, BY_CATALOGUE, sentence)
        return None

    def _broken(self) -> list[tuple[str, Claim]]:
        """The claims this step broke; forgets the step's records."""
        prefill = group_has_prefill(self._records)
        broken = []
        for records in self._records:
            for record in records:
                if type(record) is Decision and record.group_has_prefill is not prefill:
                    record = replace(record, group_has_prefill=prefill)
                for entry in self._claims[type(record)]:
                    claim = entry.claim(record)
                    if not _compares(claim) and not claim.holds:
                        broken.append((entry.id, claim))
            records.clear()
        return broken


def _compares(claim: Claim) -> bool:
    """The bare comparison, at full speed: whatever its condition, a true one breaks nothing."""
    return RELATIONS[claim.relation](sum(claim.left.values()), sum(claim.right.values()))
