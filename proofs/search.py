"""Bounded search from the empty engine: shows that a violation is reached by a real execution.

The model's own engine plays a few steps with symbolic knobs, arrivals and answers.  Minimality is
by documented order: fewest steps, fewest requests, fewest features switched on, then the smallest
``max_model_len``, ``num_spec_tokens``, and the rest in the order of ``ORDER``.  Every result is a
``Scenario``; a trace exists only once its replay on integers broke the promise too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from time import time
from typing import Any

from model.engine import Engine
from model.policies import PaddingPolicy
from model.request import Request
from proofs.play import Play, Promise
from proofs.scenario import Arrival, RecordingWorld, Scenario
from proofs.small_world import LARGEST, Features, SmallWorld, small_config
from proofs.symbolic import (
    Context,
    Exploration,
    Grounds,
    Limits,
    Path,
    Refuted,
    Unsupported,
    evaluate,
)
from proofs.verdict import Statistics
from spec import assumptions as world
from spec.config import Config
from spec.logic import all_of, implies, not_

DEPTHS = ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2))
"""(steps, requests), in the order they are tried."""


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for and where."""

    policy: PaddingPolicy
    mode: str
    corners: Mapping[str, Sequence[Features]]
    """Invariant id whose violation is wanted → the feature sets to look under."""
    deadline: float = inf
    """Wall-clock time (``time.time()``) after which nothing more is explored."""
    paths: int = 6_000
    """How many paths are explored in all; what is not found then is not known to be anywhere."""
    depths: tuple[tuple[int, int], ...] = DEPTHS
    without: frozenset[str] = frozenset()
    """Ids of assumptions not to make and waivers not to grant (``proofs.necessity``)."""
    lengths: tuple[int, ...] = (4, LARGEST)
    """Bounds on ``max_model_len``, in the order they are tried: it is minimized first, and a small
    one leaves few paths."""
    smallest: bool = True
    """Whether the smallest execution is wanted; otherwise any."""

    def limits(self, explored: int) -> Limits:
        """What is left of time and paths, for the next exploration."""
        return Limits(paths=self.paths - explored, seconds=max(self.deadline - time(), 0.0))


@dataclass(slots=True)
class Found:
    """What a search ended with, or has come to so far."""

    scenarios: dict[str, Scenario] = field(default_factory=dict)
    """Invariant id → the smallest execution that breaks it."""
    complete: bool = True
    """Every path within the depths was looked at."""
    statistics: Statistics = field(default_factory=Statistics)
    grounds: Grounds = field(default_factory=Grounds, repr=False)
    """What its explorations have in common."""


def search(task: Search, grounds: Grounds | None = None) -> Found:
    """Look for the smallest execution breaking each target, shallowest first.

    ``grounds``: of earlier searches, where these are always made in the same order.
    """
    found = Found() if grounds is None else Found(grounds=grounds)
    for steps, requests in task.depths:
        under: dict[Features, list[str]] = {}
        for target, corners in task.corners.items():
            for features in corners if target not in found.scenarios else ():
                under.setdefault(features, []).append(target)
        for features in sorted(under, key=lambda names: (len(names), sorted(names))):
            _at_depth(task, features, steps, requests, under[features], found)
    return found


def _at_depth(
    task: Search,
    features: Features,
    steps: int,
    requests: int,
    targets: Collection[str],
    found: Found,
) -> None:
    """All executions of one depth, the shortest ``max_model_len`` first."""
    for longest in task.lengths:
        missing = [name for name in targets if name not in found.scenarios]
        if found.statistics.paths >= task.paths:
            found.complete = False
        elif missing:
            _up_to(_Run(task, features, steps, requests, longest), missing, found)


def _up_to(run: _Run, targets: Collection[str], found: Found) -> None:
    """The smallest breach of each target among the executions of one depth and length."""
    best: dict[str, tuple[tuple[int, ...], Scenario]] = {}
    ground = found.grounds["executions", run.task.mode]
    limits = run.task.limits(found.statistics.paths)
    with Exploration(run.play, limits, ground) as exploration:
        for path in exploration:
            if path.unsupported:
                found.complete = False
                continue
            try:
                broken_here = list(run.breaches(path, targets))
            except Unsupported:  # a promise has no meaning on what was recorded here
                found.complete = False
                continue
            for invariant, broken in broken_here:
                order = run.order()
                known = best.get(invariant)
                if known is not None:
                    broken = broken & run.smaller_than(known[0])
                    if not isinstance(path.holds(not_(broken)), Refuted):
                        continue
                model = path.minimize(broken, order)
                if model is None:
                    continue
                rank = tuple(int(evaluate(term, model)) for term in order)
                if known is None or rank < known[0]:
                    best[invariant] = (rank, run.scenario(model))
            if not run.task.smallest and len(best) == len(targets):
                break
        else:
            found.complete &= exploration.complete
        found.statistics += Statistics.of(exploration.statistics)
    found.scenarios |= {name: scenario for name, (_, scenario) in best.items()}


