"""One random execution on both sides, and the first difference between them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from model.request import Request
from proofs.conform.inputs import MOST_REQUESTS, MOST_STEPS, draw_config, draw_prompt
from proofs.conform.lockstep import Call, ModelSide, Seen
from proofs.conform.releases import Release
from proofs.fuzz.draws import Draw, Groups, Tape, seldom
from proofs.fuzz.inputs import DrawnWorld
from spec.config import Config

MISSING = "(nothing)"


@dataclass(frozen=True, slots=True)
class Execution:
    """What the model did and saw."""

    config: Config
    calls: tuple[Call, ...]
    seen: tuple[Seen, ...]
    num_steps: int
    groups: Groups = ()
    """The choices it was drawn from."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first call after which the two sides do not look alike."""

    index: int
    """Of the call."""
    values: dict[str, tuple[object, object]]
    """What differs → the model's value, the engine's value."""
    where: str = ""
    """Where the engine raised, if it did."""

    @property
    def kind(self) -> frozenset[str]:
        """What differs, whatever the request and the numbers."""
        return frozenset(name.rpartition(".")[2] for name in self.values)


Player = Callable[[Execution], list[Seen]]
"""Makes an execution's calls on the engine."""


def random_execution(release: Release, seed: int, index: int) -> Execution:
    """The ``index``-th execution of a seed; depends on nothing else."""
    source = random.Random(f"conform/{seed}/{index}")
    return drawn_execution(release, Tape(source, num_groups=1 + MOST_STEPS))


def drawn_execution(release: Release, tape: Tape) -> Execution:
    """Let the model play an execution whose choices are read off a tape."""
    tape.next_group()
    config = draw_config(tape, release)
    side = ModelSide(config, release.policy, DrawnWorld(tape, config), release.scheduler)
    while not side.over and tape.next_group():
        _enter(tape, side)
        if not (side.has_unfinished_requests or side.in_flight) and _all_arrived(side):
            break
        side.advance()
    return Execution(config, tuple(side.calls), tuple(side.seen), side.num_steps, tape.groups)


def difference(execution: Execution, engine: Sequence[Seen]) -> Difference | None:
    """The first difference; None if the engine saw what the model saw."""
    for index, model in enumerate(execution.seen):
        if index >= len(engine):
            return Difference(index, {"observation": ("one more", MISSING)})
        values = _unlike(model, engine[index])
        if values:
            return Difference(index, values, str(engine[index].get("where", "")))
    return None


def knobs(config: Config) -> dict[str, object]:
    """The configuration as the child takes it."""
    return asdict(config)


def _enter(draw: Draw, side: ModelSide) -> None:
    """What clients do before a step: requests arrive, seldom one is aborted."""
    live = [request for request in side.requests.values() if not request.is_finished]
    if not _all_arrived(side) and draw.integer(0, 9) > (6 if live else 1):
        config, order = side.config, len(side.requests)
        side.add_request(
            Request(
                chr(ord("A") + order),
                num_prompt_tokens=draw_prompt(draw, config),
                max_tokens=draw.integer(1, config.max_model_len),
                priority=draw.integer(0, 2) if config.priority_scheduling else 0,
                arrival_time=order,
            )
        )
    if live and seldom(draw, 40):
        side.abort(live[draw.integer(0, len(live) - 1)])


def _all_arrived(side: ModelSide) -> bool:
    return len(side.requests) == MOST_REQUESTS


def _unlike(model: Seen, engine: Seen) -> dict[str, tuple[object, object]]:
    """What differs between two observations, by name.

    How the engine explains an exception is not compared, nor a counter its release lacks.
    """
    if "raised" in model or "raised" in engine:
        pair = model.get("raised", MISSING), engine.get("raised", MISSING)
        told = model.get("why", ""), engine.get("why", "")
        return {} if pair[0] == pair[1] else {"raised": pair, "saying": told}
    values: dict[str, tuple[object, object]] = {}
    for name in model.keys() | engine.keys():
        if name != "requests" and model.get(name, MISSING) != engine.get(name, MISSING):
            values[name] = model.get(name, MISSING), engine.get(name, MISSING)
    ours, theirs = model["requests"], engine["requests"]
    for request in sorted(ours.keys() | theirs.keys()):
        mine, other = ours.get(request, {}), theirs.get(request, {})
        for counter in mine.keys() & other.keys() if other else mine.keys():
            if mine[counter] != other.get(counter, MISSING):
                values[f"{request}.{counter}"] = mine[counter], other.get(counter, MISSING)
    return dict(sorted(values.items()))
