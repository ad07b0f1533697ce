"""Many policies, both modes at once, with progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import active_children, get_context
from time import perf_counter

from model.policies import PaddingPolicy
from proofs.check import Task, check
from proofs.collecting import collect_rarely
from proofs.induction import Cache
from proofs.interruption import just_end
from proofs.replay import count
from proofs.verdict import MODES, PROVED, UNDECIDED, VIOLATED, Obligation, Statistics

Progress = Callable[[str, int, int], None]
"""Called with what just finished, how many tasks are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """All obligations of a run and what the run as a whole comes to."""

    target: str
    obligations: tuple[Obligation, ...]
    seconds: float

    @property
    def verdict(self) -> str:
        """*violated* if anything is, else *undecided* if anything is, else *proved*.

        A cell with an expected verdict counts as proved when it is as expected: that a known bug
        is still caught is what the run has to show.
        """
        seen = {
            PROVED if o.expected is not None and o.as_expected else _unexpected(o)
            for o in self.obligations
        }
        if not seen:
            return UNDECIDED
        return next(v for v in (VIOLATED, UNDECIDED, PROVED) if v in seen)

    def unexpecting(self) -> Outcome:
        """The same, judged on its own: a known bug is a violation like any other."""
        plain = tuple(replace(o, expected=None, lost=()) for o in self.obligations)
        return replace(self, obligations=plain)


def _unexpected(obligation: Obligation) -> str:
    """A known bug that is no longer caught is a failure of the run, not a success."""
    if obligation.expected == VIOLATED and obligation.verdict == PROVED:
        return VIOLATED
    return obligation.verdict


def run(
    target: str,
    policies: Sequence[PaddingPolicy],
    only: Iterable[str],
    deadline: float,
    jobs: int,
    progress: Progress,
) -> Outcome:
    """Check policies in both modes.

    Args:
        target: what the report calls this run.
        policies: the policies.
        only: the invariant ids wanted.
        deadline: wall-clock time (``time.time()``) after which what is open stays undecided.
        jobs: processes; 1 works in this one, more than one per mode have nothing to do.
        progress: told about every finished task.
    """
    started = perf_counter()
    tasks = [Task(policy, mode, frozenset(only), deadline) for mode in MODES for policy in policies]
    results: dict[int, list[Obligation]] = {}
    if jobs <= 1 or len(tasks) == 1:
        cache = Cache()
        for index, task in enumerate(tasks):
            results[index] = check(task, cache)
            progress(_told(task, results[index]), len(results), len(tasks))
    else:
        _side_by_side(tasks, results, progress)
    ordered = [obligation for index in range(len(tasks)) for obligation in results[index]]
    order = {policy.name: position for position, policy in enumerate(policies)}
    ordered.sort(key=lambda o: order[o.policy])
    return Outcome(target, tuple(ordered), perf_counter() - started)


def _told(task: Task, obligations: Sequence[Obligation]) -> str:
    """What just finished, for the progress display."""
    work = obligations[0].work if obligations else Statistics()
    return (
        f"{task.policy.name} {task.mode}: {count(len(obligations), 'obligation')}, "
        f"{count(work.paths, 'path')}, "
        f"{work.seconds:.1f} s"
    )


def _side_by_side(
    tasks: Sequence[Task], results: dict[int, list[Obligation]], progress: Progress
) -> None:
    """One process per mode, which takes its policies in order, as in one process for both.

    What a policy leaves behind (``Cache``) serves the next, so which assumptions a proof names may
    depend on the policies before it: these must not depend on how fast a machine is.
    """
    fork = get_context("fork")
    lanes = {mode: ProcessPoolExecutor(1, fork, initializer=_start) for mode in MODES}
    running = {lanes[task.mode].submit(_check, task): at for at, task in enumerate(tasks)}
    try:
        for future in as_completed(running):
            at = running[future]
            results[at] = future.result()
            progress(_told(tasks[at], results[at]), len(results), len(tasks))
    except BaseException:
        for process in active_children():
            process.kill()  # whatever it is doing: it keeps nothing
        raise
    finally:
        for executor in lanes.values():
            executor.shutdown(cancel_futures=True)


def _start() -> None:
    """A worker process begins."""
    just_end()
    collect_rarely()


_CACHE = Cache()
"""Per worker process: bodies that several policies share are explored once."""


def _check(task: Task) -> list[Obligation]:
    try:
        return check(task, _CACHE)
    except SystemExit as error:  # not ours to obey: it would end the report without a verdict
        raise RuntimeError(f"the model asks to exit, with status {error.code}") from None


def default_jobs() -> int:
    """One process per core this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
