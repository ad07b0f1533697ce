"""What is confirmed, and what is not: forged traces against what real objects were seen to do.

``confirmed.json``: four traces of the source front end, each with what the scheduler object of its
release was seen to do when it was asked the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proofs.cli import main
from proofs.conform.engine import EngineProcess, Installation
from proofs.conform.observed import Observed
from proofs.conform.retold import calls_of
from proofs.conform.source_findings import confirm_source, differences
from proofs.report.trace_file import trace_from_json
from proofs.trace import Trace

SAVED = json.loads(Path(__file__).with_name("confirmed.json").read_text(encoding="utf-8"))
TOO_LONG = "0.25.0 within-model-len-async"
BOOKED = "0.25.0 placeholder-accounting-async"
RAISES = "0.32.0 no-reachable-assert-async"
STARVES = "0.32.0 progress-async"


def given(name: str) -> tuple[Trace, Observed]:
    """A trace and what was seen."""
    trace = trace_from_json(SAVED[name]["trace"])
    return trace, Observed.of(calls_of(trace), SAVED[name]["seen"])


def with_violation(trace: Trace, **changes: Any) -> Trace:
    """The trace with its violation changed."""
    broken = replace(trace.violation, **changes)
    steps = [s if s.violated is None else replace(s, violated=broken) for s in trace.steps]
    return replace(trace, steps=tuple(steps))


def with_lines(trace: Trace, at: int, **added: int) -> Trace:
    """The trace with counters of the last request of a step changed."""
    steps = list(trace.steps)
    *lines, last = steps[at].requests
    last = replace(last, **{name: getattr(last, name) + more for name, more in added.items()})
    steps[at] = replace(steps[at], requests=(*lines, last))
    return replace(trace, steps=tuple(steps))


def relabelled(trace: Trace) -> Trace:
    return replace(with_violation(trace, id="uniform-decode"), invariant="uniform-decode")


def on_other_numbers(trace: Trace) -> Trace:
    """Every term, both sides and the sentence, one larger on the left."""
    broken = trace.violation
    name = broken.left_names[0]
    value = broken.terms[name]
    return with_violation(
        trace,
        left=broken.left + 1,
        terms=broken.terms | {name: value + 1},
        sentence=broken.sentence.replace(str(value), str(value + 1), 1),
    )


def a_step_earlier(trace: Trace) -> Trace:
    """The last step breaks nothing; the one before it breaks what it broke."""
    *steps, one, two = trace.steps
    moved = (replace(one, violated=two.violated), replace(two, violated=None))
    return replace(trace, steps=(*steps, *moved))


def elsewhere(trace: Trace) -> Trace:
    assert trace.source is not None
    return replace(trace, source=trace.source | {"line": trace.source["line"] + 1})


def knob(name: str, more: int) -> Callable[[Trace], Trace]:
    return lambda trace: replace(trace, config=trace.config | {name: trace.config[name] + more})


def counter(name: str, at: int = -1) -> Callable[[Trace], Trace]:
    return lambda trace: with_lines(trace, at, **{name: 1})


FORGERIES: dict[str, Callable[[Trace], Trace]] = {
    "another promise": relabelled,
    "another promise's name only": lambda trace: replace(trace, invariant="within-budget"),
    "another request": lambda trace: with_violation(trace, request="A"),
    "a request there is not": lambda trace: with_violation(trace, request="Z"),
    "other numbers": on_other_numbers,
    "another sentence": lambda trace: with_violation(trace, sentence="5 > 3 = max_model_len"),
    "N": counter("num_tokens"),
    "C": counter("num_computed_tokens"),
    "H": counter("num_output_placeholders"),
    "S": counter("num_spec_tokens"),
    "rows": counter("num_scheduled_tokens"),
    "drafts": counter("num_draft_tokens"),
    "C in the first step": counter("num_computed_tokens", at=0),
    "L": knob("max_model_len", 1),
    "K": knob("num_spec_tokens", 1),
    "the step before": a_step_earlier,
}


@pytest.mark.parametrize("name", SAVED)
def test_what_the_object_does_is_confirmed(name: str) -> None:
    assert list(differences(*given(name))) == []


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("name", [TOO_LONG, BOOKED])
def test_a_forged_trace_is_not_confirmed(name: str, forgery: str) -> None:
    trace, observed = given(name)
    forged = FORGERIES[forgery](trace)
    assert forged != trace
    assert list(differences(forged, observed))


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (elsewhere, "trace raises at"),
        (relabelled, "the engine raises AssertionError"),
        (FORGERIES["a request there is not"], "trace raises about Z, the engine about B"),
        (on_other_numbers, "num_new_tokens = 1, 1 + num_spec_tokens = 2"),
        (FORGERIES["another sentence"], "num_new_tokens = 1, 1 + num_spec_tokens = 2"),
        (knob("max_model_len", 1), "max_model_len: the trace says"),
        (counter("num_computed_tokens"), "C of B: trace"),
        (counter("num_scheduled_tokens"), "rows of B: trace 1, engine 0"),
    ],
)
def test_a_forged_exception_is_not_confirmed(forge: Callable[[Trace], Trace], said: str) -> None:
    trace, observed = given(RAISES)
    assert said in "; ".join(differences(forge(trace), observed))


def test_a_front_end_that_miscounts_is_not_confirmed() -> None:
    """Every C one too large: the sentence follows, and no row changes."""
    trace, observed = given(BOOKED)
    for at in range(len(trace.steps)):
        trace = with_lines(trace, at, num_computed_tokens=1)
    unlike = list(differences(on_other_numbers(trace), observed))
    assert any(text.startswith("step 0: C of A: trace 1, engine 0") for text in unlike)
    assert any("broken on other numbers" in text for text in unlike)


def test_what_the_object_does_not_show_is_not_confirmed() -> None:
    trace, observed = given(TOO_LONG)
    observed.steps[-1].records.clear()
    assert "does not say whether within-model-len holds about B" in "; ".join(
        differences(trace, observed)
    )
    observed.steps.pop()
    assert "the engine made 1 steps, not 2" in list(differences(trace, observed))
    observed.steps.clear()
    assert list(differences(trace, observed))


def test_an_object_that_does_not_raise_confirms_no_exception() -> None:
    trace, observed = given(RAISES)
    observed.raised = {}
    assert "the engine does not raise" in "; ".join(differences(trace, observed))


def test_confirm_needs_a_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--policy", "54028", "--confirm"]) == 2
    assert "--confirm needs --vllm VERSION" in capsys.readouterr().err


@pytest.mark.engine
def test_the_released_object_is_asked(released: tuple[Installation, str]) -> None:
    installation, version = released
    names = [name for name in SAVED if name.startswith(version)]
    if not names:
        pytest.skip(f"no trace of {version} is saved")
    with EngineProcess(installation, version) as engine:
        for name in names:
            trace = trace_from_json(SAVED[name]["trace"])
            found = confirm_source(engine, trace)
            assert found.confirmed, found.why
            for forgery, forge in FORGERIES.items():
                if forgery == "the step before" and len(trace.steps) < 2:
                    continue
                found = confirm_source(engine, forge(trace))
                assert not found.confirmed, forgery
