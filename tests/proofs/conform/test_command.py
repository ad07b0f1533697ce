"""``python -m proofs conform``: exit statuses, one-line errors, the report."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from proofs.cli import main
from proofs.commands import conform
from proofs.conform.engine import VARIABLE, Installation
from proofs.errors import EXIT_PROVED, EXIT_UNDECIDED, EXIT_USAGE, EXIT_VIOLATED

Run = Callable[..., int]


@pytest.fixture
def run(fake: Callable[..., Installation], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command on the fake engine."""

    def command(*arguments: str, **settings: str) -> int:
        installation = fake(**settings)
        monkeypatch.setattr(conform, "find", lambda python, unpacked: installation)
        return main(["conform", *arguments])

    return command


def test_no_difference(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--vllm", "0.33.0", "--steps", "300") == EXIT_PROVED
    out = capsys.readouterr().out
    assert "model (policy 55126) and vLLM 0.33.0: no difference in 3" in out
    assert "met: " in out


def test_a_difference(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    status = run("--vllm", "0.33.0", "--policy", "none", "--steps", "9000")
    out = capsys.readouterr().out
    assert status == EXIT_VIOLATED
    assert "then the model (policy none) and vLLM 0.33.0 differ:" in out
    assert "DIFFERENT in " in out


def test_findings(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--vllm", "0.33.0", "--findings") == EXIT_PROVED
    out = capsys.readouterr().out
    assert "no-reachable-assert      sync   confirmed: fake.py:1" in out
    assert "2 of 2 findings confirmed" in out


def test_findings_that_do_not_reproduce(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--vllm", "0.33.0", "--findings", policy="54028") == EXIT_VIOLATED
    assert "NOT CONFIRMED: raised: model AssertionError" in capsys.readouterr().out


def test_an_engine_that_dies_proves_nothing(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--vllm", "0.33.0", fault="dies") == EXIT_UNDECIDED
    assert capsys.readouterr().err == "proofs: the engine's process ended: fake: out of luck\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--vllm", "0.19.0"], "--vllm 0.19.0 is illegal; legal: 0.25.0 to 0.33.x"),
        (["--vllm", "0.33.0", "--policy", "5396"], "5396"),
        (["--vllm", "0.33.0", "--steps", "0"], "--steps 0 is illegal"),
        (["--vllm", "0.33.0", "--seed", "-1"], "--seed -1 is illegal"),
        (["--vllm", "0.33.0"], "no engine is named"),
        (["--vllm", "0.33.0", "--runner", "--findings"], "asks no scheduler: leave out --findings"),
        (["--vllm", "0.33.0", "--runner", "--policy", "none"], "leave out --policy"),
        ([], "--vllm"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert main(["conform", *arguments]) == EXIT_USAGE
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
