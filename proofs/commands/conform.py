"""``conform``: the model against the released scheduler object, in lockstep."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from model.policies import POLICIES
from proofs.catalog import unknown
from proofs.conform.campaign import Progress as Tell
from proofs.conform.campaign import Result, compare
from proofs.conform.engine import VARIABLE, EngineDied, EngineProcess, Installation, find
from proofs.conform.findings import findings
from proofs.conform.releases import RELEASES, Release, release_of
from proofs.conform.runner import compare as compare_runner
from proofs.conform.show import show
from proofs.errors import EXIT_PROVED, EXIT_UNDECIDED, EXIT_VIOLATED, UsageError
from proofs.recorder import exercise as script
from proofs.recording.exercise import Died, runner_lines

EXAMPLES = (
    "examples:\n"
    f"  export {VARIABLE}=engine/bin/python      an environment with schedproof[engine]\n"
    "  python -m proofs conform --vllm 0.32.0\n"
    "  python -m proofs conform --vllm 0.29.0 --unpacked wheels/0.29.0 --steps 100000\n"
    "  python -m proofs conform --vllm 0.33.0 --policy 53962    a wrong model: shown, shrunk\n"
    "  python -m proofs conform --vllm 0.32.0 --findings        what check finds, confirmed\n"
    "  python -m proofs conform --vllm 0.32.0 --runner --steps 300    the runner shim\n"
    "\n"
    "Exit status: 0 no difference (every finding confirmed), 1 a difference, 2 bad input, 3 the\n"
    "engine ended before its time."
)
DEFAULT_STEPS = 10_000
MOST_STEPS = 10**9
MOST_RUNNER_STEPS = 1000
"""A whole engine makes some ten steps a second."""
MOST_SEED = 2**64 - 1
FINDINGS_SECONDS = 600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which release, where it is, and how much to compare."""
    parser.add_argument(
        "--vllm",
        metavar="VERSION",
        required=True,
        help=f"the release, 0.{min(RELEASES)}.0 to 0.{max(RELEASES)}.0",
    )
    parser.add_argument("--python", metavar="PATH", help=f"its interpreter (default: ${VARIABLE})")
    parser.add_argument(
        "--unpacked", metavar="DIR", type=Path, help="an unpacked wheel, first on its import path"
    )
    parser.add_argument("--policy", metavar="NAME", help="default: the one of that release")
    parser.add_argument(
        "--steps",
        metavar="N",
        type=int,
        default=DEFAULT_STEPS,
        help="stop after so many steps (default: %(default)s)",
    )
    parser.add_argument("--seed", metavar="X", type=int, default=0, help="default: %(default)s")
    parser.add_argument(
        "--findings",
        action="store_true",
        help="replay every violation check finds for that policy instead",
    )
    parser.add_argument(
        "--runner",
        action="store_true",
        help="compare the runner shim with the real runner of a tiny engine instead",
    )


def run(arguments: argparse.Namespace) -> int:
    """Compare and report."""
    version = arguments.vllm
    release = release_of(version)
    if arguments.policy is not None:
        if arguments.policy not in POLICIES:
            raise unknown("policy", arguments.policy, list(POLICIES))
        release = replace(release, policy=POLICIES[arguments.policy])
    if not 1 <= arguments.steps <= MOST_STEPS:
        raise UsageError(f"--steps {arguments.steps} is illegal; legal: 1 to {MOST_STEPS}")
    if not 0 <= arguments.seed <= MOST_SEED:
        raise UsageError(f"--seed {arguments.seed} is illegal; legal: 0 to {MOST_SEED}")
    if arguments.runner and (arguments.findings or arguments.policy is not None):
        extra = "--findings" if arguments.findings else "--policy"
        raise UsageError(f"--runner asks no scheduler: leave out {extra}")
    installation = find(arguments.python, arguments.unpacked)
    if arguments.runner:
        return _runner(
            installation, version, min(arguments.steps, MOST_RUNNER_STEPS), arguments.seed
        )
    try:
        with EngineProcess(installation, version) as engine:
            if arguments.findings:
                return _findings(release, engine, version)
            started = time.perf_counter()
            with _progress(version, arguments.steps) as tell:
                result = compare(release, engine, arguments.seed, arguments.steps, tell)
    except EngineDied as reason:
        raise UsageError(f"the engine's process ended: {reason}", EXIT_UNDECIDED) from reason
    return _report(release, version, arguments.seed, result, time.perf_counter() - started)


