"""A trace as Markdown that fits a pull-request comment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from proofs.report.trace_file import printable
from proofs.report.trace_view import (
    COLUMNS,
    LEGEND,
    adds,
    also_in,
    branch_lines,
    broken_where,
    cells,
    command,
    excerpt_line,
    flags_on,
    knobs,
    link,
    policy_label,
    policy_line,
    promised,
    row_count,
    ruled_out,
    sources,
    statement,
    subject,
    where,
    why,
)
from proofs.trace import Trace, TraceStep

MARKS = re.compile(r"([\\`*_\[\]<>|~&])")
LEADING = re.compile(r"^(\d*)([#+\-=:.)])")
LONGEST = 60_000
"""Characters; GitHub takes comments of up to 65,536."""


def escape(text: str) -> str:
    """Text as text: nothing in it is Markdown, HTML, a table border or a mention."""
    marked = MARKS.sub(r"\\\1", " ".join(text.split()))
    # A word joiner keeps GitHub from reading a mention; the eye does not see it.
    return LEADING.sub(r"\1\\\2", marked).replace("@", "@\u2060")


def code(text: str) -> str:
    """An inline code span around any text, also inside a table."""
    clean = " ".join(text.split()).replace("|", "¦")
    fence = "`" * (max((len(run) for run in re.findall("`+", clean)), default=0) + 1)
    pad = " " if clean.startswith("`") or clean.endswith("`") else ""
    return f"{fence}{pad}{clean}{pad}{fence}" if clean else ""


def block(text: str) -> list[str]:
    """A fenced block of shell that nothing inside can close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}sh", text, fence]


def rows(cells: Sequence[Sequence[str]]) -> list[str]:
    """A pipe table; the first row is the heading.  The cells are Markdown already."""
    heading, *body = cells
    return [
        f"| {' | '.join(heading)} |",
        f"|{'|'.join(' --- ' for _ in heading)}|",
        *(f"| {' | '.join(row)} |" for row in body),
    ]


def render(trace: Trace, heading: int = 2) -> str:
    """The whole counterexample, ready to paste."""
    trace = printable(trace)
    violation = trace.violation
    lines = [
        f"{'#' * heading} ❌ {code(trace.invariant)} is violated",
        "",
        f"**Promised:** {escape(statement(trace.invariant))}  ",
        f"{code(promised(violation))}",
        "",
        f"**Broken** in {escape(broken_where(trace))}: {code(violation.sentence)}",
        "",
    ]
    if row_count(trace):
        lines += [f"{escape(row_count(trace))}.", ""]
    if ruled_out(trace):
        lines += [f"**But** {escape(ruled_out(trace))}.", ""]
    if why(trace.invariant):
        lines += [f"**Why it matters:** {escape(why(trace.invariant))} ({_links(trace)})", ""]
    if trace.policy:
        lines += [f"**{subject(trace).capitalize()}:** {escape(policy_line(trace))}  "]
    lines += [f"**Mode:** {trace.mode} scheduling  ", f"**Configuration:** {_config(trace)}", ""]
    lines += [f"{escape(LEGEND)}.", ""]
    for step in trace.steps:
        lines += _step(step)
    lines += _source(trace)
    lines += [f"> {escape(note)}\n" for note in trace.notes]
    same = also_in(trace)
    if same:
        told = ", ".join(
            f"{escape(policy_label(name))} ({escape(status)})" for name, status in same
        )
        lines += [f"**Policies that break it** ({trace.mode}): {told}", ""]
    lines += ["**See it again:**", "", *block(command(trace))]
    text = "\n".join(lines)
    if len(text) > LONGEST:
        text = f"{text[:LONGEST].rsplit(chr(10), 1)[0]}\n\n… shortened; `trace show` has it all."
    return text


def _links(trace: Trace) -> str:
    return ", ".join(
        f"[{name}]({link(name)})" if link(name) else code(name) for name in sources(trace.invariant)
    )


def _config(trace: Trace) -> str:
    numbers = [f"{name} = {value}" for _, name, value in knobs(trace)]
    return ", ".join(code(item) for item in [*numbers, *flags_on(trace)])


def _step(step: TraceStep) -> list[str]:
    mark = " ⬅ **breaks here**" if step.violated is not None else ""
    lines = [f"**Step {step.step}, rank {step.rank}**{mark}", ""]
    if step.events:
        lines += [*(f"- {escape(event)}" for event in step.events), ""]
    if step.requests:
        lines += rows([COLUMNS, *([escape(c) for c in cells(line)] for line in step.requests)])
        lines.append("")
    if adds(step):
        lines += [f"Decision: {escape(step.decision)}", ""]
    if step.booked:
        lines += [*(f"- then: {escape(event)}" for event in step.booked), ""]
    return lines


def _source(trace: Trace) -> list[str]:
    if trace.source is None:
        return []
    lines = [f"**Source:** {code(where(trace))}", ""]
    for branch, told in zip(trace.branches, branch_lines(trace), strict=True):
        text = excerpt_line(trace, str(branch["file"]), int(branch["line"]))
        lines.append(f"- {code(told)}{' ' + code(text) if text else ''}")
    return [*lines, ""] if trace.branches else lines
