"""From a trace of the source front end to calls on the object, and back to a verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proofs.cli import main
from proofs.conform.engine import EngineProcess, Installation
from proofs.conform.source_findings import NotExpressed, calls_of, confirm_source, difference
from proofs.trace import RequestLine, Trace, TraceStep, Violation, config_to_json
from spec.config import Config

CONFIG = Config(
    max_model_len=3,
    num_spec_tokens=1,
    max_num_scheduled_tokens=8192,
    max_num_batched_tokens=8192,
    max_num_seqs=2,
    num_gpu_blocks=8192,
    async_scheduling=False,
    exempt_only_request=False,
)


def line(name: str, rows: int, drafts: int = 0, outcome: str = "scheduled") -> RequestLine:
    return RequestLine(name, 1, 0, 0, 0, rows, drafts, drafts > 0, outcome, "")


def trace(**changes: Any) -> Trace:
    """Two steps: A alone, then A and B, whose row is not uniform."""
    broken = Violation("uniform-decode", 1, "==", 2, {}, "1 != 2", "B")
    steps = (
        TraceStep(
            0,
            0,
            (line("A", 1),),
            "",
            ("A arrives: 1 prompt token, max_tokens 2",),
            booked=("output of A booked: 1 token, 2 in all",),
        ),
        TraceStep(
            1,
            0,
            (line("A", 1), line("B", 1)),
            "",
            ("B arrives: 2 prompt tokens, max_tokens 1", "1 token of B in the prefix cache"),
            broken,
        ),
    )
    scenario = {"scenario": "from add_request: 2 steps, 2 requests", "answers": {}}
    made = Trace("uniform-decode", "x", config_to_json(CONFIG), steps, None, (), scenario)
    return replace(made, **changes)


def test_an_execution_becomes_calls() -> None:
    assert calls_of(trace()) == [
        ["add", "A", 1, 2, 0, 0],
        ["schedule", {"A": {"hit": 0, "match": [0, 0, False], "slots": [True]}}],
        ["book", {"A": [1, 0]}, {"A": 0}],
        ["add", "B", 2, 1, 0, 3],
        [
            "schedule",
            {
                "A": {"hit": 0, "match": [0, 0, False], "slots": [True]},
                "B": {"hit": 1, "match": [1, 0, False], "slots": [True]},
            },
        ],
    ]


def test_refusals_of_the_pool_are_told_in_order() -> None:
    answers = {"KV blocks for A": 0, "KV blocks for A #2": 0, "KV blocks for A #3": 1}
    scenario = {"scenario": "from add_request: 2 steps, 2 requests", "answers": answers}
    first = calls_of(trace(scenario=scenario))[1]
    assert first[1]["A"]["slots"] == [False, False, True]


def test_a_state_in_the_middle_is_placed_first() -> None:
    answers = {"R num_computed_tokens": 4, "R num_output_placeholders": 1, "R max_tokens": 9}
    scenario = {"scenario": "preemption", "answers": answers}
    name, request, told = calls_of(trace(scenario=scenario))[0]
    assert (name, request) == ("place", "R")
    assert (told["num_computed_tokens"], told["max_tokens"], told["is_running"]) == (4, 9, 1)


def test_a_waiting_state_is_not_expressed() -> None:
    scenario = {"scenario": "step", "answers": {"W num_computed_tokens": 4}}
    with pytest.raises(NotExpressed, match="W waits"):
        calls_of(trace(scenario=scenario))


def seen(second: dict[str, int]) -> list[dict[str, Any]]:
    plain = {"requests": {"A": {}, "B": {}}}
    return [
        plain,
        plain | {"rows": [["A", 1]], "drafts": {}},
        plain,
        plain,
        plain | {"rows": list(map(list, second.items())), "drafts": {}},
    ]


def test_the_same_rows_are_no_difference_and_others_are() -> None:
    calls = calls_of(trace())
    assert difference(trace(), calls, seen({"A": 1, "B": 1})) == ""
    assert "step 1: trace {'A': 1, 'B': 1}" in difference(trace(), calls, seen({"A": 1, "B": 2}))
    assert difference(trace(), calls, seen({"A": 1, "B": 1})[:3]) != ""
    dead = [*seen({})[:4], {"raised": "AssertionError", "where": "scheduler.py:7 in schedule: x"}]
    assert "the engine raises AssertionError" in difference(trace(), calls, dead)


def test_an_exception_is_the_same_at_the_same_line_only() -> None:
    broken = Violation("no-reachable-assert", 1, "==", 0, {}, "AssertionError", "")
    steps = (*trace().steps[:1], replace(trace().steps[1], violated=broken))
    dies = trace(
        invariant="no-reachable-assert", steps=steps, source={"file": "scheduler.py", "line": 7}
    )
    calls = calls_of(dies)
    for where, same in (
        ("scheduler.py:7 in schedule: assert", True),
        ("scheduler.py:70 in", False),
    ):
        dead = [*seen({})[:4], {"raised": "AssertionError", "where": where}]
        assert (difference(dies, calls, dead) == "") is same
    assert "does not raise" in difference(dies, calls, seen({"A": 1, "B": 1}))


def test_confirm_needs_a_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--policy", "54028", "--confirm"]) == 2
    assert "--confirm needs --vllm VERSION" in capsys.readouterr().err


@pytest.mark.engine
def test_the_released_object_is_asked(released: tuple[Installation, str]) -> None:
    """A made-up execution of a right scheduler: the rows agree, or they do not."""
    installation, version = released
    with EngineProcess(installation, version) as engine:
        true = confirm_source(
            engine, trace(config=config_to_json(replace(CONFIG, max_model_len=3)))
        )
        false = confirm_source(
            engine, trace(config=config_to_json(replace(CONFIG, max_model_len=9)))
        )
    assert true.confirmed, true.why
    assert not false.confirmed
    assert "step 1" in false.why