@contextmanager
def _progress(version: str, num_steps: int) -> Iterator[Tell]:
    """A bar on stderr while it is a terminal; silent otherwise."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda steps: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(f"vLLM {version}", total=num_steps)
        yield lambda steps: bar.update(
            task, description=f"vLLM {version}: {steps:,} steps, no difference", completed=steps
        )


def _report(release: Release, version: str, seed: int, result: Result, seconds: float) -> int:
    """Counts by mode and drafts, what was met on the way, and the first difference."""
    if result.found is not None:
        execution, found = result.found
        print(show(execution, found, release.policy.name, version))
        print()
    rows = [("mode", "K", "steps")]
    rows += [(mode, str(k), f"{n:,}") for (mode, k), n in sorted(result.steps.items())]
    for mode, drafts, steps in rows:
        print(f"  {mode:<6} {drafts:>2} {steps:>10}")
    print(f"\n  steps with {_listed(result.steps_with)}")
    print(f"  met: {_listed(result.met)}\n")
    extent = (
        f"{result.num_steps:,} steps, {result.num_calls:,} calls, "
        f"{result.num_executions:,} executions, {seconds:.0f} s, seed {seed}"
    )
    verdict = "DIFFERENT" if result.found is not None else "no difference"
    print(f"model (policy {release.policy.name}) and vLLM {version}: {verdict} in {extent}")
    return EXIT_PROVED if result.found is None else EXIT_VIOLATED


def _runner(installation: Installation, version: str, steps: int, seed: int) -> int:
    """The shim against the real runner, sync and async."""
    unlike = 0
    for asynchronous in (False, True):
        mode = "async" if asynchronous else "sync"
        told = script.DEFAULTS | {"steps": steps, "seed": seed, "async": asynchronous}
        try:
            given = runner_lines(installation, version, told)
        except Died as reason:
            raise UsageError(f"the engine cannot run: {reason}", EXIT_UNDECIDED) from reason
        compared = compare_runner(script.config(told), given)
        if compared is None:
            raise UsageError("the engine ended before its time", EXIT_UNDECIDED)
        unlike += len(compared.unlike)
        print(f"{mode}: {_listed(compared.batches)}")
        for name, numbers in sorted(compared.numbers.items()):
            print(f"  {name:<32} {numbers:>9,} the same")
        for line in compared.unlike:
            print(f"  DIFFERENT {line}")
    verdict = "DIFFERENT" if unlike else "no difference"
    print(f"runner shim and the runner of vLLM {version}: {verdict}")
    return EXIT_VIOLATED if unlike else EXIT_PROVED


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in sorted(counts.items())) or "nothing"


def _findings(release: Release, engine: EngineProcess, version: str) -> int:
    """Print the table finding × confirmed."""
    confirmed = total = 0
    print(f"policy {release.policy.name} on vLLM {version}\n")
    for finding in findings(release, engine, time.time() + FINDINGS_SECONDS):
        total += 1
        confirmed += finding.confirmed
        mark = "confirmed" if finding.confirmed else "NOT CONFIRMED"
        print(f"  {finding.invariant:<24} {finding.mode:<6} {mark}: {finding.why}")
        if finding.sentence:
            print(f"  {'':<24} {'':<6} {finding.sentence}")
        sys.stdout.flush()
    print(f"\n{confirmed} of {total} findings confirmed on the released scheduler object")
    return EXIT_PROVED if confirmed == total else EXIT_VIOLATED