class _Run:
    """The engine in a small world; ``play`` is run once per path and leaves its state here."""

    def __init__(
        self, task: Search, features: Features, steps: int, requests: int, longest: int
    ) -> None:
        self.task, self.features = task, features
        self.steps, self.requests, self.longest = steps, requests, longest

    def _begin(self, context: Context) -> None:
        self.context = context
        self.config = small_config(
            context, self.features, self.task.mode, self.requests, self.longest
        )
        self.arrivals: list[tuple[int, Request]] = []
        self.answers = SmallWorld(context, self.config, self.features, self.task.without)
        self.world = RecordingWorld(self.answers)
        self.pending = [self._request(index) for index in range(self.requests)]
        self.promises: list[Promise] = []
        self.step = -1

    def _request(self, index: int) -> Request:
        new: Any = self.context.int
        name = chr(ord("A") + index)
        request = Request(name, new(f"{name} prompt", 1, LARGEST), new(f"{name} max", 1, LARGEST))
        request.arrival_time = index
        if "priority" in self.features:
            request.priority = new(f"{name} priority", 0, 2)
        self.answers.assume(world.PROMPT_FITS, self.config, request.num_prompt_tokens)
        return request

    def play(self, context: Context) -> None:
        """Play all steps; only the last one can break something not found at a lesser depth."""
        self._begin(context)
        play = Play(self.config, self.task.policy, [self.world], self._enter)
        try:
            for number in range(self.steps):
                self.step = number
                play.promises.clear()
                play.step(number)
        finally:
            if self.step == self.steps - 1:
                self.promises = play.promises

    def _enter(self, step: int, rank: int, engine: Engine) -> None:
        """A request arrives now or later, in order; all have arrived by the last step."""
        last = step == self.steps - 1
        while self.pending:
            request = self.pending[0]
            if not last and not bool(self.context.bool(f"{request.request_id} arrives at {step}")):
                break
            self.pending.pop(0)
            self.arrivals.append((step, request))
            engine.add_request(request)

    # -- reading the result -------------------------------------------------------------------

    def breaches(self, path: Path[None], targets: Collection[str]) -> Iterator[tuple[str, Any]]:
        """(invariant, formula of its breach) for each target this path can break."""
        if path.error is not None:
            if self.step == self.steps - 1 and "no-reachable-assert" in targets:
                yield "no-reachable-assert", True
            return
        breaches = [
            (promise.invariant, broken)
            for promise in self.promises
            if promise.invariant in targets
            for broken in [self._breach(promise)]
            if broken is not False
        ]
        kept = {str(index): not_(broken) for index, (_, broken) in enumerate(breaches)}
        for index, answer in path.prove_all(kept).items():
            if isinstance(answer, Refuted):
                yield breaches[int(index)]

    def _breach(self, promise: Promise) -> bool:
        """The formula of a broken promise, where the invariant is claimed at all."""
        claim = promise.claim.without(self.task.without)
        return not_(claim.holds) & self._may_blame(promise.invariant)

    def _may_blame(self, invariant: str) -> bool:
        """Whether the configuration is one the invariant is claimed for."""
        if invariant != "progress":
            return True
        needs = [a for a in world.PROGRESS_NEEDS if a.id not in self.task.without]
        return all_of(*(assumption.condition(self.config) for assumption in needs))

    def order(self) -> list[Any]:
        """What is minimized, most significant first."""
        c = self.config
        sizes = [c.max_model_len, c.num_spec_tokens, c.long_prefill_token_threshold]
        budgets = [c.max_num_scheduled_tokens, c.max_num_batched_tokens]
        requests = [
            number
            for step, request in self.arrivals
            for number in (step, request.num_prompt_tokens, request.max_tokens)
        ]
        return [*sizes, *budgets, *requests, *self.answers.numbers]

    def smaller_than(self, rank: tuple[int, ...]) -> Any:
        """A necessary condition for beating ``rank``: its leading numbers do not grow."""
        first, second = self.order()[:2]
        return all_of(first <= rank[0], implies(first == rank[0], second <= rank[1]))

    def scenario(self, model: Any) -> Scenario:
        """The execution as data."""
        fixed = {
            name: evaluate(getattr(self.config, name), model)
            for name in Config.__dataclass_fields__
        }
        return Scenario(
            config=Config(**fixed),
            policy=self.task.policy.name,
            num_steps=self.steps,
            arrivals=tuple(
                Arrival(
                    step,
                    request.request_id,
                    evaluate(request.num_prompt_tokens, model),
                    evaluate(request.max_tokens, model),
                    evaluate(request.priority, model),
                )
                for step, request in self.arrivals
            ),
            answers=(
                tuple(
                    (kind, *(evaluate(number, model) for number in numbers))
                    for kind, *numbers in self.world.answers
                ),
            ),
        )
