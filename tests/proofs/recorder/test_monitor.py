"""The monitor: one line, one trace, and then what it was told."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from fake_engine import CONFIG

from proofs.recorder import describe, plugin, settings
from proofs.recorder.monitor import InvariantViolated
from proofs.recording.check import check

WRONG = replace(CONFIG, exempt_only_request=False)
BROKEN = "uniform-decode"


@pytest.fixture
def watched(engine: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A scheduler of 0.29.0, which breaks ``uniform-decode``, under a monitor."""

    def make(act: str) -> Any:
        monkeypatch.setattr(describe, "release", lambda: "0.29.0")
        monkeypatch.setenv(settings.MONITOR, act)
        monkeypatch.setenv(settings.TRACES, str(tmp_path))
        return engine.Recorded(WRONG, "0.29.0", 1)

    return make


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.message for r in caplog.records if r.levelno == logging.ERROR]


def test_warn_says_it_once_writes_a_trace_and_goes_on(
    watched: Any, engine: ModuleType, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    outputs = engine.drive(watched("warn"), 1200, 1)
    assert len(outputs) == 1200
    (line,) = said(caplog)
    assert f"breaks {BROKEN} for r" in line
    assert "num_scheduled_tokens = 1 != 4 = 1 + 3" in line
    (trace,) = tmp_path.glob("violation-*.jsonl")
    assert str(trace) in line
    checked = check(trace)
    assert checked.judged.violated[BROKEN] == 1
    assert not checked.unlike


def test_a_trace_begins_with_a_snapshot_when_the_run_is_long(
    watched: Any, engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proofs.recorder.watched.WINDOW", 40)
    engine.drive(watched("dump"), 1200, 1)
    traces = sorted(tmp_path.glob("violation-*.jsonl"), key=lambda path: path.stat().st_mtime)
    assert len(traces) > 3
    texts = [trace.read_text(encoding="utf-8").splitlines() for trace in traces]
    assert max(map(len, texts)) < 200
    windows = [t for t, text in zip(traces, texts, strict=True) if '"snapshot"' in text[1]]
    assert windows
    for trace in windows:
        checked = check(trace)
        assert checked.judged.violated[BROKEN] >= 1
        assert not checked.unlike
        assert not checked.why_not


def test_raise_raises_after_the_trace_is_written(
    watched: Any, engine: ModuleType, tmp_path: Path
) -> None:
    with pytest.raises(InvariantViolated, match=BROKEN):
        engine.drive(watched("raise"), 1200, 1)
    assert len(list(tmp_path.glob("violation-*.jsonl"))) == 1


def test_a_right_scheduler_is_left_in_peace(
    engine: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(settings.MONITOR, "raise")
    monkeypatch.setenv(settings.TRACES, str(tmp_path))
    engine.drive(engine.Recorded(CONFIG, "0.32.0", 1), 600, 1)
    assert said(caplog) == []
    assert list(tmp_path.iterdir()) == []


def test_the_plugin_watches_whatever_class_the_engine_would_use(
    engine: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class SchedulerConfig:
        def get_scheduler_cls(self) -> type:
            kind: type = engine.FakeScheduler
            return kind

    monkeypatch.setitem(
        __import__("sys").modules, "vllm.config", SimpleNamespace(SchedulerConfig=SchedulerConfig)
    )
    plugin.register()
    assert SchedulerConfig().get_scheduler_cls() is engine.FakeScheduler
    monkeypatch.setenv(settings.RECORD, str(tmp_path))
    plugin.register()
    plugin.register()  # once per process is enough
    kind = SchedulerConfig().get_scheduler_cls()
    assert issubclass(kind, engine.FakeScheduler)
    assert kind.__name__ == "RecordingScheduler"
    scheduler = kind(CONFIG, "0.32.0", 1)
    engine.drive(scheduler, 5)
    scheduler.shutdown()
    assert len(list(tmp_path.glob("recording-*.jsonl"))) == 1
