"""What was found out about a source, as the outcome every report reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from proofs.campaign import Outcome
from proofs.report.excerpts import with_excerpts
from proofs.source.loader import Text
from proofs.source.verdicts import REACHABLE, Finding, SourceReport
from proofs.trace import Trace
from proofs.verdict import Obligation


def outcome_of(report: SourceReport, texts: Iterable[Text] = (), target: str = "") -> Outcome:
    """One obligation per finding.

    Args:
        report: of a source that was not rejected.
        texts: the source's own text, for the excerpts of its traces.
        target: the arguments of ``check`` that name the source (``--vllm 0.33.0``).
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
            trace=_trace(finding, by_name, report, target),
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
