"""A trace as plain text: the configuration, a table per step, the decision, the inequality."""

from __future__ import annotations

from collections.abc import Sequence

from proofs.trace import RequestLine, Trace, TraceStep
from spec.config import FLAGS, KNOBS
from spec.invariants import CATALOGUE

COLUMNS = ("request", "N", "C", "H", "S", "rows n", "drafts", "outcome")
LEGEND = (
    "N tokens held, C computed (optimistic), H rows in flight that will sample, "
    "S drafts waiting; before the step."
)


def render(trace: Trace) -> str:
    """The whole counterexample; reads top to bottom in one minute."""
    lines = [f"{trace.invariant}: {statement(trace.invariant)}", ""]
    if trace.policy:
        lines.append(f"  policy  {trace.policy}")
    lines.append(f"  config  {config_line(trace)}")
    lines.append("")
    for step in trace.steps:
        lines += [f"  {line}" for line in step_lines(step)]
        lines.append("")
    violation = trace.violation
    about = f" for request {violation.request}" if violation.request else ""
    lines.append(f"  broken{about}: {violation.sentence}")
    if trace.source is not None:
        lines.append(f"  source: {trace.source['file']}:{trace.source['line']}")
    lines += [f"  {note}" for note in trace.notes]
    return "\n".join(lines)


def statement(invariant: str) -> str:
    """What the invariant promises."""
    return next((entry.statement for entry in CATALOGUE if entry.id == invariant), invariant)


def config_line(trace: Trace) -> str:
    """The knobs by symbol, then the flags that are on."""
    known = trace.config
    knobs = [f"{knob.symbol}={known[knob.name]}" for knob in KNOBS if knob.name in known]
    flags = [name for name in FLAGS if known.get(name)]
    return "  ".join(knobs) + ("" if not flags else "  on: " + ", ".join(flags))


def step_lines(step: TraceStep) -> list[str]:
    """One step of one rank."""
    mark = "  <-- breaks here" if step.violated is not None else ""
    lines = [f"step {step.step}, rank {step.rank}{mark}"]
    lines += [f"  . {event}" for event in step.events]
    if step.requests:
        lines += [f"  {row}" for row in table([COLUMNS, *map(_cells, step.requests)])]
    lines.append(f"  decision: {step.decision}")
    return lines


def _cells(line: RequestLine) -> tuple[str, ...]:
    rows = f"{line.num_scheduled_tokens}{' (padded)' if line.is_padded else ''}"
    numbers = (
        line.num_tokens,
        line.num_computed_tokens,
        line.num_output_placeholders,
        line.num_spec_tokens,
    )
    return (
        line.request_id,
        *map(str, numbers),
        rows,
        str(line.num_draft_tokens),
        f"{line.outcome}: {line.reason}",
    )


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns padded to equal width; the first row is the heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
