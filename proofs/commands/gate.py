"""``gate``: what a pull request or a commit hook runs on a changed scheduler."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from proofs.errors import EXIT_PROVED, EXIT_UNDECIDED, EXIT_USAGE, EXIT_VIOLATED, UsageError

EXAMPLES = (
    "examples:\n"
    "  python -m proofs gate vllm/v1/core/sched/scheduler.py\n"
    "  python -m proofs gate --base HEAD FILE          against the last commit, as the hook does\n"
    "  python -m proofs gate --base origin/main --baseline accepted.toml FILE\n"
    "\n"
    "It checks the file (check --source) and, with --base, shows what changed against the\n"
    "merge base (diff).  The status is the worst of all: 2, then 1, then 3, then 0."
)
WORST_FIRST = (EXIT_USAGE, EXIT_VIOLATED, EXIT_UNDECIDED)
SCHEDULER = "scheduler.py"
SIBLINGS = ("async_scheduler.py",)
"""Files a scheduler is loaded with: a change in one is a change of the scheduler."""
GIT_SECONDS = 30
HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""What git tells a hook, and would believe more than the folder it is asked about."""

Run = Callable[[Sequence[str]], int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The changed files, and what to compare with."""
    parser.add_argument("files", metavar="FILE", nargs="*", help="a changed scheduler source")
    parser.add_argument("--base", metavar="REF", help="compare with the merge base with REF")
    parser.add_argument("--baseline", metavar="FILE", help="accepted violations (see check)")
    parser.add_argument("--timeout", metavar="S", help="seconds for each check")
    parser.add_argument(
        "--output", metavar="FORMAT=FILE", nargs="+", action="extend", default=[], help="see check"
    )


def run(arguments: argparse.Namespace) -> int:
    """Check every scheduler among the files, and compare each with its base."""
    from proofs.cli import main

    return gate(arguments, main)


def gate(arguments: argparse.Namespace, command: Run) -> int:
    """The work, with the command line as a parameter."""
    # An option that takes several values also takes the files behind it.
    documents = [given for given in arguments.output if "=" in given]
    files = schedulers([given for given in arguments.output if "=" not in given] + arguments.files)
    if not files:
        raise UsageError("name the changed scheduler sources")
    if documents and len(files) > 1:
        raise UsageError(f"--output takes one scheduler at a time, not {len(files)}")
    statuses = []
    for file in files:
        options = [] if arguments.baseline is None else ["--baseline", arguments.baseline]
        options += [] if arguments.timeout is None else ["--timeout", arguments.timeout]
        options += ["--output", *documents] if documents else []
        statuses.append(command(["check", "--source", str(file), *options]))
        before = None if arguments.base is None else base_of(file, arguments.base)
        if before is not None:
            print(f"\nagainst {before}:", flush=True)
            # What the change itself breaks is told, but check has decided: diff adds bad input.
            compared = command(["diff", before, str(file)])
            statuses.append(compared if compared == EXIT_USAGE else EXIT_PROVED)
    return next((status for status in WORST_FIRST if status in statuses), EXIT_PROVED)


def schedulers(files: Sequence[str]) -> list[Path]:
    """The schedulers the changed files belong to, each once."""
    found: dict[Path, None] = {}
    for name in files:
        path = Path(name)
        beside = path.with_name(SCHEDULER)
        found[beside if path.name in SIBLINGS and beside.is_file() else path] = None
    return list(found)


def base_of(file: Path, reference: str) -> str | None:
    """``REV:path`` of the file at the merge base; None where it did not exist yet.

    Raises:
        UsageError: no such reference, or no common history.
    """
    if reference.startswith("-"):
        raise UsageError(f"--base {reference} is not a git reference")
    status, prefix = _git(file.parent, "rev-parse", "--show-prefix")
    if status != 0:
        raise UsageError(f"{file} lies in no git checkout: {prefix}")
    inside = f"{prefix}{file.name}"
    is_empty = _git(file.parent, "rev-parse", "--quiet", "--verify", "HEAD")[0] != 0
    revision = "" if is_empty else _merge_base(file.parent, reference)
    if is_empty or _git(file.parent, "cat-file", "-e", f"{revision}:{inside}")[0] != 0:
        print(f"{file} is new: there is nothing to compare it with", file=sys.stderr)
        return None
    return f"{revision}:{inside}"


def _merge_base(folder: Path, reference: str) -> str:
    status, said = _git(folder, "merge-base", reference, "HEAD")
    if status != 0:
        raise UsageError(
            f"no merge base of {reference} and HEAD: {said or 'no common history'}; "
            "fetch the whole history (actions/checkout: fetch-depth: 0)"
        )
    return said.split()[0]


def _git(folder: Path, *arguments: str) -> tuple[int, str]:
    environment = {name: os.environ[name] for name in os.environ if name not in HOOK}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"git {arguments[0]} does not work here: {error}") from error
    said = done.stdout if done.returncode == 0 else done.stderr
    return done.returncode, said.strip()
