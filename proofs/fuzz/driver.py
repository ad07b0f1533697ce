"""A random execution from a seed: draws the inputs, plays, and reports the first breach."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass

from model.policies import PaddingPolicy
from proofs.fuzz.draws import Draw, Groups, Tape, pick, seldom
from proofs.fuzz.execution import Breach, Execution, Failure
from proofs.fuzz.inputs import DrawnWorld, draw_config, draw_prompt
from spec.config import Config
from spec.invariants import IDS

MOST_STEPS = 60
MOST_REQUESTS = 8


@dataclass(frozen=True, slots=True)
class Goal:
    """What is fuzzed and what counts as found."""

    policy: PaddingPolicy
    only: frozenset[str] = frozenset(IDS)
    async_scheduling: bool | None = None
    """Fixes the scheduling mode."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What an execution starts from."""

    config: Config
    num_ranks: int


@dataclass(frozen=True, slots=True)
class Run:
    """One execution that was played."""

    num_steps: int
    groups: Groups
    """The choices it consisted of."""
    breach: Breach | None
    failure: Failure | None


def random_run(goal: Goal, seed: int, index: int) -> Run:
    """The ``index``-th execution of a seed; depends on nothing else."""
    source = random.Random(f"{seed}/{index}")
    return play(goal, Tape(source, num_groups=1 + MOST_STEPS))


def play(goal: Goal, tape: Tape) -> Run:
    """Play an execution to its end, its first breach, or the end of the tape."""
    tape.next_group()
    setup = draw_setup(tape, goal.async_scheduling)
    execution = begin(tape, setup, goal.policy, goal.only)
    breach = None
    while breach is None and tape.next_group():
        enter(tape, execution)
        if not execution.has_work and len(execution.arrivals) == MOST_REQUESTS:
            break
        breach = execution.advance()
    failure = execution.failure(breach) if breach is not None else None
    return Run(execution.num_steps, tape.groups, breach, failure)


def draw_setup(draw: Draw, async_scheduling: bool | None = None) -> Setup:
    """A legal configuration on one to three ranks; ``async_scheduling`` fixes the mode."""
    return Setup(draw_config(draw, async_scheduling), pick(draw, (1, 1, 1, 2, 3)))


def begin(
    draw: Draw, setup: Setup, policy: PaddingPolicy, only: Collection[str] = IDS
) -> Execution:
    """An execution of no steps yet, whose worlds draw their answers."""
    worlds = [DrawnWorld(draw, setup.config) for _ in range(setup.num_ranks)]
    return Execution(setup.config, policy, worlds, only)


def enter(draw: Draw, execution: Execution) -> None:
    """What clients do before a step: requests arrive, seldom one is aborted."""
    if len(execution.arrivals) < MOST_REQUESTS and draw.integer(0, 9) > (
        6 if execution.live else 1
    ):
        arrive(draw, execution)
    if execution.live and seldom(draw, 40):
        abort(draw, execution)


def arrive(draw: Draw, execution: Execution) -> None:
    """One request of legal size."""
    config = execution.config
    execution.arrive(
        prompt=draw_prompt(draw, config),
        max_tokens=draw.integer(1, config.max_model_len),
        priority=draw.integer(0, 2) if config.priority_scheduling else 0,
        rank=draw.integer(0, len(execution.engines) - 1),
    )


def abort(draw: Draw, execution: Execution) -> None:
    """One live request goes away.

    Only of rank 0: ranks are alike, and a scenario's aborts name no rank.
    """
    index = draw.integer(0, len(execution.live) - 1)
    if execution.live[index][0].rank == 0:
        execution.abort(index)
