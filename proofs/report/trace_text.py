"""A trace as plain text: the configuration, a table per step, the decision, the inequality."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from proofs.report.trace_file import printable
from proofs.report.trace_view import (
    COLUMNS,
    KEEP,
    LEGEND,
    adds,
    also_in,
    branch_lines,
    broken_where,
    cells,
    command,
    config_line,
    excerpt_line,
    policy_label,
    policy_line,
    promised,
    row_count,
    ruled_out,
    statement,
    subject,
    where,
    why,
)
from proofs.trace import Trace, TraceStep

WIDTH, MINIMUM = 100, 40
"""Columns of a report, and the fewest it is ever squeezed into."""


def render(trace: Trace, columns: int | None = None) -> str:
    """The whole counterexample; reads top to bottom in one minute.

    Paragraphs are folded to ``columns`` where a terminal is narrower than a report.
    """
    trace = printable(trace)
    width = WIDTH if columns is None else min(columns, WIDTH)
    violation = trace.violation
    fields = {
        "broken": f"{broken_where(trace)}: {violation.sentence}",
        "but": ruled_out(trace),
        "why": why(trace.invariant),
        subject(trace): policy_line(trace) if trace.policy else "",
        "mode": f"{trace.mode} scheduling",
        "config": config_line(trace),
    }
    lines = wrapped("", f"{trace.invariant}: {statement(trace.invariant)}", width, hang=2)
    for name, told in fields.items():
        if told:
            lines += wrapped(f"  {name:<10}", told, width)
    lines += ["", *wrapped("  ", f"{LEGEND}.", width), ""]
    for step in trace.steps:
        lines += [f"  {line}" for line in step_lines(step)]
        lines.append("")
    about = f" for request {violation.request}" if violation.request else ""
    lines.append(f"  promised: {promised(violation)}")
    lines += wrapped("  ", f"broken{about}: {violation.sentence}", width, hang=2)
    if row_count(trace):
        lines += wrapped("  ", row_count(trace), width, hang=2)
    lines += _source(trace)
    for note in trace.notes:
        lines += wrapped("  note: ", note, width)
    same = also_in(trace)
    if same:
        told = "; ".join(f"{policy_label(name)} ({status})" for name, status in same)
        about = f"policies of the model that break it ({trace.mode}): {told}"
        lines += wrapped("  ", about, width, hang=2)
    lines.append(f"  see it again: {command(trace)}")
    return "\n".join(lines)


def wrapped(lead: str, text: str, width: int, hang: int = 0) -> list[str]:
    """A paragraph behind ``lead``; further lines are indented as deep, and by ``hang`` more."""
    indent = len(lead) + hang
    lines = textwrap.wrap(
        text,
        max(width, MINIMUM),
        initial_indent=lead,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(KEEP, " ") for line in lines]


def _source(trace: Trace) -> list[str]:
    if trace.source is None:
        return []
    lines = [f"  source: {where(trace)}"]
    for branch, told in zip(trace.branches, branch_lines(trace), strict=True):
        text = excerpt_line(trace, str(branch["file"]), int(branch["line"]))
        lines.append(f"    {told}{'  | ' + text if text else ''}")
    return lines


def step_lines(step: TraceStep) -> list[str]:
    """One step of one rank."""
    mark = "  <-- breaks here" if step.violated is not None else ""
    lines = [f"step {step.step}, rank {step.rank}{mark}"]
    lines += [f"  . {event}" for event in step.events]
    if step.requests:
        lines += [f"  {row}" for row in table([COLUMNS, *map(cells, step.requests)])]
    if adds(step):
        lines.append(f"  decision: {step.decision}")
    lines += [f"  then: {event}" for event in step.booked]
    return lines


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns padded to equal width; the first row is the heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
