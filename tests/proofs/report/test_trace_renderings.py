"""Text, Markdown and ITF say the same about the same trace, and take its words as words."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape

import pytest
from itf_py.itf import trace_from_json
from report_samples import FILE, HOSTILE, saved, sourced

from proofs.report import trace_html, trace_itf, trace_markdown, trace_text
from proofs.report.trace_view import also_in, command, promised, row_count

CODE = r"(?<![\\`])(`+)(?!`).*?(?<!`)\1(?!`)"
"""A code span of Markdown."""
RENDERINGS = (trace_text.render, trace_markdown.render, trace_html.render)


@pytest.mark.parametrize("render", RENDERINGS)
@pytest.mark.parametrize("name", ["53962", "55126", "54028"])
def test_every_rendering_tells_the_whole_story(name: str, render: object) -> None:
    trace = saved(name)
    text = render(trace)  # type: ignore[operator]
    plain = text.replace("\\", "")
    if text.startswith("<!DOCTYPE"):
        plain = unescape(re.sub(r"<[^>]+>", "", text))
    assert trace.invariant in text
    assert command(trace) in text
    assert f"{trace.mode} scheduling" in plain
    assert "breaks here" in text
    told = " ".join(plain.split())
    assert all(status in told for _, status in also_in(trace))
    numbers = trace.violation.sentence.split(":")[0]
    assert numbers in plain


@pytest.mark.parametrize("render", RENDERINGS)
def test_the_branches_of_a_source_are_told_with_their_lines(render: object) -> None:
    text = render(sourced())  # type: ignore[operator]
    assert f"{FILE}:9" in text
    assert "not taken" in text
    assert "1 + self.num_spec_tokens" in text or "fits(request)" in text


def test_text_splits_what_came_before_the_decision_from_what_came_after() -> None:
    lines = trace_text.render(saved("53962")).splitlines()
    arrival = next(i for i, line in enumerate(lines) if "B arrives" in line)
    decision = next(i for i, line in enumerate(lines) if "padded to 1 + K" in line)
    booked = next(i for i, line in enumerate(lines) if "then: output of A booked" in line)
    assert arrival < decision < booked


def test_text_fits_the_terminal_and_says_where_it_breaks_before_anything_else() -> None:
    for columns in (60, 80):
        text = trace_text.render(saved("53962"), columns)
        wide = [line.strip() for line in text.splitlines() if len(line) > columns]
        whole = [line for line in wide if line.startswith("see it again") or "  " in line]
        assert wide == whole, "commands and tables stay whole, everything else is folded"
    broken = text.splitlines()[1]
    assert broken == "  broken    step 2, rank 0, request B: num_scheduled_tokens = -1 < 1"
    assert "max_model_len L=3" in text, "a symbol without its name"


def test_the_decision_in_words_is_told_only_where_the_table_lacks_it() -> None:
    trace = saved("53962")
    assert "decision:" not in trace_text.render(trace)
    first, *others = trace.steps
    said = f"{first.decision}; C not reached"
    more = replace(trace, steps=(replace(first, decision=said), *others))
    assert f"decision: {said}" in trace_text.render(more)
    assert f"Decision: {said}" in trace_markdown.render(more)


@pytest.mark.parametrize("render", RENDERINGS)
def test_an_execution_that_is_ruled_out_is_no_accusation(render: object) -> None:
    trace = replace(saved("55126"), without="withdrawn-prefill")
    text = render(trace)  # type: ignore[operator]
    assert "python -m proofs explain withdrawn-prefill" in text
    assert "check --policy" not in text
    assert "0.24" not in text, "policies are listed as having it"


def test_the_broken_row_count_is_derived_from_the_counters() -> None:
    told = "n of B = L - C - s = 3 - 3 - 1 = -1: the room left up to max_model_len"
    assert row_count(saved("53962")) == told
    assert told in trace_text.render(saved("53962"))
    assert row_count(saved("55126")) == "n of A = N - C = 2 - 1 = 1: all its rows, none for drafts"
    assert row_count(saved("54028")) == (
        "long_prefill_token_threshold θ = 1 cuts the rows of A after they were padded to 1 + K = 2"
    )
    elsewhere = replace(saved("54028"), config=saved("54028").config | {"num_spec_tokens": 0})
    assert row_count(elsewhere) == "", "no threshold below 1 + K: something else cut them"


def test_a_row_count_no_formula_gives_is_not_explained() -> None:
    trace = saved("53962")
    last = trace.steps[-1]
    odd = tuple(replace(line, num_computed_tokens=7) for line in last.requests)
    assert row_count(replace(trace, steps=(*trace.steps[:-1], replace(last, requests=odd)))) == ""


def test_what_rules_an_execution_out_is_named() -> None:
    waived = trace_text.render(replace(saved("55126"), without="withdrawn-prefill"))
    assert "allowed by the waiver withdrawn-prefill" in waived
    assumed = trace_markdown.render(replace(saved("55126"), without="prompt-fits"))
    assert "possible only where the assumption prompt-fits does not hold" in assumed


def test_a_dying_scheduler_is_shown_with_the_request_it_died_on() -> None:
    trace = saved("54028")
    assert trace.violation.sentence.startswith("rows = 1 != 2 = 1 + num_spec_tokens: Assertion")
    assert trace.violation.request == "A"
    assert promised(trace.violation) == "rows == 1 + num_spec_tokens"
    assert "raised: the scheduler dies before it decides" in trace_text.render(trace)


@pytest.mark.parametrize("render", [trace_text.render, trace_markdown.render])
def test_no_word_moves_the_cursor_or_begins_a_line(render: object) -> None:
    text = render(sourced("A\x1b[2J\n::error::x", "a\r\n```\n::error::y"))  # type: ignore[operator]
    assert not [c for c in text if not c.isprintable() and c != "\n"]
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]


def test_markdown_takes_words_as_words() -> None:
    text = trace_markdown.render(sourced(HOSTILE))
    outside = re.sub(CODE, "", text)
    assert "<script>" not in outside.replace("\\<script\\>", "")
    assert "@all" not in outside
    tables = [row for row in text.splitlines() if row.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in tables} == {9}


@pytest.mark.parametrize(
    "text",
    ["`", "``x`", "a|b", "<b>", "@team", "# no heading", "- no item", "1. no item", "[x](y)"],
)
def test_markdown_escapes_and_code_spans_close(text: str) -> None:
    code = trace_markdown.code(text)
    fence = re.match("`+", code)
    assert (
        fence and code.endswith(fence[0]) and fence[0] not in code[len(fence[0]) : -len(fence[0])]
    )
    escaped = trace_markdown.escape(text)
    assert not re.match(r"[#\-]|\d+\.\s", escaped)
    assert not re.search(r"(?<!\\)[<\[|`]", escaped)


def test_markdown_fits_a_comment() -> None:
    assert max(len(trace_markdown.render(saved(n))) for n in ("53962", "55126", "54028")) < 4000


@pytest.mark.parametrize("name", ["53962", "55126", "54028"])
def test_itf_is_read_by_the_reference_reader(name: str) -> None:
    trace = saved(name)
    document = json.loads(trace_itf.render(trace))
    read = trace_from_json(document)
    assert read.vars == document["vars"]
    assert len(read.states) == 1 + max(step.step for step in trace.steps)
    assert [s.values["violated"] for s in read.states] == [False] * (len(read.states) - 1) + [True]
    first = read.states[0].values
    assert first["max_model_len"] == trace.config["max_model_len"]
    (step,) = [s for s in trace.steps if s.violated is not None]
    for line in step.requests:
        rows = read.states[-1].values["num_scheduled_tokens"][(step.rank, line.request_id)]
        assert rows == line.num_scheduled_tokens


def test_itf_keeps_to_the_format() -> None:
    """Apalache's ADR-015: every state has every variable, the first one every parameter."""
    document = trace_itf.document(sourced())
    assert set(document) <= {"#meta", "params", "vars", "states", "loop"}
    assert not set(document["params"]) & set(document["vars"])
    types = document["#meta"]["varTypes"]
    assert set(types) == {*document["params"], *document["vars"]}
    for number, state in enumerate(document["states"]):
        extra = set(document["params"]) if number == 0 else set()
        assert set(state) == {"#meta", *document["vars"], *extra}
        assert state["#meta"]["index"] == number
        for name in state.keys() - {"#meta"}:
            _is_expression(state[name])


def _is_expression(value: object) -> None:
    if isinstance(value, bool | str):
        return
    assert isinstance(value, dict)
    ((kind, inside),) = value.items()
    if kind == "#bigint":
        assert re.fullmatch("-?[0-9]+", inside)
        return
    assert kind in ("#map", "#tup")
    for item in inside:
        for part in item if kind == "#map" else [item]:
            _is_expression(part)
