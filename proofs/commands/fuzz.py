"""``fuzz``: random executions of one policy, with the runner attached."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from model.policies import POLICIES, RECOMMENDED
from proofs.campaign import default_jobs
from proofs.catalog import unknown
from proofs.errors import EXIT_PROVED, EXIT_VIOLATED, UsageError
from proofs.fuzz.again import show
from proofs.fuzz.campaign import Limits, Progress, Result, fuzz
from proofs.fuzz.driver import Goal
from proofs.fuzz.saved import load, save
from proofs.replay import LacksAnswers, NotReproduced
from spec.invariants import IDS

EXAMPLES = (
    "examples:\n"
    "  python -m proofs fuzz                        the recommended policy\n"
    "  python -m proofs fuzz --policy 45237         a known bug: found, shrunk, shown, saved\n"
    "  python -m proofs fuzz --steps 1000000 --jobs 2\n"
    "  python -m proofs fuzz --replay fuzz-failure.json\n"
    "\n"
    "Finding nothing proves nothing: python -m proofs check does."
)
DEFAULT_STEPS = 100_000
MOST_STEPS = 10**12
MOST_JOBS = 256
MOST_SEED = 2**64 - 1
DEFAULT_FILE = Path("fuzz-failure.json")
SEARCH = ("policy", "only", "steps", "seconds", "seed", "jobs", "save")
"""The options of a search; None where not given."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to fuzz, how long, and where a failure goes."""
    parser.add_argument("--policy", metavar="NAME", help=f"default: {RECOMMENDED.name}")
    parser.add_argument(
        "--only", metavar="ID", action="append", help="one invariant; may be repeated"
    )
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument(
        "--steps", metavar="N", type=int, help=f"stop after so many steps (default {DEFAULT_STEPS})"
    )
    extent.add_argument("--seconds", metavar="S", type=float, help="stop after so much time")
    parser.add_argument("--seed", metavar="X", type=int, help="default: 0")
    parser.add_argument(
        "--jobs", metavar="J", type=int, help="processes (default: one per usable core)"
    )
    parser.add_argument(
        "--save",
        metavar="FILE",
        type=Path,
        help=f"where a failure is written (default: {DEFAULT_FILE})",
    )
    parser.add_argument("--replay", metavar="FILE", type=Path, help="show a saved failure again")


def run(arguments: argparse.Namespace) -> int:
    """Fuzz and report; or show a saved failure."""
    if arguments.replay is not None:
        given = [name for name in SEARCH if getattr(arguments, name) is not None]
        if given:
            raise UsageError(f"--replay shows a saved failure: --{given[0]} does not go with it")
        return _replay(arguments.replay)
    name = arguments.policy or RECOMMENDED.name
    if name not in POLICIES:
        raise unknown("policy", name, list(POLICIES))
    for invariant in arguments.only or ():
        if invariant not in IDS:
            raise unknown("invariant", invariant, list(IDS))
    limits, jobs = _limits(arguments), _jobs(arguments.jobs)
    seed = arguments.seed or 0
    if not 0 <= seed <= MOST_SEED:
        raise UsageError(f"--seed {seed} is illegal; legal: 0 to {MOST_SEED}")
    path = arguments.save or DEFAULT_FILE
    if not path.parent.is_dir() or path.is_dir():
        raise UsageError(f"--save {path} is illegal; legal: a file in an existing folder")
    goal = Goal(POLICIES[name], frozenset(arguments.only or IDS))
    with _progress(name, limits) as progress:
        try:
            result = fuzz(goal, seed, limits, jobs, progress)
        except BrokenProcessPool as error:
            raise UsageError("a worker process was killed; try fewer --jobs") from error
    return _report(name, seed, result, path)


def _limits(arguments: argparse.Namespace) -> Limits:
    seconds, steps = arguments.seconds, arguments.steps
    if seconds is not None:
        if not (math.isfinite(seconds) and seconds > 0):
            raise UsageError(f"--seconds {seconds:g} is not a positive number of seconds")
        return Limits(seconds=seconds)
    if steps is not None and not 1 <= steps <= MOST_STEPS:
        raise UsageError(f"--steps {steps} is illegal; legal: 1 to {MOST_STEPS}")
    return Limits(steps=DEFAULT_STEPS if steps is None else steps)


def _jobs(jobs: int | None) -> int:
    if jobs is None:
        return default_jobs()
    if not 1 <= jobs <= MOST_JOBS:
        raise UsageError(f"--jobs {jobs} is illegal; legal: 1 to {MOST_JOBS}")
    return jobs


@contextmanager
def _progress(policy: str, limits: Limits) -> Iterator[Progress]:
    """A bar on stderr while it is a terminal; silent otherwise."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda steps, seconds: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        timed = math.isfinite(limits.seconds)
        task = bar.add_task("fuzzing", total=limits.seconds if timed else limits.steps)

        def show_progress(steps: int, seconds: float) -> None:
            text = f"fuzzing policy {policy}: {steps:,} steps, nothing found"
            bar.update(task, description=text, completed=seconds if timed else steps)

        yield show_progress


def _report(policy: str, seed: int, result: Result, path: Path) -> int:
    pace = result.num_steps / result.seconds if result.seconds else 0.0
    extent = (
        f"{result.num_steps:,} steps ({result.num_executions:,} random executions), "
        f"{result.seconds:.1f} s, {pace:,.0f} steps/s, seed {seed}"
    )
    if result.found is None or result.shrunk is None or result.shrunk.failure is None:
        print(f"policy {policy}: nothing found in {extent}")
        return EXIT_PROVED
    failure = result.shrunk.failure
    print(show(failure))
    print(f"\npolicy {policy}: {failure.invariant} broken after {extent}")
    sys.stdout.flush()
    save(failure, path)
    print(
        f"shrunk from {result.found.num_steps} steps to {result.shrunk.num_steps}; "
        f"again: python -m proofs fuzz --replay {path}"
    )
    return EXIT_VIOLATED


def _replay(path: Path) -> int:
    failure = load(path)
    try:
        print(show(failure))
    except LacksAnswers as reason:
        raise UsageError(
            f"{path} is damaged, or of another version of the model: {reason}; run fuzz again"
        ) from None
    except NotReproduced as reason:
        print(f"{path} does not fail any more: {reason}")
        return EXIT_PROVED
    return EXIT_VIOLATED
