"""The simulation reproduces the shape of the published result, every time the same."""

from __future__ import annotations

import argparse
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from model.dp import CostModel
from proofs.cli import main
from proofs.commands.simulate import EXAMPLES
from proofs.errors import UsageError
from proofs.simulate import AFTER, BEFORE, Settings, add_arguments, run, simulate
from proofs.simulate_plot import Curve, line_chart, tick_size

SMALL = Settings(ranks=4, steps=800)
SVG = "{http://www.w3.org/2000/svg}"


def test_the_guard_hurts_at_low_load_and_not_when_every_rank_is_busy() -> None:
    headline = Settings(ranks=16, steps=800)
    quiet = [simulate(headline, policy, 2.0) for policy in (BEFORE, AFTER)]
    assert quiet[1].p99_ms < 0.3 * quiet[0].p99_ms, "55126 must win clearly at low load"
    assert quiet[1].fallback_steps == 0
    busy = [simulate(SMALL, policy, 8.0) for policy in (BEFORE, AFTER)]
    assert busy[0].idle_ranks == 0
    assert busy[0].p99_ms == pytest.approx(busy[1].p99_ms, rel=0.02), "no gain when all are busy"


def test_the_loss_is_the_cost_models_ratio_and_nothing_else() -> None:
    flat = Settings(ranks=16, steps=400, cost=CostModel(15, 15, 15, 0))
    before, after = (simulate(flat, policy, 2.0) for policy in (BEFORE, AFTER))
    assert before.fallback_steps > 0
    assert before.p99_ms == pytest.approx(after.p99_ms)


def test_the_same_seed_gives_the_same_point() -> None:
    settings = Settings(ranks=2, steps=300, seed=5)
    assert simulate(settings, BEFORE, 2.0) == simulate(settings, BEFORE, 2.0)
    assert simulate(settings, BEFORE, 2.0) != simulate(Settings(2, 300, 6), BEFORE, 2.0)


@pytest.mark.parametrize(
    ("illegal", "sentence"),
    [
        ({"ranks": 0}, r"ranks = 0 is illegal; legal: 1 to 256\."),
        ({"ranks": 257}, r"ranks = 257 is illegal"),
        ({"steps": 199}, r"steps = 199 is illegal; legal: 200 to 1000000\."),
        ({"steps": 1_000_001}, "steps = 1000001 is illegal"),
        ({"seed": -1}, r"seed = -1 is illegal; legal: 0 to 18446744073709551615\."),
        ({"seed": 2**64}, "seed"),
        ({"qps": ()}, "qps is illegal; legal: 1 to 64 loads, ascending"),
        ({"qps": tuple(range(1, 66))}, "1 to 64 loads"),
        ({"qps": (0.0,)}, r"qps = 0.0 is illegal; legal: 0.001 to 1000.0\."),
        ({"qps": (1e-300,)}, "qps"),
        ({"qps": (1e308,)}, "qps"),
        ({"qps": (float("inf"),)}, "qps"),
        ({"qps": (1.0, float("nan"))}, "qps"),
        ({"qps": (2.0, 1.0)}, "ascending"),
        ({"qps": (2.0, 2.0)}, "ascending"),
    ],
)
def test_illegal_inputs_are_refused_in_one_sentence(
    illegal: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        Settings(**illegal)  # type: ignore[arg-type]


def test_the_command_prints_a_table_and_writes_a_plot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    plot = tmp_path / "plot.svg"
    arguments = ["--ranks", "2", "--steps", "200", "--output", str(plot)]
    assert run(parser.parse_args(arguments)) == 0
    printed = " ".join(capsys.readouterr().out.split())  # captions are folded
    assert "53962 → 55126" in printed and "inputs, not measurements" in printed
    assert [path.name for path in tmp_path.iterdir()] == ["plot.svg"], "a temporary file is left"
    root = ElementTree.fromstring(plot.read_text(encoding="utf-8"))
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title") is not None
    description = root.find(f"{SVG}desc")
    assert description is not None and "53962: " in (description.text or "")


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("missing/plot.svg", "no folder"),
        ("folder.svg", "it is a folder"),
        ("pipe.svg", "no ordinary file"),
        ("plot.png", r"legal: a name that ends in \.svg"),
        ("plot", r"legal: a name that ends in \.svg"),
    ],
)
def test_a_plot_that_cannot_be_written_is_refused_before_the_simulation(
    tmp_path: Path, output: str, told: str
) -> None:
    (tmp_path / "folder.svg").mkdir()
    os.mkfifo(tmp_path / "pipe.svg")
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    arguments = parser.parse_args(["--steps", "1000000", "--output", str(tmp_path / output)])
    with pytest.raises((ValueError, UsageError), match=told):
        run(arguments)


@pytest.mark.parametrize(
    "free", [["full", "per-token"], ["full", "piecewise", "none", "per-token"]]
)
def test_a_step_that_costs_nothing_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], free: list[str]
) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    costs = [part for name in free for part in (f"--{name}-ms", "0")]
    small = ["--ranks", "1", "--steps", "200", "--qps", "0.001,1"]
    plot = tmp_path / "plot.svg"
    assert run(parser.parse_args([*small, *costs, "--output", str(plot)])) == 0
    assert "n/a" in capsys.readouterr().out
    ElementTree.fromstring(plot.read_text(encoding="utf-8"))


def test_the_example_of_the_help_shows_the_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = [line for line in EXAMPLES.splitlines() if "--ranks" in line]
    monkeypatch.chdir(tmp_path)
    assert main(example.split()[3:]) == 0
    assert "-83" in capsys.readouterr().out


def test_the_costs_and_loads_of_the_command_line_are_the_ones_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    numbers = ["--qps", "2.5", "--full-ms", "7", "--piecewise-ms", "7", "--per-token-ms", "0"]
    small = ["--ranks", "2", "--steps", "300", "--output", str(tmp_path / "plot.svg")]
    assert run(parser.parse_args([*numbers, *small])) == 0
    printed = capsys.readouterr().out
    assert "2.5" in printed and "7.0 → 7.0" in printed


@pytest.mark.parametrize("name", ["full_ms", "piecewise_ms", "none_ms", "per_token_ms"])
@pytest.mark.parametrize("cost", [-1.0, 10_001.0, 1e308, float("nan"), float("inf")])
def test_a_cost_is_a_number_of_milliseconds(name: str, cost: float) -> None:
    with pytest.raises(ValueError, match=f"{name} = .* is illegal; legal: 0 to 10000 milliseconds"):
        CostModel(**{name: cost})


def test_a_chart_survives_one_load_special_characters_and_missing_values() -> None:
    text = line_chart("a < b & c", ("x", "y"), [1.0], [Curve("<one>", [float("nan")])])
    title = ElementTree.fromstring(text).find(f"{SVG}title")
    assert title is not None and title.text == "a < b & c"


def test_ticks_are_round_numbers() -> None:
    assert [tick_size(largest) for largest in (1.0, 15.0, 90.0, 100.0)] == [0.2, 5.0, 20.0, 20.0]
