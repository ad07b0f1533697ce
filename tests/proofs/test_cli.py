"""The command line: exit statuses, one clear line on bad input, JSON alone on stdout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from proofs.cli import main

CHEAP = ["check", "--policy", "55126", "--only", "no-reachable-assert", "--jobs", "1"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check", "--policy", "5396"], "unknown policy '5396'; did you mean 53962"),
        (["check", "--only", "uniform"], "unknown invariant 'uniform'; did you mean"),
        (["check", "--timeout", "0"], "--timeout 0 is not a positive number"),
        (["check", "--timeout", "nan"], "--timeout nan is not a positive number"),
        (["check", "--jobs", "0"], "--jobs 0 is not a positive number"),
        (["check", "--format", "yaml"], "invalid choice: 'yaml'"),
        (["explain", "nothing-like-it"], "unknown id"),
        (["explain", "nonsense"], "unknown id 'nonsense'; legal: "),
        (["explain", "progres"], "unknown id 'progres'; did you mean progress?"),
        (["frobnicate"], "unknown command 'frobnicate'"),
        (["chekc"], "did you mean check?"),
        ([], "required: COMMAND"),
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


def test_a_violated_policy_is_status_1_with_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(CHEAP) == 1
    out = capsys.readouterr().out
    assert "padded rows must keep the uniform width" in out
    assert "VERIFICATION FAILED" in out


def test_json_is_the_documented_interface(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CHEAP, "--format", "json"]) == 1
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert captured.err == ""
    assert document["schema"] == 1
    assert document["verdict"] == "violated"
    assert {"target", "seconds", "obligations"} <= set(document)
    for obligation in document["obligations"]:
        assert {
            "invariant",
            "policy",
            "verdict",
            "expected",
            "scope",
            "seconds",
            "paths",
            "queries",
            "solver_seconds",
            "trace",
        } <= set(obligation)
        trace = obligation["trace"]
        assert {"config", "steps", "source"} <= set(trace)
        broken = [step["violated"] for step in trace["steps"] if step["violated"]]
        assert {"id", "left", "relation", "right", "terms"} <= set(broken[0])


def test_running_out_of_time_is_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--policy", "54028", "--timeout", "0.0001", "--jobs", "1"]) == 3
    out = capsys.readouterr().out
    assert "UNDECIDED" in out and "SUCCESSFUL" not in out


def test_output_goes_to_a_file_whole_or_not_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "result.json"
    assert main([*CHEAP, "--format", "json", "--output", str(target)]) == 1
    assert json.loads(target.read_text())["schema"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]
    assert main([*CHEAP, "--output", str(tmp_path / "no" / "such" / "file")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_list_and_explain_speak_of_every_id(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    for name in ("uniform-decode", "small-threshold", "placeholders-rejected", "55126", "θ"):
        assert name in listed
    for name in ("uniform-decode", "small-threshold", "55126", "max_model_len", "mamba_align"):
        assert main(["explain", name]) == 0
        assert capsys.readouterr().out.startswith(name)


def test_what_is_not_installed_is_left_to_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacks(_: object) -> int:
        raise ModuleNotFoundError("No module named 'rich'")

    monkeypatch.setattr("proofs.cli._dispatch", lacks)
    with pytest.raises(ModuleNotFoundError):
        main(["list"])


def test_a_defect_is_one_line_and_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_: object) -> int:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("proofs.cli._dispatch", fails)
    assert main(["list"]) == 3
    assert capsys.readouterr().err.endswith("RuntimeError: two lines\n")


def _in_a_shell(command: str) -> subprocess.CompletedProcess[str]:
    """``python -m proofs`` with redirections, which decide what it may write to."""
    line = f'exec "$0" -m proofs {command}'
    return subprocess.run(
        ["sh", "-c", line, sys.executable], capture_output=True, text=True, check=False
    )


def test_without_a_place_to_print_it_says_so() -> None:
    ran = _in_a_shell("list >&-")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "proofs: stdout is closed, so nothing can be told; send it to /dev/null\n"


@pytest.mark.parametrize("command", ["chekc 2>&-", "list >&- 2>&-", "explain nothing-like-it 2>&-"])
def test_a_complaint_is_no_output(command: str) -> None:
    ran = _in_a_shell(command)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", "")


def test_output_needs_no_place_for_complaints() -> None:
    ran = _in_a_shell("list 2>&-")
    assert ran.returncode == 0 and "uniform-decode" in ran.stdout
