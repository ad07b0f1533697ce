"""Recording without an engine there: one line, status 2."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from proofs.cli import main
from proofs.conform.engine import VARIABLE


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "no engine is named"),
        (["--python", "/nowhere/python"], "is not an executable file"),
        (["--python", sys.executable], "has no engine installed"),
        (["--steps", "0"], "--steps 0 is illegal"),
        (["--threshold", "-1"], "--threshold -1 is illegal"),
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
    output = ["--vllm", "0.32.0", "--output", str(tmp_path / "run.jsonl")]
    assert main(["trace", "record", *output, *arguments]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert len(error.splitlines()) == 1
