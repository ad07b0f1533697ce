"""Traces and reports the tests of the renderings share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from proofs.campaign import Outcome
from proofs.report import trace_file
from proofs.report.excerpts import with_excerpts
from proofs.report.run import Report
from proofs.trace import RequestLine, Trace, TraceStep, Violation, config_to_json
from proofs.verdict import PROVED, UNDECIDED, VIOLATED, Obligation
from spec.config import Config

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
SCHEMAS = Path(__file__).parent / "schemas"
HOSTILE = '<script>alert(1)</script> & "quotes" | `ticks` @all ]]> ::error::x'
FILE = "vllm/v1/core/sched/scheduler.py"
TEXT = "\n".join(
    [
        "def schedule(self):",
        "    while self.waiting and budget > 0:",
        "        request = self.waiting.peek_request()",
        "        if fits(request):  # <script>document.title = 'owned'</script>",
        "            n = 1 + self.num_spec_tokens",
        "        else:",
        "            break",
        "        n = min(n, threshold)",
        "        assert n == 1 + self.num_spec_tokens",
        "        yield request, n",
    ]
)


def saved(name: str) -> Trace:
    """A counterexample of the documentation, by the pull request that mends the bug."""
    return trace_file.load(DOCS / "examples" / name / "trace.json")


def line(name: str, rows: int, drafts: int = 0, **changes: object) -> RequestLine:
    """A decode with two tokens, one of them computed."""
    plain = RequestLine(name, 2, 1, 0, 0, rows, drafts, False, "scheduled", "running")
    return replace(plain, **changes)  # type: ignore[arg-type]


def sourced(request: str = "A", file: str = FILE) -> Trace:
    """Two ranks, two steps, a source with branches; every name may be hostile."""
    broken = Violation(
        "uniform-decode", 2, "==", 4, {"n": 2, "1": 1, "num_spec_tokens": 3},
        "n = 2 != 4 = 1 + 3", request, ("n",),
    )  # fmt: skip
    config = config_to_json(Config(max_model_len=64, num_spec_tokens=3))
    trace = Trace(
        "uniform-decode",
        "one waiting request",
        config,
        (
            TraceStep(0, 0, (line(request, 1),), "first", ("A arrives",)),
            TraceStep(0, 1, (line("C", 4, 3, is_padded=True),), "first of rank 1"),
            TraceStep(1, 0, (line(request, 2, 1),), "second", (), broken, ("booked",)),
            TraceStep(1, 1, (), "idle"),
        ),
        source={"file": file, "line": 9},
        branches=(
            {"file": file, "line": 2, "taken": True},
            {"file": file, "line": 4, "taken": False},
        ),
        notes=("found in the threshold branch",),
    )
    return with_excerpts(trace, {file: TEXT})


def obligation(verdict: str, invariant: str = "progress", mode: str = "sync") -> Obligation:
    """One of a source called ``scheduler.py``."""
    trace = None
    if verdict == VIOLATED:
        trace = replace(sourced(), invariant=invariant)
    reason = "time is up" if verdict == UNDECIDED else ""
    return Obligation(invariant, FILE, mode, verdict, "every state", reason=reason, trace=trace)


def report(*verdicts: str) -> Report:
    """A run of one obligation per verdict; all three without arguments."""
    ids = ("progress", "uniform-decode", "within-budget", "positive-schedule")
    wanted = verdicts or (PROVED, VIOLATED, UNDECIDED)
    found = tuple(obligation(v, i) for v, i in zip(wanted, ids, strict=False))
    return Report(Outcome(FILE, found, 1.25))
