"""``check --confirm``: every counterexample, replayed on the released scheduler object."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from proofs.campaign import Outcome
from proofs.conform.engine import VARIABLE, EngineDied, EngineProcess, find
from proofs.conform.source_findings import confirm_source
from proofs.errors import EXIT_UNDECIDED, UsageError
from proofs.verdict import VIOLATED, Obligation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Whether to confirm, and where the engine is."""
    confirming = parser.add_argument_group("confirm on the released engine")
    confirming.add_argument(
        "--confirm",
        action="store_true",
        help="with --vllm: replay every counterexample on that release's scheduler object",
    )
    confirming.add_argument(
        "--python", metavar="PATH", help=f"the engine's interpreter (default: ${VARIABLE})"
    )
    confirming.add_argument(
        "--unpacked", metavar="DIR", type=Path, help="an unpacked wheel, first on its import path"
    )


def process(arguments: argparse.Namespace) -> EngineProcess | None:
    """The engine to confirm on, asked for before anything is checked; None if nobody asks.

    Raises:
        UsageError: no release is named, or there is no such engine.
    """
    if not arguments.confirm:
        return None
    if arguments.vllm is None:
        raise UsageError(
            "--confirm needs --vllm VERSION: a counterexample is replayed on a release"
        )
    return EngineProcess(find(arguments.python, arguments.unpacked), arguments.vllm)


def confirmed(outcome: Outcome, engine: EngineProcess, version: str) -> Outcome:
    """The outcome, every counterexample marked; the marks are also said on stderr.

    Raises:
        UsageError: the engine died.
    """
    marked: list[Obligation] = []
    for obligation in outcome.obligations:
        trace = obligation.trace
        if obligation.verdict == VIOLATED and trace is not None:
            try:
                found = confirm_source(engine, trace)
            except EngineDied as error:
                raise UsageError(f"the engine ended: {error}", EXIT_UNDECIDED) from error
            mark = "confirmed" if found.confirmed else "NOT CONFIRMED"
            said = f"{mark} on the scheduler object of vLLM {version}: {found.why}"
            print(f"  {found.invariant:<24} {found.mode:<6} {said}", file=sys.stderr)
            obligation = replace(obligation, trace=replace(trace, notes=(*trace.notes, said)))
        marked.append(obligation)
    return replace(outcome, obligations=tuple(marked))
