"""Regression tests written from traces and recordings: self-contained, about one promise."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from proofs.cli import main

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The counterexamples of the policy of 0.29."""
    folder = tmp_path_factory.mktemp("traces")
    assert main(["check", "--policy", "53962", "--quiet", "--save-traces", str(folder)]) == 1
    return folder


def emitted(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(["trace", "emit-test", *arguments]) == 0
    return capsys.readouterr().out


def imports(text: str) -> set[str]:
    modules = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
    return {module.split(".")[0] for module in modules}


@pytest.mark.parametrize("invariant", ["uniform-decode", "no-reachable-assert"])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_from_a_trace(
    traces: Path, invariant: str, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = emitted(capsys, str(traces / f"53962-{invariant}-{mode}.trace.json"))
    name = invariant.replace("-", "_")
    assert imports(text) == {"collections", "inspect", "json", "vllm", "torch"}
    assert re.findall(r"^def (\w+)\(", text, re.M)[:2] == [f"test_{name}", f"check_{name}"]
    assert text.count("def check_") == 1
    assert "@" not in text
    assert f'"async_scheduling": {mode == "async"}' in text
    assert '["add", "A"' in text


def test_from_a_recording_it_begins_where_the_engine_was_idle(
    record: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = record(steps=900, version="0.29.0", exempt_only_request=False, max_num_seqs=1)
    output = tmp_path / "test_it.py"
    emitted(capsys, str(path), "--output", str(output))
    text = output.read_text(encoding="utf-8")
    (calls,) = (
        ast.literal_eval(node.value)
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "CALLS"
    )
    assert calls[0][0] == "add"
    assert calls[-1][0] == "schedule"
    arrived = [call[1] for call in calls if call[0] == "add"]
    named = {name for call in calls if call[0] == "schedule" for name in call[1]}
    assert named <= set(arrived)
    assert "def check_uniform_decode" in text


def test_a_clean_recording_has_nothing_to_test(
    record: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "emit-test", str(record(steps=30))]) == 2
    assert "breaks no promise" in capsys.readouterr().err


def test_bad_input(tmp_path: Path, traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(traces / "53962-uniform-decode-sync.trace.json")
    assert main(["trace", "emit-test", str(tmp_path / "none")]) == 2
    assert main(["trace", "emit-test", trace, "--vllm", "9.9.9"]) == 2
    assert main(["trace", "emit-test", trace, "--vllm", "0.33.0"]) in (0, 2)
    (tmp_path / "empty.json").write_text("{}", encoding="utf-8")
    assert main(["trace", "emit-test", str(tmp_path / "empty.json")]) == 2
    assert "not a trace file" in capsys.readouterr().err
