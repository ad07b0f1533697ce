"""Checking published releases, and the matrix of release against invariant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from proofs.source.errors import SourceError
from proofs.source.fetch import PADDED, SCHEDULER, base_texts, fetch_release
from proofs.source.inputs import read_source
from proofs.source.sandbox import Job, Limit, check_in_sandbox
from proofs.source.verdicts import Finding, SourceReport
from proofs.verdict import MODES, PROVED, UNDECIDED, VIOLATED
from spec.invariants import IDS

REACH_PATHS = 3_000
"""How long to look for an execution behind each violation."""


def check_release(
    version: str,
    *,
    whole_loop: bool = False,
    modes: Sequence[str] = MODES,
    limit: Limit | None = None,
    reach_paths: int = REACH_PATHS,
    at_once: bool = True,
) -> SourceReport:
    """Fetch a release and check it; each violation with a real execution if one is found.

    Raises:
        SourceError: the release cannot be fetched.
    """
    release = fetch_release(version)
    name = f"vLLM {version}"
    job = Job(release.texts, name, version, whole_loop, tuple(modes), reach_paths=reach_paths)
    return check_in_sandbox(job, limit, at_once=at_once)


def check_given(
    given: str,
    *,
    whole_loop: bool = False,
    modes: Sequence[str] = MODES,
    limit: Limit | None = None,
    profile: str = "",
    base: str | None = None,
    reach_paths: int = REACH_PATHS,
) -> SourceReport:
    """Check what ``--source`` names: a file, a checkout, or ``REV:path``.

    ``base``: the release whose scheduler the source's own derives from.

    Raises:
        SourceError: nothing readable there, or no scheduler.
    """
    source = read_source(given)
    job = Job(
        source.texts,
        source.name,
        base,
        whole_loop,
        tuple(modes),
        profile,
        base_texts(base) if base else (),
        reach_paths,
    )
    return check_in_sandbox(job, limit)


@dataclass(frozen=True, slots=True)
class Matrix:
    """Release × invariant: the findings, and why a release is missing."""

    reports: tuple[SourceReport, ...]
    failures: tuple[tuple[str, str, int], ...]
    """(version, why it could not be checked, exit status of that)."""

    def cell(self, version: str, invariant: str) -> str:
        """One cell as text: ``ok``, ``VIOLATED :819``, ``undecided`` or ``-``."""
        report = next((r for r in self.reports if r.version == version), None)
        found = [f for f in report.findings if f.invariant == invariant] if report else []
        return _cell(found)

    def lines(self) -> list[str]:
        """The matrix as lines of text, violated cells with the source line behind them."""
        versions = [report.version or report.target for report in self.reports]
        width = max(map(len, IDS)) + 2
        cells = {v: {i: self.cell(v, i) for i in IDS} for v in versions}
        columns = {v: max([len(v), *map(len, cells[v].values())]) + 2 for v in versions}
        head = "".ljust(width) + "".join(v.ljust(columns[v]) for v in versions)
        rows = [
            i.ljust(width) + "".join(cells[v][i].ljust(columns[v]) for v in versions) for i in IDS
        ]
        return [head.rstrip(), *(row.rstrip() for row in rows)]


def _cell(findings: Iterable[Finding]) -> str:
    """The worst of both scheduling modes; which mode, if only one is violated."""
    found = list(findings)
    violated = [f for f in found if f.verdict == VIOLATED]
    if violated:
        lines = ",".join(dict.fromkeys(_place(f) for f in sorted(violated, key=_order)))
        modes = {f.mode for f in violated}
        only = f" {violated[0].mode}" if modes != {f.mode for f in found} else ""
        return f"VIOLATED {lines}{only}"
    if any(f.verdict == UNDECIDED for f in found):
        return UNDECIDED
    return "ok" if any(f.verdict == PROVED for f in found) else "-"


def _order(finding: Finding) -> tuple[bool, int]:
    return not _place(finding).startswith(":"), finding.line or 0


def _place(finding: Finding) -> str:
    """The line behind a violation; with its file where that is not the scheduler's own."""
    source = finding.trace.source if finding.trace is not None else None
    file = SCHEDULER if source is None else str(source["file"])
    return f"{'' if file == SCHEDULER else file}:{finding.line or '?'}"


def releases_matrix(
    versions: Sequence[str] = PADDED,
    jobs: int = 2,
    *,
    whole_loop: bool = True,
    reach_paths: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Matrix:
    """Check many releases, each in a process of its own, ``jobs`` at a time.

    The later a release the longer it takes: late ones come first, and the one that is left when the
    others end is spread over the processors, with a process for each scheduling mode.
    """
    order = tuple(reversed(dict.fromkeys(versions)))

    def one(version: str) -> SourceReport | tuple[str, str, int]:
        spread = jobs > 1 and version == order[-1]
        try:
            report = check_release(
                version, whole_loop=whole_loop, reach_paths=reach_paths, at_once=spread
            )
        except SourceError as error:
            return version, str(error), error.status
        if progress is not None:
            progress(version)
        return report

    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        found = dict(zip(order, pool.map(one, order), strict=True))
    results = [found[version] for version in versions]
    return Matrix(
        tuple(r for r in results if isinstance(r, SourceReport)),
        tuple(r for r in results if not isinstance(r, SourceReport)),
    )
