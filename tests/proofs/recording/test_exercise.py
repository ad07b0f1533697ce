"""Recording without an engine there, or with one that dies: one line, and a status that says so."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from proofs.cli import main
from proofs.commands import trace_engine
from proofs.conform.engine import VARIABLE


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "no engine is named"),
        (["--python", "/nowhere/python"], "is not an executable file"),
        (["--python", sys.executable], "has no engine installed"),
        (["--steps", "0"], "--steps 0 is illegal"),
        (["--threshold", "-1"], "--threshold -1 is illegal"),
        (["--python", sys.executable, "--unpacked", "UNPACKED"], "has no compiled parts"),
    ],
)
def test_what_is_missing_is_said(
    arguments: list[str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / "vllm").mkdir()
    arguments = [str(tmp_path) if word == "UNPACKED" else word for word in arguments]
    output = ["--vllm", "0.32.0", "--output", str(tmp_path / "run.jsonl")]
    assert main(["trace", "record", *output, *arguments]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("whole", [False, True])
def test_an_engine_that_dies_is_said_and_what_it_did_can_be_checked(
    whole: bool,
    record: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = record(steps=20).read_text(encoding="utf-8").splitlines(keepends=True)
    text = "".join(lines if whole else lines[:-1])
    died = {"steps": 20, "died": "AssertionError: "}
    monkeypatch.setattr(trace_engine, "exercise", lambda *told: (died, text, []))
    output = tmp_path / "run.jsonl"
    arguments = ["--vllm", "0.32.0", "--python", sys.executable, "--output", str(output)]
    assert main(["trace", "record", *arguments]) == 3
    said = capsys.readouterr().err
    assert "the engine died: AssertionError" in said
    named = said.rpartition("recorded: ")[2].split()
    assert named == ["trace", "check", *([] if whole else ["--partial"]), str(output)]
    assert main(named) == 0
