"""Checking one source: load it, explore it, report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import perf_counter

from proofs.source.entries import ABORTS, USUAL
from proofs.source.errors import Rejected, Unprofiled
from proofs.source.loader import Text, load
from proofs.source.profile import profile_for
from proofs.source.proving.induct import check_mode
from proofs.source.proving.reach import with_executions
from proofs.source.runs.bookings import MOST_SAMPLED
from proofs.source.runs.scenarios import one_step, whole_loop
from proofs.source.verdicts import Finding, SourceReport, undecided
from proofs.symbolic import Ground, Limits
from proofs.verdict import ASYNC, MODES, Statistics

ONE_STEP_SCOPE = (
    "one step over one running and one waiting request from any state of the request invariant, "
    "every legal configuration without priorities, KV connector and Mamba alignment; "
    "{mode} scheduling"
)
LOOP_SCOPE = (
    "every execution: add_request(), schedule(), _update_after_schedule(), update_from_output(), "
    "{aborts}and _preempt_request() keep the invariant for any number of requests; every legal "
    "configuration of the features in scope, with priorities, KV connector and Mamba alignment one "
    "at a time and in the crossings listed in proofs/source/README.md; at most {sampled} tokens "
    "returned per request and step; {mode} scheduling"
)


def check_source(
    texts: Iterable[Text],
    name: str,
    version: str | None = None,
    *,
    whole_loop_too: bool = False,
    modes: Iterable[str] = MODES,
    limits: Limits | None = None,
    profile: str = "",
    base: Iterable[Text] = (),
    reach_paths: int = 0,
    grounds: Mapping[str, Ground] | None = None,
) -> SourceReport:
    """Check a scheduler from its text alone; nothing of it is imported.

    Args:
        texts: the scheduler's file, then its siblings (``async_scheduler.py`` and ``utils.py`` if
            they are there); a later file may import what an earlier one defines.
        name: how the report calls the source.
        version: the release it comes from, if it is one; selects the profile's rows.
        whole_loop_too: prove the whole loop inductively instead of one step.
        limits: bounds on paths and seconds of each exploration.
        profile: further profile lines, in the table's format.
        base: the texts it derives from, if they are others than its own.
        reach_paths: among how many paths to look, for each violation, for an execution of it.
        grounds: of each scheduling mode, what is known beforehand; by default nothing.

    Raises:
        SourceError: the text is no scheduler, or does not load.
    """
    started = perf_counter()
    limits = limits or Limits(paths=20_000, seconds=120)
    base, grounds = tuple(base), grounds or {}
    label = None if base else version
    try:
        loaded = load(texts, profile_for(version, profile), base)
    except Rejected as refusal:
        return SourceReport(name, label, (), Statistics(), rejected=str(refusal))
    except Unprofiled as unknown:
        return undecided(name, label, modes, str(unknown.gap), (unknown.gap,))
    findings: list[Finding] = []
    dropped: dict[str, None] = {}
    notes = [f"derived from vLLM {version}"] if base and version else []
    statistics = Statistics()
    has_aborts = ABORTS in loaded.mentioned
    if whole_loop_too and not has_aborts:
        notes.append(f"no {ABORTS}: a client that aborts was not run")
    for mode in modes:
        if mode not in loaded.schedulers:
            notes.append(f"no {USUAL[mode]}: {mode} scheduling was not checked")
            continue
        overlap = mode == ASYNC
        tasks = whole_loop(overlap, loaded.mentioned) if whole_loop_too else one_step(overlap)
        scope = (LOOP_SCOPE if whole_loop_too else ONE_STEP_SCOPE).format(
            mode=mode, sampled=MOST_SAMPLED, aborts=f"{ABORTS}() " if has_aborts else ""
        )
        try:
            found, without, cost = check_mode(
                loaded, tasks, scope, limits, whole_loop_too, grounds.get(mode)
            )
        except Rejected as refusal:
            return SourceReport(name, label, (), statistics, rejected=str(refusal))
        findings += with_executions(loaded, found, reach_paths) if reach_paths else found
        dropped |= dict.fromkeys(f"{clause} ({mode})" for clause in without)
        statistics += cost
    total = Statistics(
        perf_counter() - started, statistics.paths, statistics.queries, statistics.solver_seconds
    )
    return SourceReport(name, label, tuple(findings), total, tuple(dropped), notes=tuple(notes))
