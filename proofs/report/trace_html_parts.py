"""The parts of the HTML page around the execution: promise, inequality, source, policies."""

from __future__ import annotations

from textwrap import dedent

from proofs.report.markup import Html, join, tag
from proofs.report.trace_view import (
    also_in,
    command,
    flags_on,
    free_of,
    knobs,
    link,
    policy_label,
    policy_line,
    promised,
    row_count,
    ruled_out,
    sides,
    sources,
    statement,
    subject,
    where,
    why,
)
from proofs.trace import Trace
from spec.claims import NEGATED
from spec.config import KNOBS


def heading(trace: Trace) -> Html:
    """What was promised, and about what."""
    links = [
        tag("a", name, href=link(name)) if link(name) else tag("code", name)
        for name in sources(trace.invariant)
    ]
    chips = [
        *([f"{subject(trace)} {policy_line(trace)}"] if trace.policy else []),
        f"{trace.mode} scheduling",
        *([where(trace)] if trace.source is not None else []),
    ]
    return tag(
        "header",
        tag("p", "schedproof counterexample: ", tag("b", "violated"), class_="eyebrow"),
        tag("h1", trace.invariant),
        tag("p", statement(trace.invariant), class_="promise"),
        tag("p", "But: ", ruled_out(trace), ".", class_="why") if ruled_out(trace) else "",
        tag("p", why(trace.invariant), " ", (join(" ", item) for item in links), class_="why"),
        tag("ul", (tag("li", chip) for chip in chips), class_="chips"),
    )


def equation(trace: Trace) -> Html:
    """The broken inequality, every number over its name."""
    violation = trace.violation
    both = sides(violation)
    parts: list[Html] = []
    for index, (terms, total) in enumerate(
        ((both.left, violation.left), (both.right, violation.right))
    ):
        if index:
            parts.append(tag("span", NEGATED[violation.relation], class_="sign not"))
        for at, (name, value) in enumerate(terms):
            if at:
                parts.append(tag("span", "+", class_="sign"))
            parts.append(_term(name, value))
        if len(terms) > 1:
            parts += [
                tag("span", "=", class_="sign"),
                tag("span", tag("b", str(total)), class_="term"),
            ]
    about = f" for request {violation.request}" if violation.request else ""
    return tag(
        "section",
        tag("h2", f"Broken{about}", id="broken"),
        tag("div", parts, class_="equation", aria_hidden="true"),
        tag("p", violation.sentence, class_="sentence"),
        tag("p", row_count(trace)) if row_count(trace) else "",
        tag("p", "Promised: ", tag("code", promised(violation)), class_="mute"),
        class_="card broken-claim",
        aria_labelledby="broken",
    )


def _term(name: str, value: int) -> Html:
    label = "" if name == str(value) else name.removeprefix("-")
    return tag("span", tag("b", str(value)), tag("span", label) if label else "", class_="term")


def source(trace: Trace) -> Html:
    """The source with the branches that were taken; nothing for a policy of the model."""
    if trace.source is None:
        return Html("")
    taken = {(str(b["file"]), int(b["line"])): bool(b["taken"]) for b in trace.branches}
    here = str(trace.source["file"]), int(trace.source["line"])
    shown = {
        (e["file"], int(e["first"]) + i) for e in trace.excerpts for i in range(len(e["lines"]))
    }
    unseen = [place for place in dict.fromkeys((*taken, here)) if place not in shown]
    return tag(
        "section",
        tag("h2", "The source that led there", id="source"),
        tag("p", "Decides the broken step: ", tag("code", where(trace))),
        (_excerpt(excerpt, taken, here) for excerpt in trace.excerpts),
        tag(
            "ul",
            (
                tag("li", tag("code", f"{file}:{line}"), f" {_mark((file, line), taken, here)}")
                for file, line in unseen
            ),
        )
        if unseen
        else "",
        class_="card",
        aria_labelledby="source",
    )


def _excerpt(
    excerpt: dict[str, object], taken: dict[tuple[str, int], bool], here: tuple[str, int]
) -> Html:
    file, first, lines = excerpt["file"], excerpt["first"], excerpt["lines"]
    assert isinstance(file, str) and isinstance(first, int) and isinstance(lines, list)
    rows = []
    for number, text in enumerate(dedent("\n".join(lines)).split("\n"), first):
        place = file, number
        kind = {True: "taken", False: "not-taken"}.get(taken[place]) if place in taken else None
        rows.append(
            tag(
                "tr",
                tag("td", _mark(place, taken, here), class_="mark"),
                tag("th", str(number), scope="row"),
                tag("td", text),
                class_="here" if place == here else kind,
            )
        )
    table = tag("table", tag("caption", file), tag("tbody", rows))
    name = f"{file} from line {first}"
    return tag("div", table, class_="code scroll", tabindex="0", role="region", aria_label=name)


def _mark(place: tuple[str, int], taken: dict[tuple[str, int], bool], here: tuple[str, int]) -> str:
    marks = []
    if place in taken:
        marks.append("✓ taken" if taken[place] else "✗ not taken")
    if place == here:
        marks.append("◀ breaks here")
    return " ".join(marks)


def policies(trace: Trace) -> Html:
    """Which policies and releases break the same promise, and which keep it."""
    broken = also_in(trace)
    if not broken:
        return Html("")

    def column(title: str, kind: str, rows: list[tuple[str, str]]) -> Html:
        items = (
            tag("li", tag("b", policy_label(name)), f" {status}", class_=kind)
            for name, status in rows
        )
        return tag("div", tag("h3", title), tag("ul", items, class_="plain"))

    return tag(
        "section",
        tag("h2", f"Who has it ({trace.mode} scheduling)", id="who"),
        tag(
            "div",
            column("Breaks the promise", "yes", broken),
            column("Keeps it", "no", free_of(trace)),
            class_="columns",
        ),
        class_="card",
        aria_labelledby="who",
    )


def again(trace: Trace) -> Html:
    """What to run to see it again."""
    return tag(
        "section",
        tag("h2", "See it again", id="again"),
        tag(
            "div",
            tag("pre", tag("code", command(trace), id="command")),
            tag("button", "Copy", type="button", data_copy=True, hidden=True),
            class_="again",
        ),
        tag("ul", (tag("li", note) for note in trace.notes)) if trace.notes else "",
        class_="card",
        aria_labelledby="again",
    )


def configuration(trace: Trace) -> Html:
    """Every knob, by symbol and name, with its meaning."""
    meanings = {knob.name: f"{knob.meaning} ({knob.unit})" for knob in KNOBS}
    rows = [
        tag(
            "tr",
            tag("th", symbol, scope="row"),
            tag("td", str(value)),
            tag("td", tag("code", name), f" {meanings[name]}"),
        )
        for symbol, name, value in knobs(trace)
    ]
    heads = (tag("th", name, scope="col") for name in ("", "value", "knob"))
    flags = flags_on(trace)
    return tag(
        "section",
        tag("h2", "Configuration", id="configuration"),
        tag(
            "div",
            tag("table", tag("thead", tag("tr", heads)), tag("tbody", rows), class_="grid"),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_labelledby="configuration",
        ),
        tag("p", "On: ", tag("code", ", ".join(flags))) if flags else "",
        class_="card",
        aria_labelledby="configuration",
    )
