"""The timeline of a trace: one chart per rank and request, one line of blocks per step.

The axis counts tokens: computed ones in grey, then the rows of the step from C on, then the place
of the token it will sample.  ``max_model_len`` is a line through all steps.  Widths are per cent
of the chart, so that one drawing fits a phone and a sheet of paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from proofs.report.markup import Html, join, tag
from proofs.report.trace_view import RAISED
from proofs.trace import RequestLine, Trace, TraceStep
from spec.records import SCHEDULED

MOST_BLOCKS = 48
"""Longest axis that is drawn token by token, and that reaches out to a distant limit."""
TOP, HEIGHT = 5, 20
"""Pixels of a block; the chart is ``TOP`` higher on both sides."""

LEGEND = (
    ("computed", "computed (C)"),
    ("real", "row of a real token"),
    ("draft", "row of a draft"),
    ("padding", "row of padding"),
    ("sampled", "token to be sampled"),
    ("wrong", "negative rows"),
)


@dataclass(frozen=True, slots=True)
class Axis:
    """The tokens a chart shows."""

    low: int
    high: int
    limit: int | None

    @property
    def step(self) -> int:
        """Tokens from one label to the next."""
        span = self.high - self.low
        return next(step for step in (1, 2, 4, 8, 16, 64, 256, 1024, span) if span / step <= 12)

    @property
    def single(self) -> bool:
        """Whether every token is a block of its own."""
        return self.high - self.low <= MOST_BLOCKS

    def x(self, token: float) -> str:
        """Where a token begins, in per cent of the width."""
        inside = min(max(token, self.low), self.high)
        return f"{100 * (inside - self.low) / max(self.high - self.low, 1):.3f}%"


Lane = tuple[int, str, list[tuple[TraceStep, RequestLine]]]


def lanes(trace: Trace) -> Iterator[Lane]:
    """Rank, request, and the steps that looked at it."""
    found: dict[tuple[int, str], list[tuple[TraceStep, RequestLine]]] = {}
    for step in trace.steps:
        for line in step.requests:
            found.setdefault((step.rank, line.request_id), []).append((step, line))
    for (rank, request), seen in sorted(found.items()):
        yield rank, request, seen


def axis_of(trace: Trace) -> Axis:
    """One axis for all charts of a trace."""
    lines = [line for step in trace.steps for line in step.requests]
    s = int(trace.config.get("num_sampled_tokens_per_step", 0))
    ends = [_end(line) + s for line in lines] + [line.num_computed_tokens for line in lines]
    starts = [min(_end(line), line.num_computed_tokens) for line in lines]
    high, low = max([*ends, 1]), 0
    limit = trace.config.get("max_model_len")
    limit = int(limit) if limit is not None else None
    if limit is not None and limit - high <= MOST_BLOCKS // 2:
        high = max(high, limit)
    if high > MOST_BLOCKS:
        low = max(0, min([*starts, high]) - 4)
    return Axis(low, high + 1, limit)


def chart(trace: Trace, lane: Lane, axis: Axis) -> Html:
    """One request on one rank as a table: a row per step."""
    rank, request, seen = lane
    violation = trace.violation
    rows = []
    for step, line in seen:
        about = step.violated is not None and violation.request in ("", request)
        rows.append(
            tag(
                "tr",
                tag("th", tag("a", f"step {step.step}", href=f"#step-{step.step}"), scope="row"),
                tag("td", _bar(trace, line, axis), class_="chart"),
                tag("td", _words(line), class_="n"),
                data_step=step.step,
                class_="broken" if about else None,
            )
        )
    heading = tag(
        "tr",
        tag("th", "step", scope="col"),
        tag(
            "th", tag("span", "tokens", class_="hidden"), _ruler(axis), scope="col", class_="chart"
        ),
        tag("th", "rows", scope="col", class_="n"),
    )
    caption = tag("caption", "request ", tag("b", request), f" on rank {rank}")
    return tag("table", caption, tag("thead", heading), tag("tbody", rows), class_="lane")


def legend() -> Html:
    """What the blocks mean."""
    return tag(
        "ul",
        (
            tag(
                "li",
                _svg(tag("rect", class_=kind, x="2", y="2", width="12", height="12"), 16, 16),
                f" {text}",
            )
            for kind, text in LEGEND
        ),
        tag(
            "li",
            _svg(tag("line", class_="limit", x1="8", x2="8", y1="0", y2="16"), 16, 16),
            " L, max_model_len",
        ),
        class_="legend",
    )


def _end(line: RequestLine) -> int:
    return line.num_computed_tokens + line.num_scheduled_tokens


def _words(line: RequestLine) -> str:
    if line.outcome == RAISED:
        return RAISED
    if line.outcome != SCHEDULED:
        return f"none, {line.outcome}"
    drafts = line.num_draft_tokens
    kind = "padding" if line.is_padded else f"draft{'' if drafts == 1 else 's'}"
    real = line.num_scheduled_tokens - drafts
    return f"{real} + {drafts} {kind}" if drafts else f"{line.num_scheduled_tokens}"


def _bar(trace: Trace, line: RequestLine, axis: Axis) -> Html:
    computed, n = line.num_computed_tokens, line.num_scheduled_tokens
    parts = [*_blocks(axis, 0, computed, "computed")]
    if n < 0:
        parts += _blocks(axis, computed + n, computed, "wrong")
    elif line.outcome == SCHEDULED:
        real = computed + n - min(max(line.num_draft_tokens, 0), n)
        parts += _blocks(axis, computed, real, "real")
        parts += _blocks(axis, real, computed + n, "padding" if line.is_padded else "draft")
        sampled = int(trace.config.get("num_sampled_tokens_per_step", 0))
        if computed + n >= line.num_tokens:
            parts += _blocks(axis, computed + n, computed + n + sampled, "sampled")
    told = f"{computed} computed, rows: {_words(line)}"
    if axis.limit is not None:
        told += f", limit {axis.limit}"
        parts += _limit(axis)
    return _svg(join(parts), "100%", HEIGHT + 2 * TOP, told)


def _blocks(axis: Axis, start: int, end: int, kind: str) -> list[Html]:
    start, end = max(start, axis.low), min(end, axis.high)
    pieces = [(t, t + 1) for t in range(start, end)] if axis.single else [(start, end)]
    limit = axis.high if axis.limit is None else axis.limit
    return [
        tag(
            "rect",
            class_=f"{kind} over" if a >= limit and kind != "computed" else kind,
            x=axis.x(a),
            y=TOP,
            width=_width(axis, b - a),
            height=HEIGHT,
            rx=2,
        )
        for a, b in pieces
        if b > a
    ]


def _width(axis: Axis, tokens: int) -> str:
    return f"{100 * tokens / (axis.high - axis.low):.3f}%"


def _limit(axis: Axis) -> list[Html]:
    if axis.limit is None or not axis.low <= axis.limit <= axis.high:
        return []
    x = axis.x(axis.limit)
    return [tag("line", class_="limit", x1=x, x2=x, y1=-7, y2=HEIGHT + 2 * TOP + 7)]


def _ruler(axis: Axis) -> Html:
    """Token counts along the top, the limit by its symbol."""
    parts = []
    for token in range(axis.low, axis.high, axis.step):
        near = axis.limit is not None and abs(token - axis.limit) < axis.step
        if not near:
            anchor = "start" if token == axis.low else "middle"
            parts.append(_label(axis, token, str(token), anchor, "tick"))
    if axis.limit is not None:
        beyond = axis.limit > axis.high
        at = axis.high if beyond else axis.limit
        text = f"L = {axis.limit}{' →' if beyond else ''}"
        parts.append(_label(axis, at, text, "end" if beyond else "middle", "tick limit"))
        parts += (
            []
            if beyond
            else [tag("line", class_="limit", x1=axis.x(at), x2=axis.x(at), y1=16, y2=20)]
        )
    return _svg(join(parts), "100%", 20)


def _label(axis: Axis, token: int, text: str, anchor: str, kind: str) -> Html:
    return tag("text", text, x=axis.x(token), y=12, text_anchor=anchor, class_=kind)


def _svg(content: Html, width: object, height: object, label: str = "") -> Html:
    """A drawing; without a label it is decoration."""
    if label:
        return tag("svg", content, width=width, height=height, role="img", aria_label=label)
    return tag("svg", content, width=width, height=height, aria_hidden="true", focusable="false")
