"""The targets of ``check`` that are a scheduler's text: ``--source`` and ``--vllm``."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from proofs.campaign import Outcome
from proofs.errors import UsageError
from proofs.report.from_source import outcome_of
from proofs.source.errors import SourceError
from proofs.source.fetch import base_texts, fetch_release
from proofs.source.inputs import Source, read_profile, read_source
from proofs.source.releases import REACH_PATHS
from proofs.source.sandbox import Job, Limit, check_in_sandbox
from proofs.verdict import MODES


def add_arguments(
    parser: argparse.ArgumentParser, target: argparse._MutuallyExclusiveGroup
) -> None:
    """What names a source, and how much of its loop is checked."""
    target.add_argument(
        "--source",
        metavar="PATH",
        help="a scheduler's file, a checkout, or REV:path in a git checkout; never imported",
    )
    target.add_argument(
        "--vllm", metavar="VERSION", help="a published release, fetched by pip and cached"
    )
    parser.add_argument(
        "--one-step",
        action="store_true",
        help="of a source, check one step of schedule() only, not the whole loop: faster",
    )
    parser.add_argument(
        "--base", metavar="VERSION", help="the release that a source's own scheduler derives from"
    )
    parser.add_argument(
        "--profile", metavar="FILE", type=Path, help="further rows for the environment profile"
    )


def check(arguments: argparse.Namespace, only: list[str]) -> Outcome:
    """Check the named source in a sandbox.

    Raises:
        UsageError: nothing readable there, no scheduler, or a text the gate refuses.
    """
    try:
        source, version = _named(arguments)
        job = Job(
            source.texts,
            source.name,
            version or arguments.base,
            not arguments.one_step,
            MODES,
            read_profile(arguments.profile),
            base_texts(arguments.base) if arguments.base else (),
            REACH_PATHS,
        )
        report = check_in_sandbox(job, Limit(max(1, int(arguments.timeout)), arguments.timeout))
    except SourceError as error:
        raise UsageError(str(error), error.status) from error
    if report.rejected:
        raise UsageError(report.rejected)
    if not arguments.quiet:
        unkept = [f"clauses not kept: {', '.join(report.dropped)}"] if report.dropped else []
        for note in (*report.notes, *unkept):
            print(f"proofs: note: {note}", file=sys.stderr)
    outcome = outcome_of(report, source.texts, _again(arguments), source.path_of)
    wanted = tuple(o for o in outcome.obligations if o.invariant in only)
    return replace(outcome, obligations=wanted)


def _again(arguments: argparse.Namespace) -> str:
    """The options that name the source, for who wants to see a counterexample again."""
    given = {name: getattr(arguments, name) for name in ("vllm", "source", "base", "profile")}
    return " ".join(f"--{n} {shlex.quote(str(v))}" for n, v in given.items() if v is not None)


def _named(arguments: argparse.Namespace) -> tuple[Source, str | None]:
    """The source meant, and its release if it is one."""
    if arguments.vllm is not None:
        release = fetch_release(arguments.vllm)
        return Source(f"vLLM {arguments.vllm}", release.texts), arguments.vllm
    return read_source(arguments.source), None
