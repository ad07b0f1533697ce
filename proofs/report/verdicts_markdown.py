"""A run as Markdown: the verdict, a table, the counterexamples folded away."""

from __future__ import annotations

from proofs.report.run import FAILED, LOST, OPEN, PASSED, Report, headline
from proofs.report.trace_markdown import code, escape, rows
from proofs.report.trace_markdown import render as trace_markdown
from proofs.report.verdicts_text import policy_cells, smallest_traces
from proofs.verdict import PROVED, UNDECIDED, VIOLATED

TITLES = {
    PROVED: "✅ Verification successful",
    VIOLATED: "❌ Verification failed",
    UNDECIDED: "❔ Undecided",
}
LONGEST = 60_000
"""Characters; a pull-request comment takes 65,536."""


def render(report: Report, traces: bool = True) -> str:
    """The whole report, one trailing newline."""
    outcome = report.outcome
    lines = [
        f"## {TITLES[report.verdict]}: {escape(outcome.target)}",
        "",
        *rows([[escape(cell) for cell in row] for row in policy_cells(outcome.obligations)]),
        "",
        "<sub>ok = proved, BROKEN = violated (replayed), ? = undecided; sync/async where they "
        "differ; ! = not as the table of known bugs expects.</sub>",
        "",
    ]
    for state, title in ((FAILED, "Violated"), (LOST, "No longer caught"), (OPEN, "Undecided")):
        found = [o for o in outcome.obligations if report.state(o) == state]
        if found:
            lines += [f"**{title}**", "", *(f"- {escape(headline(report, o))}" for o in found), ""]
    accepted = [o for o in outcome.obligations if report.reason(o)]
    if accepted:
        lines += ["**Accepted by the baseline**", ""]
        lines += [*(f"- {escape(headline(report, o))}" for o in accepted), ""]
    if report.stale:
        lines += ["**Entries of the baseline that no longer apply**", ""]
        lines += [*(f"- {escape(line)}" for line in report.stale), ""]
    if traces:
        lines += _traces(report, sum(map(len, lines)))
    proved = sum(report.state(o) == PASSED for o in outcome.obligations)
    lines.append(
        f"{proved} of {len(outcome.obligations)} obligations proved in {outcome.seconds:.1f} s."
    )
    return "\n".join(lines) + "\n"


def _traces(report: Report, written: int) -> list[str]:
    """Counterexamples of what failed, as many as fit a comment."""
    failed = [o for o in report.outcome.obligations if report.state(o) == FAILED]
    lines: list[str] = []
    for trace in smallest_traces(failed):
        block = [
            "<details>",
            f"<summary>{_summary(trace.invariant)}</summary>",
            "",
            trace_markdown(trace, heading=3),
            "",
            "</details>",
            "",
        ]
        written += sum(map(len, block))
        if written > LONGEST:
            lines += [f"Further counterexamples: {code('python -m proofs check')}", ""]
            break
        lines += block
    return lines


def _summary(invariant: str) -> str:
    return f"Counterexample: {escape(invariant)}"
