"""A trace as one HTML file: no network, no script but its own, readable without any.

The page is complete as it leaves here; the script only hides all steps but one and walks through
them.  Every string of the trace goes through ``markup``, which escapes it, and the page forbids
(by its content security policy) every script and style whose hash is not the one below.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files

from proofs.report.markup import Html, join, tag
from proofs.report.trace_bars import axis_of, chart, lanes, legend
from proofs.report.trace_html_parts import (
    again,
    configuration,
    equation,
    heading,
    policies,
    source,
)
from proofs.report.trace_view import COLUMNS, LEGEND, adds, cells, moments
from proofs.trace import Trace, TraceStep

MEANINGS = {
    "N": "tokens held",
    "C": "computed tokens, optimistic",
    "H": "rows in flight that will sample",
    "S": "drafts waiting to be verified",
    "rows n": "rows this step",
    "drafts": "drafts attached",
}
PATTERNS = Html(
    '<svg class="defs" width="0" height="0" aria-hidden="true" focusable="false"><defs>'
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="6" height="6"/><path d="M0 0V6"/></pattern>'
    '<pattern id="cross" width="7" height="7" patternUnits="userSpaceOnUse">'
    '<rect width="7" height="7"/><path d="M0 0L7 7M7 0L0 7"/></pattern></defs></svg>'
)


def render(trace: Trace) -> str:
    """The whole counterexample as one page."""
    body = join(
        PATTERNS,
        tag(
            "main",
            heading(trace),
            equation(trace),
            _execution(trace),
            source(trace),
            policies(trace),
            again(trace),
            configuration(trace),
        ),
        tag(
            "footer",
            "Every number on this page comes from a replay on integers. "
            "Made by schedproof; the page loads nothing from elsewhere.",
        ),
    )
    script, style = _asset("trace.js"), _asset("trace.css")
    return _fill(
        _asset("trace.html"),
        {
            "title": escape(f"{trace.invariant} violated: {trace.policy or 'scheduler source'}"),
            "style": style,
            "script": script,
            "style_hash": _hash(style),
            "script_hash": _hash(script),
            "body": body,
        },
    )


@cache
def _asset(name: str) -> str:
    return (files("proofs.report") / "assets" / name).read_text(encoding="utf-8")


def _fill(template: str, values: dict[str, str]) -> str:
    """Each ``{{name}}`` replaced once; what a value says is never looked at again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _execution(trace: Trace) -> Html:
    axis = axis_of(trace)
    charts = [chart(trace, lane, axis) for lane in lanes(trace)]
    return join(
        tag(
            "section",
            tag("h2", "The smallest execution that breaks it", id="execution"),
            tag("div", charts, class_="lanes"),
            legend(),
            tag("p", f"{LEGEND}.", class_="mute symbols"),
            _controls(),
            tag("p", class_="hidden", role="status", aria_live="polite"),
            class_="card",
            aria_labelledby="execution",
        ),
        (_moment(number, steps) for number, steps in moments(trace)),
    )


def _controls() -> Html:
    def button(go: str, text: str, keys: str, pressed: bool = False) -> Html:
        return tag(
            "button",
            text,
            type="button",
            data_go=go,
            aria_keyshortcuts=keys,
            aria_pressed="false" if pressed else None,
        )

    return tag(
        "div",
        button("back", "← Back", "ArrowLeft"),
        tag("span", class_="position"),
        button("forward", "Forward →", "ArrowRight"),
        button("broken", "Where it breaks", "b", pressed=True),
        tag(
            "span",
            "Keys: ",
            tag("kbd", "←"),
            " ",
            tag("kbd", "→"),
            " step, ",
            tag("kbd", "b"),
            " where it breaks",
            class_="keys",
        ),
        class_="controls",
        role="group",
        aria_label="Walk through the steps",
        hidden=True,
    )


def _moment(number: int, steps: list[TraceStep]) -> Html:
    """One step of all ranks."""
    violated = next((step.violated for step in steps if step.violated is not None), None)
    said = "; ".join(f"rank {step.rank}: {step.decision}" for step in steps)
    if violated is not None:
        said += f". Breaks here: {violated.sentence}"
    mark = tag("span", "breaks here", class_="tag")
    return tag(
        "section",
        tag(
            "h3", f"Step {number} ", mark if violated is not None else "", id=f"step-{number}-title"
        ),
        (_rank(step, len(steps) > 1) for step in steps),
        tag("p", violated.sentence, class_="sentence") if violated is not None else "",
        class_="step broken" if violated is not None else "step",
        id=f"step-{number}",
        data_step=number,
        data_said=said,
        aria_labelledby=f"step-{number}-title",
    )


def _rank(step: TraceStep, several: bool) -> Html:
    return tag(
        "div",
        tag("p", tag("b", f"Rank {step.rank}")) if several else "",
        tag("ul", (tag("li", event) for event in step.events), class_="events")
        if step.events
        else "",
        _requests(step) if step.requests else "",
        tag("p", tag("b", "Decision: "), step.decision) if adds(step) else "",
        _booked(step) if step.booked else "",
        class_="rank",
    )


def _booked(step: TraceStep) -> Html:
    return join(
        tag("p", "Then:", class_="mute"),
        tag("ul", (tag("li", event) for event in step.booked), class_="events"),
    )


def _requests(step: TraceStep) -> Html:
    """The counters of every request before the step, and what it got."""
    name = f"Requests of step {step.step} on rank {step.rank}: counters before the step, decision"
    head = tag(
        "tr",
        (
            tag("th", tag("abbr", c, title=MEANINGS[c]) if c in MEANINGS else c, scope="col")
            for c in COLUMNS
        ),
    )
    about = step.violated.request if step.violated is not None else None
    rows = []
    for line in step.requests:
        first, *others = cells(line)
        broken = about is not None and about in ("", line.request_id)
        rows.append(
            tag(
                "tr",
                tag("th", first, scope="row"),
                (tag("td", cell) for cell in others),
                class_="broken" if broken else None,
            )
        )
    table = tag(
        "table",
        tag("caption", name, class_="hidden"),
        tag("thead", head),
        tag("tbody", rows),
        class_="grid",
    )
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=name)
