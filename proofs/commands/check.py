"""``check``: the main job."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from model.policies import POLICIES, RECOMMENDED
from proofs import baseline, campaign
from proofs.campaign import Outcome
from proofs.catalog import unknown
from proofs.commands import confirm, source_target
from proofs.errors import EXIT_PROVED, EXIT_UNDECIDED, EXIT_VIOLATED, UsageError
from proofs.report import github, outputs, terminal, trace_file, verdicts_text
from proofs.report.run import Report
from proofs.verdict import PROVED, UNDECIDED, VIOLATED
from spec.invariants import IDS

EXAMPLES = (
    "examples:\n"
    "  python -m proofs check                     the recommended policy and all known bugs\n"
    "  python -m proofs check --policy 53962      one policy, with counterexamples\n"
    "  python -m proofs check --vllm 0.33.0       a published release\n"
    "  python -m proofs check --vllm 0.32.0 --confirm     and replay on its scheduler object\n"
    "  python -m proofs check --source vllm/v1/core/sched/scheduler.py\n"
    "  python -m proofs check --only progress --format json --output result.json\n"
    "  python -m proofs check --policy 55126 --output sarif=out.sarif junit=out.xml\n"
    "  python -m proofs check --policy 55126 --save-traces traces\n"
    "  python -m proofs check --policy 55126 --baseline accepted.toml\n"
    "\n"
    "exit status: 0 proved, 1 violated, 2 bad input or usage, 3 undecided"
)
STATUS = {PROVED: EXIT_PROVED, VIOLATED: EXIT_VIOLATED, UNDECIDED: EXIT_UNDECIDED}
DEFAULT_TIMEOUT = 600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to check, how long, and where the result goes."""
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--policy", metavar="NAME", help="one padding policy of the model")
    source_target.add_arguments(parser, target)
    parser.add_argument(
        "--only", metavar="ID", action="append", help="one invariant; may be repeated"
    )
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=float,
        default=DEFAULT_TIMEOUT,
        help="seconds for the whole run; what is open then is undecided (default %(default)s)",
    )
    parser.add_argument(
        "--jobs", metavar="N", type=int, help="processes (default: one per core; two have work)"
    )
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        type=Path,
        help="accepted violations, with reasons; an entry that no longer applies fails the run",
    )
    confirm.add_arguments(parser)
    add_output_arguments(parser)


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the result goes."""
    report = parser.add_argument_group("report")
    report.add_argument(
        "--format", choices=tuple(outputs.FORMATS), default="text", help="default: %(default)s"
    )
    report.add_argument(
        "--output",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="write there, not to stdout; FORMAT=FILE writes a further format as well "
        "(json=result.json sarif=result.sarif)",
    )
    report.add_argument(
        "--save-traces",
        metavar="DIR",
        type=Path,
        help="save every counterexample there, for 'trace show'",
    )
    amount = report.add_mutually_exclusive_group()
    amount.add_argument("--quiet", action="store_true", help="say nothing but the verdict")
    amount.add_argument(
        "--verbose",
        action="store_true",
        help="also list the assumptions and waivers used, and tell the progress in a pipe",
    )


def run(arguments: argparse.Namespace) -> int:
    """Check, report, and answer with the exit status."""
    only = _only(arguments.only)
    if not arguments.timeout > 0:  # not "<= 0": a nan is no number of seconds either
        raise UsageError(f"--timeout {arguments.timeout:g} is not a positive number of seconds")
    jobs = campaign.default_jobs() if arguments.jobs is None else arguments.jobs
    if jobs < 1:
        raise UsageError(f"--jobs {jobs} is not a positive number of processes")
    accepted = baseline.load(arguments.baseline) if arguments.baseline else ()
    documents = outputs.parse(arguments.output, arguments.format)
    _make_folder(arguments.save_traces)
    engine = confirm.process(arguments)
    deadline = time.time() + arguments.timeout
    with engine or nullcontext():
        outcome = _outcome(arguments, only, deadline, jobs)
        if engine is not None:
            outcome = confirm.confirmed(outcome, engine, arguments.vllm)
    report = baseline.apply(outcome, accepted)
    publish(report, documents, arguments)
    return STATUS[report.verdict]


def _outcome(arguments: argparse.Namespace, only: list[str], deadline: float, jobs: int) -> Outcome:
    """Check what the arguments name; every kind of target answers with an ``Outcome``."""
    if arguments.source is not None or arguments.vllm is not None:
        return source_target.check(arguments, only)
    return _check_policies(arguments, only, deadline, jobs)


def publish(
    report: Report, documents: tuple[outputs.Output, ...], arguments: argparse.Namespace
) -> None:
    """Write the documents, the traces, and what GitHub shows; print the report."""
    outputs.write(report, documents, arguments.verbose)
    if arguments.save_traces is not None:
        save_traces(report, arguments.save_traces)
    if github.is_actions(os.environ):
        # The runner reads commands from both streams; stdout may carry a document.
        print(*github.workflow_commands(report), sep="\n", file=sys.stderr)
        problem = github.write_summary(report, os.environ)
        if problem:
            print(f"proofs: {problem}", file=sys.stderr)
    if any("=" not in given for given in arguments.output):
        return
    if arguments.format != "text":
        terminal.write(outputs.FORMATS[arguments.format](report, arguments.verbose))
    elif arguments.quiet:
        terminal.show(verdicts_text.summary(report) + "\n")
    else:
        width = terminal.width_of(sys.stdout)
        terminal.show(verdicts_text.render(report, arguments.verbose, width))


def save_traces(report: Report, folder: Path) -> None:
    """One file per counterexample, named after what it breaks."""
    saved: Counter[str] = Counter()
    for obligation in report.outcome.obligations:
        if obligation.trace is not None:
            name = f"{obligation.policy}-{obligation.invariant}-{obligation.mode}"
            safe = re.sub(r"[^\w.-]+", "-", name).strip("-.")
            saved[safe] += 1
            number = f"-{saved[safe]}" if saved[safe] > 1 else ""
            trace_file.save(obligation.trace, folder / f"{safe}{number}.trace.json")


def _make_folder(folder: Path | None) -> None:
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder}: {error.strerror}") from error
    outputs.writable(folder / "trace.json")


def _only(ids: list[str] | None) -> list[str]:
    for name in ids or ():
        if name not in IDS:
            raise unknown("invariant", name, list(IDS))
    return ids or list(IDS)


def _check_policies(
    arguments: argparse.Namespace, only: list[str], deadline: float, jobs: int
) -> Outcome:
    name = arguments.policy
    if name is not None and name not in POLICIES:
        raise unknown("policy", name, list(POLICIES))
    policies = list(POLICIES.values()) if name is None else [POLICIES[name]]
    target = f"policy {name}" if name else f"policy {RECOMMENDED.name} and all known bugs"
    with _progress(arguments) as progress:
        outcome = campaign.run(target, policies, only, deadline, jobs, progress)
    return outcome if name is None else outcome.unexpecting()


@contextmanager
def _progress(arguments: argparse.Namespace) -> Iterator[campaign.Progress]:
    """On stderr: a bar on a terminal, lines elsewhere if asked for, nothing if quiet."""
    console = Console(stderr=True)
    if arguments.quiet or not console.is_terminal:
        yield _lines(time.perf_counter()) if arguments.verbose else lambda *_: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("proving", total=None)

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=f"proved or refuted {what}", completed=done, total=total)

        yield show


def _lines(started: float) -> campaign.Progress:
    def show(what: str, done: int, total: int) -> None:
        seconds = time.perf_counter() - started
        print(f"{seconds:7.1f} s  {done}/{total}  proved or refuted {what}", file=sys.stderr)

    return show
