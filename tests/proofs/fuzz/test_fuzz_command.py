"""``fuzz`` and ``simulate`` on the command line: statuses, saved failures, bad input."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from proofs.cli import main
from proofs.errors import UsageError
from proofs.fuzz import saved
from proofs.fuzz.again import run_again, show
from proofs.fuzz.execution import BY_CATALOGUE, BY_RUNNER, Failure
from proofs.replay import LacksAnswers, NotReproduced
from proofs.scenario import Arrival, Scenario
from spec.config import Config

FAILURE = Failure(
    "no-reachable-assert",
    BY_CATALOGUE,
    "AssertionError",
    Scenario(
        config=Config(max_model_len=4, num_spec_tokens=1, long_prefill_token_threshold=1),
        policy="55126",
        num_steps=1,
        arrivals=(Arrival(0, "A", 2, 1),),
        answers=((("prefix_hit", 1), ("connector_match", 0, False)),),
    ),
)


def test_nothing_found_is_status_0(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["fuzz", "--steps", "500", "--jobs", "1", "--save", str(tmp_path / "f.json")]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert "policy 54028: nothing found in" in captured.out
    assert captured.err == ""
    assert not list(tmp_path.iterdir())


def test_a_failure_is_status_1_shown_saved_and_replayed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "f.json"
    arguments = ["fuzz", "--policy", "55126", "--jobs", "1", "--save", str(path)]
    assert main(arguments) == 1
    first = capsys.readouterr().out
    assert "padded rows must keep the uniform width" in first
    assert f"again: python -m proofs fuzz --replay {path}" in first
    assert main(["fuzz", "--replay", str(path)]) == 1
    assert capsys.readouterr().out.rstrip("\n") in first
    assert [p.name for p in tmp_path.iterdir()] == ["f.json"], "a temporary file is left"


def test_a_time_limit_ends_the_search(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--seconds", "0.2", "--jobs", "1"]) == 0
    assert "nothing found" in capsys.readouterr().out


def test_a_saved_failure_that_was_repaired_is_status_0(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved.save(FAILURE, tmp_path / "f.json")
    data = json.loads((tmp_path / "f.json").read_text(encoding="utf-8"))
    data["scenario"]["policy"] = "54028"
    (tmp_path / "f.json").write_text(json.dumps(data), encoding="utf-8")
    assert main(["fuzz", "--replay", str(tmp_path / "f.json")]) == 0
    assert "does not fail any more" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["fuzz", "--steps", "0"], "--steps 0 is illegal; legal: 1 to"),
        (["fuzz", "--steps", "-5"], "--steps -5 is illegal"),
        (["fuzz", "--steps", "9" * 30], "is illegal"),
        (["fuzz", "--steps", "many"], "invalid int value: 'many'"),
        (["fuzz", "--seconds", "0"], "--seconds 0 is not a positive number"),
        (["fuzz", "--seconds", "nan"], "--seconds nan is not a positive number"),
        (["fuzz", "--seconds", "inf"], "--seconds inf is not a positive number"),
        (["fuzz", "--steps", "1", "--seconds", "1"], "not allowed with"),
        (["fuzz", "--seed", "-1"], "--seed -1 is illegal"),
        (["fuzz", "--jobs", "0"], "--jobs 0 is illegal; legal: 1 to 256"),
        (["fuzz", "--jobs", "100000"], "--jobs 100000 is illegal"),
        (["fuzz", "--policy", "5402"], "unknown policy '5402'; did you mean"),
        (["fuzz", "--only", "progres"], "unknown invariant 'progres'; did you mean progress"),
        (["fuzz", "--save", "/nowhere/f.json"], "--save /nowhere/f.json is illegal"),
        (["fuzz", "--replay", "/nowhere/f.json"], "cannot read /nowhere/f.json"),
        (["fuzz", "--replay", "f", "--policy", "none"], "--policy does not go with it"),
        (["fuzz", "--replay", "f", "--seed", "4"], "--seed does not go with it"),
        (["fuzz", "--replay", "f", "--seed", "0"], "--seed does not go with it"),
        (["fuzz", "--replay", "f", "--only", "progress"], "--only does not go with it"),
        (["fuzz", "--replay", "f", "--steps", "4"], "--steps does not go with it"),
        (["fuzz", "--replay", "f", "--seconds", "4"], "--seconds does not go with it"),
        (["fuzz", "--replay", "f", "--jobs", "4"], "--jobs does not go with it"),
        (["fuzz", "--replay", "f", "--save", "g"], "--save does not go with it"),
        (["simulate", "--ranks", "0"], "ranks = 0 is illegal; legal: 1 to 256."),
        (["simulate", "--steps", "1"], "steps = 1 is illegal"),
        (["simulate", "--seed", "-1"], "seed = -1 is illegal"),
        (["simulate", "--steps", "9" * 17], "is illegal; legal: 200 to 1000000."),
        (["simulate", "--qps", "1e-300"], "qps = 1e-300 is illegal; legal: 0.001 to 1000.0."),
        (["simulate", "--qps", "1e308"], "qps = 1e+308 is illegal"),
        (["simulate", "--qps", "1,,2"], "'1,,2' is not a list like 1,2,4.5"),
        (["simulate", "--full-ms", "-1"], "full_ms = -1 is illegal; legal: 0 to 10000 mill"),
        (["simulate", "--none-ms", "1e308"], "none_ms = 1e+308 is illegal"),
        (["simulate", "--output", "/nowhere/p.svg"], "no folder /nowhere"),
        (["simulate", "--output", "p.png"], "legal: a name that ends in .svg"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert captured.err.count("\n") == 1


def test_simulate_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plot = tmp_path / "p.svg"
    assert main(["simulate", "--ranks", "1", "--steps", "200", "--output", str(plot)]) == 0
    assert plot.exists() and "53962" in capsys.readouterr().out


def test_a_failure_survives_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    saved.save(FAILURE, path)
    assert saved.load(path) == FAILURE
    assert "padded rows must keep the uniform width" in show(saved.load(path))


def test_a_failure_only_the_runner_sees_is_told_as_such() -> None:
    assert run_again(FAILURE.scenario, "within-model-len") is None
    unseen = Failure("within-model-len", BY_RUNNER, "", FAILURE.scenario)
    with pytest.raises(NotReproduced, match="the runner executes every step"):
        show(unseen)


def test_a_scenario_that_lacks_answers_is_not_a_failure() -> None:
    scenario = Scenario(Config(), "54028", 1, (Arrival(0, "A", 2, 1),))
    with pytest.raises(LacksAnswers, match="prefix_hit asked, nothing recorded"):
        run_again(scenario, "progress")


def changed(**changes: Any) -> dict[str, Any]:
    """A saved failure with some fields replaced; ``scenario__x`` reaches into the scenario."""
    data = {
        "format": saved.FORMAT,
        "schema": saved.SCHEMA,
        "invariant": FAILURE.invariant,
        "seen_by": FAILURE.seen_by,
        "sentence": FAILURE.sentence,
        "scenario": FAILURE.scenario.to_json(),
    }
    scenario: dict[str, Any] = json.loads(json.dumps(data["scenario"]))
    data["scenario"] = scenario
    for name, value in changes.items():
        if name.startswith("scenario__"):
            scenario[name.removeprefix("scenario__")] = value
        else:
            data[name] = value
    return data


ARRIVAL = {
    "step": 0,
    "request_id": "A",
    "num_prompt_tokens": 2,
    "max_tokens": 1,
    "priority": 0,
    "rank": 0,
}


CONFIG = asdict(FAILURE.scenario.config)


def without(knob: str) -> dict[str, Any]:
    return {name: value for name, value in CONFIG.items() if name != knob}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b"\xff\xfe\x00", "truncated"),
        (b"[" * 100_000, "nested too deep"),
        (b"[]", "does not say"),
        (b"{}", "does not say"),
        (b" " * (saved.LARGEST + 1), "longer than 1 MB"),
        (changed(schema=2), "is a failure of schema 2; this program reads 1"),
        (changed(schema=True), "is a failure of schema True"),
        (changed(schema=1.0), "is a failure of schema 1.0"),
        (changed(schema="1"), "is a failure of schema 1"),
        (changed(scenario__version=True), "version True"),
        (changed(scenario__version=1.0), "version 1.0"),
        (changed(format="schedproof-trace"), "does not say"),
        (changed(invariant="progres"), "unknown invariant"),
        (changed(seen_by="me"), "unknown observer"),
        (changed(sentence=3), "sentence is not text"),
        (changed(scenario=[]), "scenario is not an object"),
        (changed(scenario__version=2), "version 2"),
        (changed(scenario__policy="nobody"), "unknown policy 'nobody'"),
        (changed(scenario__num_steps=10**9), "num_steps"),
        (changed(scenario__num_steps="x"), "num_steps"),
        (changed(scenario__config=CONFIG | {"max_model_len": 1}), "max_model_len = 1 is illegal"),
        (changed(scenario__config=CONFIG | {"max_model_len": 10**12}), "is larger than"),
        (changed(scenario__config=CONFIG | {"num_gpu_blocks": 10**12}), "is larger than"),
        (
            changed(scenario__config=CONFIG | {"block_size": True}),
            "block_size = True is not a whole",
        ),
        (changed(scenario__config=without("block_size")), "no knob block_size"),
        (changed(scenario__config=without("exempt_only_request")), "no knob exempt_only_request"),
        (changed(scenario__config=7), "damaged"),
        (changed(scenario__arrivals=[7]), "an arrival is not an object"),
        (changed(scenario__arrivals=[{**ARRIVAL, "max_tokens": "x"}]), "max_tokens"),
        (changed(scenario__arrivals=[{**ARRIVAL, "request_id": 1}]), "request_id"),
        (changed(scenario__arrivals=[{**ARRIVAL, "rank": 3}]), "a rank without answers"),
        (changed(scenario__arrivals=[ARRIVAL, ARRIVAL]), "the same request_id"),
        (changed(scenario__arrivals=[{**ARRIVAL, "num_prompt_tokens": 99}]), "prompt tokens"),
        (changed(scenario__answers=[]), "1 to 64 ranks"),
        (changed(scenario__answers=[[["sample"]]]), "is no answer"),
        (changed(scenario__answers=[[["oracle", 1]]]), "is no answer"),
        (changed(scenario__answers=[[["draft", "x"]]]), "is no answer"),
        (changed(scenario__answers=[[7]]), "is no answer"),
        (changed(scenario__answers=[[["draft", True]]]), "is no answer"),
        (changed(scenario__answers=[[["load_finished", 1]]]), "is no answer"),
        (changed(scenario__answers=[[["draft", -1]]]), "is no answer"),
        (changed(scenario__answers=[[]]), "is damaged, or of another version of the model"),
        (changed(scenario__answers=[FAILURE.scenario.answers[0][:1]]), "connector_match asked"),
        (changed(scenario__answers=[[["draft", 1]]]), "prefix_hit asked, draft recorded"),
        (changed(scenario__aborts=3), "aborts is not a list"),
        (changed(scenario__aborts=[["x"]]), "is no abort"),
        (changed(scenario__aborts=[["0", "A"]]), "is no abort"),
        (changed(scenario__aborts=[[True, "A"]]), "is no abort"),
        (changed(scenario__aborts=[[0, "Z"]]), "an abort of an unknown request 'Z'"),
        (changed(scenario__aborts=[[1, "A"]]), "an abort of 'A' out of time"),
        (changed(scenario__arrivals=[{**ARRIVAL, "step": 1}]), "an arrival after the last step"),
    ],
)
def test_a_file_that_is_no_failure_is_refused_in_one_line(
    content: bytes | dict[str, Any], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.json"
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    path.write_bytes(raw)
    assert main(["fuzz", "--replay", str(path)]) == 2
    captured = capsys.readouterr()
    assert told in captured.err, captured.err
    assert captured.err.count("\n") == 1


def test_a_folder_is_not_a_failure(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        saved.load(tmp_path)
