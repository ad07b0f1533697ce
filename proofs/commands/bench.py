"""``bench``: what checking costs, and how much of it is Z3."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from math import inf

from model.policies import POLICIES, PaddingPolicy
from proofs import campaign
from proofs.report.trace_text import table
from proofs.source.check import check_source
from proofs.source.errors import SourceError
from proofs.source.fetch import fetch_release
from proofs.source.loader import load
from proofs.source.profile import profile_for
from proofs.source.proving.induct import check_mode
from proofs.source.runs.scenarios import two_steps
from proofs.source.runs.shapes import Task as SourceTask
from proofs.source.runs.state import Features
from proofs.symbolic import Limits
from proofs.verdict import Statistics
from spec.invariants import IDS

SOURCES = ("0.25.0", "0.29.0", "0.33.0")
"""The releases whose sources are measured."""
EXAMPLES = "example:\n  python -m proofs bench"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments."""


def run(arguments: argparse.Namespace) -> int:
    """Measure each policy alone, each source, then the whole check, all as a user runs them."""
    rows = [["what", "seconds", "paths", "queries", "Z3 share"]]
    for policy in POLICIES.values():
        rows.append(_checked(f"policy {policy.name}", [policy]))
        print(".", end="", file=sys.stderr, flush=True)
    for version in SOURCES:
        rows.append(_source_row(version))
        print(".", end="", file=sys.stderr, flush=True)
    rows.append(_two_steps_row(SOURCES[-1]))
    rows.append(_checked("check (whole)", list(POLICIES.values())))
    print(file=sys.stderr)
    print("\n".join(table(rows)))
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"\npeak memory: {own // 1024} MB, largest worker {children // 1024} MB")
    return 0


def _checked(what: str, policies: list[PaddingPolicy]) -> list[str]:
    """These policies, both modes side by side."""
    outcome = campaign.run(what, policies, IDS, inf, campaign.default_jobs(), lambda *_: None)
    works = {(o.policy, o.mode): o.work for o in outcome.obligations}
    return _row(what, outcome.seconds, sum(works.values(), Statistics()))


def _source_row(version: str) -> list[str]:
    """One release, one step, both modes; in this process, so without the sandbox's start."""
    what = f"source {version}, one step"
    try:
        texts = fetch_release(version).texts
    except SourceError as error:
        return [what, "-", "-", "-", str(error)]
    started = time.perf_counter()
    report = check_source(texts, version, version)
    return _row(what, time.perf_counter() - started, report.statistics)


def _two_steps_row(version: str) -> list[str]:
    """Two steps in one run under async scheduling, which no check needs: what a step costs more."""
    what = f"source {version}, two steps"
    try:
        loaded = load(fetch_release(version).texts, profile_for(version, ""))
    except SourceError as error:
        return [what, "-", "-", "-", str(error)]
    task = SourceTask("two steps", two_steps, Features(async_scheduling=True))
    started = time.perf_counter()
    _, _, cost = check_mode(loaded, [task], "", Limits(), inductive=False)
    return _row(what, time.perf_counter() - started, cost)


def _row(what: str, seconds: float, total: Statistics) -> list[str]:
    share = total.solver_seconds / total.seconds if total.seconds else 0.0
    return [what, f"{seconds:.2f}", str(total.paths), str(total.queries), f"{share:.0%}"]
