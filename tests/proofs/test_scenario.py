"""Saved executions: read back whole, refused when damaged, replayed or honestly not."""

from __future__ import annotations

import json

import pytest

from proofs.replay import NotReproduced, replay
from proofs.scenario import Arrival, Scenario, ScenarioError
from spec.config import Config

ASSERTION = Scenario(
    config=Config(
        max_model_len=4,
        num_spec_tokens=1,
        long_prefill_token_threshold=1,
        max_num_scheduled_tokens=8192,
        max_num_batched_tokens=8192,
        max_num_seqs=2,
        num_gpu_blocks=8192,
    ),
    policy="55126",
    num_steps=1,
    arrivals=(Arrival(0, "A", 2, 1),),
    answers=((("prefix_hit", 1), ("connector_match", 0, False)),),
)


def test_a_scenario_survives_json() -> None:
    assert Scenario.from_json(json.loads(ASSERTION.dumps())) == ASSERTION


def test_replay_reaches_the_assertion_of_54028() -> None:
    trace = replay(ASSERTION, "no-reachable-assert")
    assert trace.violation.id == "no-reachable-assert"
    assert "padded rows must keep the uniform width" in trace.violation.sentence


def test_a_kept_promise_is_not_reproduced() -> None:
    with pytest.raises(NotReproduced):
        replay(ASSERTION, "within-budget")


def test_missing_answers_are_not_a_violation() -> None:
    data = ASSERTION.to_json()
    data["answers"] = [[]]
    with pytest.raises(NotReproduced, match="answer"):
        replay(Scenario.from_json(data), "no-reachable-assert")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "version 99"),
        ({"version": True}, "version True"),
        ({"config": {}}, "damaged saved execution: no knob max_model_len, num_spec_tokens"),
        ({"config": {"max_model_len": 0}}, "max_model_len = 0 is illegal"),
        ({"config": {"nonsense": 1}}, "unknown knob 'nonsense'"),
        ({"arrivals": [{"step": 0}]}, "damaged"),
        ({"answers": 3}, "damaged"),
    ],
)
def test_damaged_scenarios_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        Scenario.from_json(ASSERTION.to_json() | change)


@pytest.mark.parametrize("data", [None, 3, [], {}, "text"])
def test_other_documents_are_refused(data: object) -> None:
    with pytest.raises(ScenarioError, match="not a saved execution"):
        Scenario.from_json(data)
