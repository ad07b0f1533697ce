"""The whole released engine, tiny, where the environment names one; otherwise skipped."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from proofs.cli import main
from proofs.conform.engine import Installation
from proofs.recording.check import check

pytestmark = pytest.mark.engine
CONFORM = Path(__file__).parents[1] / "conform" / "conftest.py"


def _fixtures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conform_fixtures", CONFORM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


released = _fixtures().released


@pytest.mark.parametrize("mode", [[], ["--async"]], ids=["sync", "async"])
def test_the_monitor_finds_nothing_and_the_recording_is_clean(
    released: tuple[Installation, str],
    tmp_path: Path,
    mode: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    installation, version = released
    path = tmp_path / "run.jsonl"
    asked = ["--vllm", version, "--python", installation.python, "--output", str(path)]
    recorded = ["trace", "record", *asked, "--steps", "80", "--monitor", "raise", *mode]
    assert main(recorded) == 0
    told = capsys.readouterr()
    assert '"steps": 80' in told.out
    assert '"died": ""' in told.out
    assert "breaks" not in told.err
    checked = check(path)
    assert checked.is_clean, (checked.unlike, checked.judged.found[:3])
    assert checked.num_compared > 60
    assert checked.judged.met["rows cut or unpadded at max_model_len"] > 0


def test_another_version_is_refused(
    released: tuple[Installation, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installation, version = released
    other = "0.31.0" if version != "0.31.0" else "0.30.0"
    asked = ["--vllm", other, "--python", installation.python, "--output", str(tmp_path / "x")]
    assert main(["trace", "record", *asked]) == 2
    assert f"has vLLM {version}, not {other}" in capsys.readouterr().err


def test_a_test_for_an_old_bug_passes_on_the_fixed_release(
    released: tuple[Installation, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installation, _ = released
    traces = tmp_path / "traces"
    wanted = ["--only", "positive-schedule", "--only", "within-model-len", "--quiet"]
    assert main(["check", "--policy", "45237", *wanted, "--save-traces", str(traces)]) == 1
    for trace in traces.iterdir():
        name = trace.name.partition(".")[0].replace("-", "_")
        output = str(tmp_path / f"test_{name}.py")
        assert main(["trace", "emit-test", str(trace), "--vllm", "0.25.0", "--output", output]) == 0
    ran = subprocess.run(
        [installation.python, "-m", "pytest", "-q", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "No module named pytest" in ran.stderr:
        pytest.skip("the engine's environment has no pytest")
    assert ran.returncode == 0, ran.stdout[-2000:]
    assert "3 passed" in ran.stdout
