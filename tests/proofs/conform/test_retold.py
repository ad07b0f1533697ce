"""From a trace of the source front end to calls on an object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proofs.conform.retold import NotExpressed, calls_of
from proofs.trace import RequestLine, Trace, TraceStep, Violation, config_to_json
from spec.config import Config

NOTHING: dict[str, Any] = {
    "arrived": [],
    "loaded": [],
    "hits": {},
    "matches": {},
    "returned": {},
    "stopped": [],
    "proposed": {},
}
CONFIG = config_to_json(Config(async_scheduling=False))
WORLD = [
    NOTHING | {"arrived": [["A", 1, 2, 0]], "returned": {"A": 1}},
    NOTHING | {"arrived": [["B", 2, 1, 0]], "hits": {"B": 1}},
]


def line(name: str) -> RequestLine:
    return RequestLine(name, 1, 0, 0, 0, 1, 0, False, "scheduled", "")


def trace(name: str = "from add_request: 2 steps, 2 requests", **scenario: Any) -> Trace:
    """Two steps: A alone, then A and B."""
    broken = Violation("uniform-decode", 1, "==", 2, {}, "1 != 2", "B")
    steps = (
        TraceStep(0, 0, (line("A"),), ""),
        TraceStep(1, 0, (line("A"), line("B")), "", violated=broken),
    )
    told = {"scenario": name, "answers": {}, "world": WORLD} | scenario
    return Trace("uniform-decode", "x", CONFIG, steps, None, (), told)


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
    first = calls_of(trace(answers=answers))[1]
    assert first[1]["A"]["slots"] == [False, False, True]


def test_loads_and_matches_are_told() -> None:
    world = [WORLD[0], WORLD[1] | {"loaded": ["A"], "matches": {"B": [3, True]}}]
    told = calls_of(trace(world=world))[-1][1]
    assert told["A"]["loaded"] is True
    assert told["B"]["match"] == [1, 3, True]


def test_a_state_in_the_middle_is_placed_first() -> None:
    answers = {"R num_computed_tokens": 4, "R num_output_placeholders": 1, "R max_tokens": 9}
    name, request, told = calls_of(trace("preemption", answers=answers))[0]
    assert (name, request) == ("place", "R")
    assert (told["num_computed_tokens"], told["max_tokens"], told["is_running"]) == (4, 9, 1)


def test_output_in_flight_is_booked() -> None:
    answers = {
        "R num_computed_tokens": 4,
        "share rows": 2,
        "share drafts": 1,
        "share samples": 1,
        "num_generated_tokens": 2,
        "stop token": 0,
        "stop token #2": 1,
        "num_proposed_drafts": 1,
    }
    _, fly, book = calls_of(trace("booking after preemption", answers=answers))
    assert fly == ["fly", "R", 2, 1, True]
    assert book == ["book", {"R": [2, 2]}, {"R": 1}]


def test_what_cannot_be_told_is_said() -> None:
    with pytest.raises(NotExpressed, match="W waits"):
        calls_of(trace("step", answers={"W num_computed_tokens": 4}))
    with pytest.raises(NotExpressed, match="does not say what the scheduler was told"):
        calls_of(replace(trace(), scenario={"scenario": "step", "answers": {}}))
    other = replace(trace().steps[1], rank=1)
    with pytest.raises(NotExpressed, match="several ranks"):
        calls_of(replace(trace(), steps=(trace().steps[0], other)))
