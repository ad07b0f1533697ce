"""The child process: every way it can fail is one sentence, and it never outlives its use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from proofs.conform.compare import knobs
from proofs.conform.engine import VARIABLE, EngineDied, EngineProcess, Installation, find
from proofs.errors import UsageError
from spec.config import Config

CALLS = [["add", "A", 3, 2, 0, 0]]


def test_no_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(UsageError, match=f"no engine is named; set {VARIABLE} or pass --python"):
        find(None, None)


def test_what_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not an executable file"):
        find(str(tmp_path / "python"), None)
    with pytest.raises(UsageError, match="holds no vllm package"):
        find(sys.executable, tmp_path)
    (tmp_path / "vllm").mkdir()
    assert find(sys.executable, tmp_path) == Installation(sys.executable, tmp_path)


def test_the_environment_names_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, sys.executable)
    assert find(None, None).python == sys.executable


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"version": "0.28.0"}, r"has vLLM 0\.28\.0, not 0\.33\.0; install that one"),
        ({"fault": "absent"}, "has no engine installed: no vllm"),
        ({"fault": "silent"}, "cannot run the engine: fake: no such module"),
    ],
)
def test_an_engine_that_is_not_the_one_asked_for(
    fake: Callable[..., Installation], settings: dict[str, str], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        EngineProcess(fake(**settings), "0.33.0")


def test_an_interpreter_without_vllm_is_told_apart() -> None:
    """The real child, run by an interpreter that has no engine."""
    with pytest.raises(UsageError, match="has no engine installed: No module named 'vllm'"):
        EngineProcess(Installation(sys.executable), "0.33.0")


def test_an_interpreter_that_cannot_start(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/nowhere/at/all\n")
    broken.chmod(0o755)
    with pytest.raises(UsageError, match="cannot start"):
        EngineProcess(Installation(str(broken)), "0.33.0")


def test_a_local_version_label_is_no_other_version(fake: Callable[..., Installation]) -> None:
    with EngineProcess(fake(version="0.33.0+cpu"), "0.33.0") as engine:
        seen = engine.play(knobs(Config()), CALLS)
    assert seen[0]["waiting"] == ["A"]


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("dies", "fake: out of luck"),
        ("garbage", "not a JSON line"),
        ("list", "not a JSON object"),
        ("empty", "an answer without observations"),
    ],
)
def test_a_child_that_stops_making_sense(
    fake: Callable[..., Installation], fault: str, sentence: str
) -> None:
    with (
        EngineProcess(fake(fault=fault), "0.33.0") as engine,
        pytest.raises(EngineDied, match=sentence),
    ):
        engine.play(knobs(Config()), CALLS)


def test_a_dead_child_stays_dead(fake: Callable[..., Installation]) -> None:
    with EngineProcess(fake(fault="dies"), "0.33.0") as engine:
        for _ in range(2):
            with pytest.raises(EngineDied, match="out of luck"):
                engine.play(knobs(Config()), CALLS)
