"""Many random executions over a few processes, in one order whatever their number.

Executions are numbered; what is found is the failing execution of the lowest number.  So the same
seed finds the same failure with one process or with eight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count
from math import inf
from multiprocessing import get_context
from time import perf_counter

from proofs.fuzz.driver import Goal, Run, random_run
from proofs.fuzz.shrink import shrink
from proofs.interruption import just_end

BATCH = 16
"""Executions handed to a process at once: about a tenth of a second."""

Progress = Callable[[int, float], None]
"""Called with the steps done and the seconds passed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop looking: whichever comes first."""

    steps: float = inf
    seconds: float = inf


@dataclass(frozen=True, slots=True)
class Result:
    """What a campaign ended with."""

    num_steps: int
    num_executions: int
    seconds: float
    """Until the failure, or the end; without shrinking."""
    found: Run | None = None
    shrunk: Run | None = None


@dataclass(frozen=True, slots=True)
class _Batch:
    num_steps: int
    num_executions: int
    failing: int | None


def fuzz(goal: Goal, seed: int, limits: Limits, jobs: int, progress: Progress) -> Result:
    """Play random executions until one fails or a limit is reached; shrink what fails.

    Args:
        goal: what is fuzzed and what counts as found.
        seed: of everything random.
        limits: when to stop; a limit on seconds makes the number of steps depend on the machine.
        jobs: processes; 1 works in this one.
        progress: told after every batch.
    """
    started = perf_counter()
    steps = executions = 0
    failing = None
    batches = _here(goal, seed) if jobs == 1 else _elsewhere(goal, seed, jobs)
    for batch in batches:
        steps += batch.num_steps
        executions += batch.num_executions
        passed = perf_counter() - started
        progress(steps, passed)
        failing = batch.failing
        if failing is not None or steps >= limits.steps or passed >= limits.seconds:
            break
    batches.close()
    seconds = perf_counter() - started
    if failing is None:
        return Result(steps, executions, seconds)
    found = random_run(goal, seed, failing)
    return Result(steps, executions, seconds, found, shrink(goal, found))


def _play(goal: Goal, seed: int, start: int) -> _Batch:
    """One batch, up to its first failure."""
    steps = 0
    for index in range(start, start + BATCH):
        run = random_run(goal, seed, index)
        steps += run.num_steps
        if run.breach is not None:
            return _Batch(steps, index - start + 1, index)
    return _Batch(steps, BATCH, None)


def _here(goal: Goal, seed: int) -> Generator[_Batch, None, None]:
    for start in count(0, BATCH):
        yield _play(goal, seed, start)


def _elsewhere(goal: Goal, seed: int, jobs: int) -> Generator[_Batch, None, None]:
    """Batches in order of their numbers, a few ahead."""
    starts = count(0, BATCH)
    pending: deque[Future[_Batch]] = deque()
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("fork"), initializer=just_end)
    try:
        while True:
            while len(pending) < 4 * jobs:
                pending.append(pool.submit(_play, goal, seed, next(starts)))
            yield pending.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
