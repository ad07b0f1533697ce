"""``diff``: what a change to a scheduler changes, and a proof that the rest is as before."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from proofs.errors import UsageError
from proofs.report import terminal
from proofs.source.errors import SourceError
from proofs.source.fetch import base_texts, fetch_release
from proofs.source.inputs import Source, read_profile, read_source
from proofs.source.sandbox import Pair, diff_in_sandbox

EXAMPLES = (
    "examples:\n"
    "  python -m proofs diff 0.29.0 0.30.0              two releases\n"
    "  python -m proofs diff 0.33.0 ~/vllm              a release and a checkout\n"
    "  python -m proofs diff HEAD~1:vllm/v1/core/sched/scheduler.py \\\n"
    "                        vllm/v1/core/sched/scheduler.py\n"
    "\n"
    "Both run on the same symbolic inputs: each class of states on which they schedule\n"
    "differently is shown with its smallest example; whatever is not listed is proved equal.\n"
    "What was changed and is run by nobody here is listed by name: nothing is known of it.\n"
    "exit status: 0 proved equal, 1 different, 2 bad input or usage, 3 undecided"
)
VERSION = re.compile(r"\d+\.\d+(\.\d+)?[a-z0-9.+]*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The two schedulers."""
    kinds = "a release (0.33.0), a file, a checkout, or REV:path in a git checkout"
    parser.add_argument("old", metavar="OLD", help=kinds)
    parser.add_argument("new", metavar="NEW", help="the same")
    parser.add_argument(
        "--base", metavar="VERSION", help="the release that a file's own scheduler derives from"
    )
    parser.add_argument(
        "--profile", metavar="FILE", type=Path, help="further rows for the environment profile"
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="default: %(default)s"
    )


def run(arguments: argparse.Namespace) -> int:
    """Compare, print, and answer with the exit status."""
    try:
        (old, before), (new, after) = _named(arguments.old), _named(arguments.new)
        pair = Pair(
            old.texts,
            new.texts,
            (old.name, new.name),
            (before, after),
            profile=read_profile(arguments.profile),
            base=base_texts(arguments.base) if arguments.base else (),
        )
        report = diff_in_sandbox(pair)
    except SourceError as error:
        raise UsageError(str(error), error.status) from None
    if arguments.format == "json":
        terminal.write(
            json.dumps({"schema": 1} | report.to_json(), indent=2, ensure_ascii=False) + "\n"
        )
    else:
        terminal.show("\n".join(report.lines()) + "\n")
    return report.exit_status


def _named(given: str) -> tuple[Source, str | None]:
    """The texts meant by an argument, and their release if it names one."""
    if VERSION.fullmatch(given):
        return Source(f"vLLM {given}", fetch_release(given).texts), given
    return read_source(given), None
