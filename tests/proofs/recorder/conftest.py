"""Recordings of the fake engine."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from proofs.recorder import describe, settings
from spec.config import Config

sys.path.insert(0, str(Path(__file__).parent))
import fake_engine
from fake_engine import CONFIG, Record


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The fake engine, calling itself 0.32.0."""
    monkeypatch.setattr(describe, "release", lambda: "0.32.0")
    return fake_engine


@pytest.fixture
def record(engine: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Record:
    """Records random traffic: ``record(steps=..., policy=..., **knobs)``."""

    def make(
        steps: int = 300,
        seed: int = 1,
        version: str = "0.32.0",
        policy: str | None = None,
        **knobs: Any,
    ) -> Path:
        monkeypatch.setattr(describe, "release", lambda: version)
        monkeypatch.setenv(settings.RECORD, str(tmp_path))
        monkeypatch.setenv(settings.POOL, "1")
        config = Config(**{**{n: getattr(CONFIG, n) for n in CONFIG.__dataclass_fields__}, **knobs})
        kind = engine.RecordedAsync if config.async_scheduling else engine.Recorded
        scheduler = kind(config, version, seed, policy)
        engine.drive(scheduler, steps, seed)
        scheduler.shutdown()
        (path,) = tmp_path.glob("recording-*.jsonl")
        return path.rename(tmp_path / "recording.jsonl")

    return make
