"""The result of checking one source, as data: what a report prints and a pipe carries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from proofs.source.errors import Gap
from proofs.trace import RequestLine, Trace, TraceStep, Violation
from proofs.verdict import PROVED, UNDECIDED, VIOLATED, Statistics
from spec.invariants import IDS

REACHABLE = "reachable"
"""A real execution from ``add_request`` was found and replayed."""
NOT_SHOWN = "not shown reachable"
"""The bounded search found none; the arbitrary state may not occur."""

WORST_FIRST = (VIOLATED, UNDECIDED, PROVED)


@dataclass(frozen=True, slots=True)
class Finding:
    """One invariant on one source under one scheduling mode."""

    invariant: str
    mode: str
    verdict: str
    scope: str
    trace: Trace | None = None
    reachability: str = ""
    reason: str = ""
    """Why it is undecided."""
    assumptions: tuple[str, ...] = ()
    waivers: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    site: str = ""
    """The statement that raises (``no-reachable-assert`` only); empty: any statement not named by
    another finding."""
    also: tuple[str, ...] = ()
    """Other lines at which it is violated, each with a run in which it is."""

    @property
    def line(self) -> int | None:
        """The source line behind a violation."""
        return self.trace.source["line"] if self.trace and self.trace.source else None


@dataclass(frozen=True, slots=True)
class SourceReport:
    """Everything that was found out about one source."""

    target: str
    version: str | None
    findings: tuple[Finding, ...]
    statistics: Statistics
    dropped: tuple[str, ...] = ()
    """Inductive clauses the source does not keep: proofs do without them."""
    rejected: str = ""
    """Why the gate refused the source, or what it was caught at; then there are no findings."""
    notes: tuple[str, ...] = field(default=())

    @property
    def verdict(self) -> str:
        """The worst of all: violated, then undecided, then proved."""
        if self.rejected:
            return UNDECIDED
        seen = {finding.verdict for finding in self.findings}
        if not seen:
            return UNDECIDED
        return next(v for v in WORST_FIRST if v in seen)

    @property
    def exit_status(self) -> int:
        """0 proved, 1 violated, 2 rejected, 3 undecided."""
        return 2 if self.rejected else {PROVED: 0, VIOLATED: 1, UNDECIDED: 3}[self.verdict]

    def finding(self, invariant: str, mode: str) -> Finding | None:
        """One cell of the matrix: the worst of its findings."""
        found = [f for f in self.findings if (f.invariant, f.mode) == (invariant, mode)]
        return min(found, key=lambda f: WORST_FIRST.index(f.verdict), default=None)

    def to_json(self) -> dict[str, Any]:
        """Plain data, for ``json.dumps``."""
        data = asdict(self)
        data["verdict"] = self.verdict
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> SourceReport:
        """Read what ``to_json`` wrote (and a pipe carried).

        Raises:
            KeyError, TypeError: not such data.
        """
        return cls(
            target=str(data["target"]),
            version=data["version"],
            findings=tuple(_finding(found) for found in data["findings"]),
            statistics=Statistics(**data["statistics"]),
            dropped=tuple(data["dropped"]),
            rejected=str(data["rejected"]),
            notes=tuple(data["notes"]),
        )


def undecided(
    name: str, version: str | None, modes: Iterable[str], reason: str, gaps: tuple[Gap, ...] = ()
) -> SourceReport:
    """Nothing can be said about any invariant, for one reason."""
    findings = tuple(
        Finding(invariant, mode, UNDECIDED, "", reason=reason, gaps=gaps)
        for mode in modes
        for invariant in IDS
    )
    return SourceReport(name, version, findings, Statistics())


def joined(reports: Sequence[SourceReport]) -> SourceReport:
    """Reports about several scheduling modes of one source as one; one refusal refuses all."""
    first, *others = reports
    refused = next((report.rejected for report in reports if report.rejected), "")
    if refused or not others:
        return replace(first, findings=() if refused else first.findings, rejected=refused)
    cost = sum((report.statistics for report in others), first.statistics)
    return replace(
        first,
        findings=tuple(finding for report in reports for finding in report.findings),
        statistics=replace(cost, seconds=max(r.statistics.seconds for r in reports)),
        dropped=tuple(clause for report in reports for clause in report.dropped),
        notes=tuple(dict.fromkeys(note for report in reports for note in report.notes)),
    )


def _made(cls: Any, data: dict[str, Any], **inner: Any) -> Any:
    """A record from its JSON form: lists back to tuples, inner records as given."""
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    return cls(**plain | inner)


def _finding(data: dict[str, Any]) -> Finding:
    gaps = tuple(Gap(**gap) for gap in data["gaps"])
    found: Finding = _made(Finding, data, gaps=gaps, trace=_trace(data["trace"]))
    return found


def _trace(data: dict[str, Any] | None) -> Trace | None:
    if data is None:
        return None
    made: Trace = _made(Trace, data, steps=tuple(_step(step) for step in data["steps"]))
    return made


def _step(data: dict[str, Any]) -> TraceStep:
    broken = data["violated"]
    step: TraceStep = _made(
        TraceStep,
        data,
        requests=tuple(_made(RequestLine, line) for line in data["requests"]),
        violated=_made(Violation, broken) if broken is not None else None,
    )
    return step
