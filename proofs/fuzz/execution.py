"""One execution under watch: ranks in lockstep, the runner attached, every promise checked."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from model.engine import Engine
from model.environment import Environment
from model.policies import PaddingPolicy
from model.request import Request
from model.runner.errors import RunnerError
from model.runner.shim import RunnerEngine
from proofs.play import Play
from proofs.scenario import Arrival, RecordingWorld, Scenario
from spec.assumptions import PROGRESS_NEEDS
from spec.config import Config
from spec.invariants import IDS

CATALOGUE = "catalogue"
RUNNER = "runner"
NO_ASSERT = "no-reachable-assert"


@dataclass(frozen=True, slots=True)
class Breach:
    """A broken promise: by the catalogue's claim, or by a step the runner cannot execute."""

    invariant: str
    seen_by: str
    sentence: str
    also: str = ""
    """The invariant the runner named in the same step; empty if it executed the step."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An execution that breaks a promise: all that is needed to show it again."""

    invariant: str
    seen_by: str
    sentence: str
    scenario: Scenario


class Execution(Play):
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
        self.recorded = [RecordingWorld(world) for world in worlds]
        super().__init__(config, policy, self.recorded, self._enter)
        self.runners = []
        self.engines = []
        for world, records in zip(self.recorded, self._records, strict=True):
            engine = RunnerEngine(config, policy, world, records.append)
            self.engines.append(engine)
            self.runners.append(engine.runner)
        self.policy = policy
        self.num_steps = 0
        self.arrivals: list[Arrival] = []
        self.aborts: list[tuple[int, str]] = []
        self.live: list[tuple[Arrival, Request]] = []
        """Requests that have not finished, in order of arrival."""
        self._entering: list[tuple[int, Request]] = []
        self._leaving: list[tuple[int, Request]] = []
        judged = frozenset(only)
        if not all(need.condition(config) for need in PROGRESS_NEEDS):
            judged -= {"progress"}
        self._judged = judged

    def arrive(self, prompt: int, max_tokens: int, priority: int = 0, rank: int = 0) -> None:
        """A request enters a rank before the next step."""
        order = len(self.arrivals)
        name = chr(ord("A") + order) if order < 26 else f"R{order}"
        arrival = Arrival(self.num_steps, name, prompt, max_tokens, priority, rank)
        request = Request(name, prompt, max_tokens, priority, order)
        self.arrivals.append(arrival)
        self.live.append((arrival, request))
        self._entering.append((rank, request))

    def abort(self, index: int) -> None:
        """The client of the ``index``-th live request goes away before the next step."""
        arrival, request = self.live.pop(index)
        self.aborts.append((self.num_steps, arrival.request_id))
        self._leaving.append((arrival.rank, request))

    def advance(self) -> Breach | None:
        """One step of every rank; the first promise it breaks."""
        crash = refused = None
        number = self.num_steps
        self.num_steps += 1
        try:
            self.step(number)
        except RunnerError as error:
            refused = error
            self.close(number)
        except Exception as error:
            crash = error
            self.close(number)
        self._entering.clear()
        self._leaving.clear()
        self.live = [pair for pair in self.live if not pair[1].is_finished]
        breach = self._breach(crash, refused)
        self.promises.clear()
        self.moments.clear()
        return breach

    def step(self, number: int) -> None:
        """One step of every rank, then what the runners say about the group as a whole."""
        for rank, engine in enumerate(self.engines):
            self._enter(number, rank, engine)
            engine.step()
        group_has_prefill = any(runner.has_prefill for runner in self.runners)
        for runner in self.runners:
            runner.check_uniform(group_has_prefill)
        self.close(number)

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
            answers=tuple(tuple(world.answers) for world in self.recorded),
            aborts=tuple(self.aborts),
        )
        return Failure(breach.invariant, breach.seen_by, breach.sentence, scenario)

    def _enter(self, number: int, rank: int, engine: Engine) -> None:
        for home, request in self._entering:
            if home == rank:
                engine.add_request(request)
        for home, request in self._leaving:
            if home == rank:
                engine.abort(request)

    def _breach(self, crash: Exception | None, refused: RunnerError | None) -> Breach | None:
        """The catalogue's word first: the replay can show it."""
        judged = self._judged
        broken = [p for p in self.promises if p.invariant in judged and not p.claim.holds]
        also = refused.invariant_id if refused is not None else ""
        if broken:
            first = next((p for p in broken if p.invariant == also), broken[0])
            return Breach(first.invariant, CATALOGUE, first.claim.sentence(), also)
        if crash is not None and NO_ASSERT in judged:
            where = traceback.extract_tb(crash.__traceback__)[-1].name
            sentence = f"{type(crash).__name__} in {where}: {crash}"
            return Breach(NO_ASSERT, CATALOGUE, sentence)
        if refused is not None:
            return Breach(also, RUNNER, str(refused), also)
        return None
