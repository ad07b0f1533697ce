"""``check``: the main job."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from model.policies import POLICIES, RECOMMENDED
from proofs import campaign
from proofs.campaign import Outcome
from proofs.catalog import unknown
from proofs.errors import EXIT_PROVED, EXIT_UNDECIDED, EXIT_VIOLATED, UsageError
from proofs.report.document import dumps
from proofs.report.files import write_whole
from proofs.report.verdicts_text import policy_report, policy_table, summary
from proofs.verdict import PROVED, UNDECIDED, VIOLATED
from spec.invariants import IDS

EXAMPLES = (
    "examples:\n"
    "  python -m proofs check                     the recommended policy and all known bugs\n"
    "  python -m proofs check --policy 53962      one policy, with counterexamples\n"
    "  python -m proofs check --only progress --format json --output result.json"
)
STATUS = {PROVED: EXIT_PROVED, VIOLATED: EXIT_VIOLATED, UNDECIDED: EXIT_UNDECIDED}
DEFAULT_TIMEOUT = 600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to check, how long, and where the result goes."""
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--policy", metavar="NAME", help="one padding policy of the model")
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
        "--jobs", metavar="N", type=int, help="processes (default: one per usable core)"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write there, not to stdout")
    parser.add_argument(
        "--verbose", action="store_true", help="also list the assumptions and waivers used"
    )


def run(arguments: argparse.Namespace) -> int:
    """Check, report, and answer with the exit status."""
    only = _only(arguments.only)
    if not arguments.timeout > 0:  # not "<= 0": a nan is no number of seconds either
        raise UsageError(f"--timeout {arguments.timeout:g} is not a positive number of seconds")
    jobs = campaign.default_jobs() if arguments.jobs is None else arguments.jobs
    if jobs < 1:
        raise UsageError(f"--jobs {jobs} is not a positive number of processes")
    deadline = time.time() + arguments.timeout
    outcome = _check_policies(arguments.policy, only, deadline, jobs)
    text = dumps(outcome) if arguments.format == "json" else _text(outcome, arguments)
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        write_whole(arguments.output, text)
    return STATUS[outcome.verdict]


def _only(ids: list[str] | None) -> list[str]:
    for name in ids or ():
        if name not in IDS:
            raise unknown("invariant", name, list(IDS))
    return ids or list(IDS)


def _check_policies(name: str | None, only: list[str], deadline: float, jobs: int) -> Outcome:
    if name is not None and name not in POLICIES:
        raise unknown("policy", name, list(POLICIES))
    policies = list(POLICIES.values()) if name is None else [POLICIES[name]]
    target = f"policy {name}" if name else f"policy {RECOMMENDED.name} and all known bugs"
    with _progress() as progress:
        outcome = campaign.run(target, policies, only, deadline, jobs, progress)
    return outcome if name is None else outcome.unexpecting()


@contextmanager
def _progress() -> Iterator[campaign.Progress]:
    """A bar on stderr while it is a terminal; silent otherwise."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda what, done, total: None
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


def _text(outcome: Outcome, arguments: argparse.Namespace) -> str:
    lines: list[str]
    if arguments.policy is not None:
        lines = [f"policy {arguments.policy}: {POLICIES[arguments.policy].title}", ""]
        lines += policy_report(outcome.obligations, arguments.verbose)
    else:
        lines = policy_table(outcome.obligations)
        lines += [
            "",
            "ok = proved, BROKEN = violated (replayed), ? = undecided; sync/async where they "
            "differ.",
            "Counterexamples: python -m proofs check --policy NAME",
            "",
            f"policy {RECOMMENDED.name} (recommended) rests on:",
        ]
        recommended = [o for o in outcome.obligations if o.policy == RECOMMENDED.name]
        lines += policy_report(recommended, verbose=True)
    return "\n".join([*lines, "", summary(outcome)]) + "\n"
