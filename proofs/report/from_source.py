"""What was found out about a source, as the outcome every report reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from proofs.campaign import Outcome
from proofs.report.excerpts import with_excerpts
from proofs.source.loader import Text
from proofs.source.verdicts import REACHABLE, Finding, SourceReport
from proofs.trace import Trace
from proofs.verdict import Obligation


def outcome_of(
    report: SourceReport,
    texts: Iterable[Text] = (),
    target: str = "",
    path_of: Callable[[str], str] = str,
) -> Outcome:
    """One obligation per finding.

    Args:
        report: of a source that was not rejected.
        texts: the source's own text, for the excerpts of its traces.
        target: the arguments of ``check`` that name the source (``--vllm 0.33.0``).
        path_of: from the name of a text to the path a report shows.
    """
    by_name = {text.name: text.content for text in texts}
    share = 1 / max(len(report.findings), 1)
    seconds = report.statistics.seconds * share
    statistics = report.statistics.scaled(seconds, share)
    found = tuple(
        Obligation(
            invariant=finding.invariant,
            policy=report.target,
            mode=finding.mode,
            verdict=finding.verdict,
            scope=finding.scope,
            assumptions=finding.assumptions,
            waivers=finding.waivers,
            reason=finding.reason,
            site=finding.site,
            also=finding.also,
            trace=_at(_trace(finding, by_name, report, target), path_of),
            statistics=statistics,
            work=report.statistics,
        )
        for finding in report.findings
    )
    return Outcome(report.target, found, report.statistics.seconds)


def _trace(
    finding: Finding, texts: dict[str, str], report: SourceReport, target: str
) -> Trace | None:
    if finding.trace is None:
        return None
    notes = [*finding.trace.notes]
    if finding.reachability:
        real = finding.reachability == REACHABLE
        notes.append(
            "reachable: a real execution from add_request"
            if real
            else f"it starts from an arbitrary state that is {finding.reachability}"
        )
    if report.version:
        notes.append(f"in vLLM {report.version}")
    told = replace(finding.trace, target=target, notes=tuple(notes))
    return with_excerpts(told, texts)


def _at(trace: Trace | None, path_of: Callable[[str], str]) -> Trace | None:
    """The trace with every file under the path a report shows."""
    if trace is None:
        return None

    def moved(place: dict[str, Any]) -> dict[str, Any]:
        return place | {"file": path_of(str(place["file"]))}

    return replace(
        trace,
        source=None if trace.source is None else moved(trace.source),
        branches=tuple(map(moved, trace.branches)),
        excerpts=tuple(map(moved, trace.excerpts)),
    )
