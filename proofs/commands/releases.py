"""``releases``: which release keeps which invariant, and the line behind each violation."""

from __future__ import annotations

import argparse
import sys

from proofs.campaign import default_jobs
from proofs.errors import EXIT_PROVED, EXIT_UNDECIDED, EXIT_VIOLATED, UsageError
from proofs.source.fetch import PADDED
from proofs.source.releases import Matrix, releases_matrix
from proofs.verdict import UNDECIDED, VIOLATED

EXAMPLES = (
    "examples:\n"
    "  python -m proofs releases                          every release that pads\n"
    "  python -m proofs releases --versions 0.29.0 0.33.0\n"
    "  python -m proofs releases --one-step               one step from any state: faster\n"
    "  python -m proofs check --vllm 0.25.0               one release, with the executions\n"
    "\n"
    "VIOLATED :819 names the line of scheduler.py behind the violation; `sync` or `async` after\n"
    "it: only under that scheduling.  Releases are fetched once, by pip, and cached.\n"
    "exit status: 0 all proved, 1 violated, 3 undecided or a release could not be checked"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which releases, and how thoroughly."""
    parser.add_argument(
        "--versions",
        metavar="VERSION",
        nargs="+",
        action="extend",
        help=f"default: {PADDED[0]} to {PADDED[-1]}",
    )
    parser.add_argument(
        "--one-step",
        action="store_true",
        help="one step over one running and one waiting request, not the whole loop",
    )
    parser.add_argument(
        "--jobs", metavar="N", type=int, help="processes (default: one per usable core)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Check, print the matrix, and answer with the exit status."""
    versions = tuple(dict.fromkeys(arguments.versions or PADDED))
    jobs = default_jobs() if arguments.jobs is None else arguments.jobs
    if jobs < 1:
        raise UsageError(f"--jobs {jobs} is not a positive number of processes")
    done: list[str] = []

    def progress(version: str) -> None:
        done.append(version)
        print(f"checked {version} ({len(done)} of {len(versions)})", file=sys.stderr, flush=True)

    matrix = releases_matrix(versions, jobs, whole_loop=not arguments.one_step, progress=progress)
    if not matrix.reports:
        _, why, status = matrix.failures[0]
        raise UsageError(why, status)
    print("\n".join(matrix.lines()))
    for report in matrix.reports:
        open_ones = dict.fromkeys(f.reason for f in report.findings if f.verdict == UNDECIDED)
        for said in (report.rejected, *report.notes, *(f"undecided: {why}" for why in open_ones)):
            if said:
                print(f"{report.target}: {said}")
        if report.dropped:
            print(f"{report.target}: clauses not kept: {', '.join(report.dropped)}")
    for _, why, _ in matrix.failures:
        print(f"proofs: {why}", file=sys.stderr)
    return _status(matrix)


def _status(matrix: Matrix) -> int:
    verdicts = {report.verdict for report in matrix.reports}
    if VIOLATED in verdicts:
        return EXIT_VIOLATED
    clear = all(report.exit_status == EXIT_PROVED for report in matrix.reports)
    return EXIT_PROVED if clear and not matrix.failures else EXIT_UNDECIDED
