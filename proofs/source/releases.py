"""Checking published releases, and the matrix of release against invariant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from threading import Lock

from proofs.source.errors import SourceError
from proofs.source.fetch import PADDED, SCHEDULER, base_texts, fetch_release
from proofs.source.inputs import read_source
from proofs.source.sandbox import Job, Limit, Relay, check_in_sandbox
from proofs.source.verdicts import Finding, SourceReport, joined
from proofs.verdict import ASYNC, MODES, PROVED, SYNC, UNDECIDED, VIOLATED
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
) -> SourceReport:
    """Fetch a release and check it; each violation with a real execution if one is found.

    Raises:
        SourceError: the release cannot be fetched.
    """
    return check_in_sandbox(_job(version, whole_loop, tuple(modes), reach_paths), limit)


def _job(version: str, whole_loop: bool, modes: tuple[str, ...], reach_paths: int) -> Job:
    texts, name = fetch_release(version).texts, f"vLLM {version}"
    return Job(texts, name, version, whole_loop, modes, reach_paths=reach_paths)


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
    """Check many releases, each in processes of its own, ``jobs`` at a time.

    Neighbouring releases raise the same questions, so they are checked in rows, the
    latest first: what was proved of numbers is proved.  Which proof of a promise is found
    first may depend on the others then, and so which assumptions it names; its verdict does not.
    """
    failures: dict[str, tuple[str, str, int]] = {}
    tasks: dict[str, Job] = {}
    for version in sorted(dict.fromkeys(versions), key=versions.index, reverse=True):
        try:
            tasks[version] = _job(version, whole_loop, MODES, reach_paths)
        except SourceError as error:
            failures[version] = version, str(error), error.status
    parts: dict[str, list[SourceReport]] = {version: [] for version in tasks}
    rows = _rows(list(tasks), jobs)
    due = Counter(version for row in rows for version, _ in row)
    one_by_one = Lock()

    def follow(row: _Row, relay: Relay) -> None:
        for number, found in relay:
            version, _ = row[number]
            with one_by_one:
                if isinstance(found, SourceError):
                    failures[version] = version, str(found), found.status
                    continue
                parts[version].append(found)
                if progress is not None and len(parts[version]) == due[version]:
                    progress(version)

    with ThreadPoolExecutor(max_workers=len(rows)) as pool, ExitStack() as stack:
        relays = [
            Relay([replace(tasks[v], modes=modes) for v, modes in row], None, jobs // len(rows))
            for row in rows
        ]
        for relay in relays:
            stack.enter_context(relay)
        list(pool.map(follow, rows, relays))
    return Matrix(
        tuple(_both(parts[v]) for v in versions if v in parts and v not in failures),
        tuple(failures[v] for v in versions if v in failures),
    )


_Row = list[tuple[str, tuple[str, ...]]]
"""Releases, and the modes to check them in, one after the other."""
_FOR_THE_OTHER = 7
"""Of so many releases checked async, which takes a third longer, one is left to the other row."""


def _rows(versions: list[str], jobs: int) -> list[_Row]:
    """What is checked in a row: all, or two rows that take about as long."""
    if jobs == 1:
        return [[(version, MODES) for version in versions]]
    slow: _Row = [(version, (ASYNC,)) for version in versions]
    quick: _Row = [(version, (SYNC,)) for version in versions]
    kept = len(slow) - len(slow) // _FOR_THE_OTHER
    return [quick + slow[kept:], slow[:kept]]


def _both(parts: list[SourceReport]) -> SourceReport:
    """The modes of a release in one report, in the order of reports."""
    return joined(sorted(parts, key=lambda part: [MODES.index(f.mode) for f in part.findings]))
