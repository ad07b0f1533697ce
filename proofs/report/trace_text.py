"""A trace as plain text: the configuration, a table per step, the decision, the inequality."""

from __future__ import annotations

from collections.abc import Sequence

from proofs.report.trace_file import printable
from proofs.report.trace_view import (
    COLUMNS,
    LEGEND,
    also_in,
    branch_lines,
    cells,
    command,
    config_line,
    excerpt_line,
    policy_label,
    policy_line,
    promised,
    statement,
    subject,
    where,
    why,
)
from proofs.trace import Trace, TraceStep


def render(trace: Trace) -> str:
    """The whole counterexample; reads top to bottom in one minute."""
    trace = printable(trace)
    violation = trace.violation
    lines = [f"{trace.invariant}: {statement(trace.invariant)}"]
    if why(trace.invariant):
        lines.append(f"  why       {why(trace.invariant)}")
    if trace.policy:
        lines.append(f"  {subject(trace):<10}{policy_line(trace)}")
    lines.append(f"  mode      {trace.mode} scheduling")
    lines.append(f"  config    {config_line(trace)}")
    lines.append("")
    for step in trace.steps:
        lines += [f"  {line}" for line in step_lines(step)]
        lines.append("")
    about = f" for request {violation.request}" if violation.request else ""
    lines.append(f"  promised: {promised(violation)}")
    lines.append(f"  broken{about}: {violation.sentence}")
    lines += _source(trace)
    lines += [f"  note: {note}" for note in trace.notes]
    same = also_in(trace)
    if same:
        told = "; ".join(f"{policy_label(name)} ({status})" for name, status in same)
        lines.append(f"  policies of the model that break it ({trace.mode}): {told}")
    lines.append(f"  see it again: {command(trace)}")
    lines.append(f"  ({LEGEND})")
    return "\n".join(lines)


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
