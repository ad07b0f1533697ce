"""What the recorder writes, and that it never touches what it watches."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fake_engine import CONFIG, Record

from proofs.recorder import settings
from proofs.recording.check import check

KNOWN = (
    "n kind add schedule book draft finish end request rows asked preempted state running waiting "
    "held free taken step samples drafts hit slots match"
)
"""Every word a recording of ordinary traffic may hold, but for its first line."""


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_recording_of_a_right_scheduler_is_clean(record: Record, asynchronous: bool) -> None:
    checked = check(record(async_scheduling=asynchronous))
    assert checked.is_clean, (checked.unlike, checked.judged.found[:3])
    assert checked.num_compared > 200
    met = checked.judged.met
    for situation in ("preemptions", "prefix hits", "padded requests", "length caps", "aborts"):
        assert met[situation] > 0, situation
    for invariant in ("positive-schedule", "uniform-decode", "progress", "block-accounting"):
        assert checked.judged.applied[invariant] > 50, invariant


@pytest.mark.parametrize(
    ("version", "invariant", "knobs"),
    [
        ("0.29.0", "uniform-decode", {"exempt_only_request": False}),
        ("0.28.0", "within-model-len", {"exempt_only_request": False}),
    ],
)
def test_a_recording_of_a_wrong_scheduler_is_not(
    record: Record, version: str, invariant: str, knobs: dict[str, Any]
) -> None:
    checked = check(record(version=version, steps=600, **knobs))
    assert checked.judged.violated[invariant] > 0
    assert not checked.unlike  # the model of that release does the same


def test_the_model_of_another_policy_differs(record: Record) -> None:
    checked = check(record(policy="none", steps=400))
    assert "engine" in checked.unlike
    assert not checked.is_clean


def test_nothing_of_a_request_is_written(record: Record, engine: ModuleType) -> None:
    text = record().read_text(encoding="utf-8")
    assert str(engine.TOKEN) not in text
    assert engine.NAME not in text
    body = [json.loads(line) for line in text.splitlines()[1:]]
    words = {word for line in body for word in re.findall(r"[A-Za-z_-]{2,}", json.dumps(line))}
    assert words <= set(KNOWN.split())


def test_recording_changes_no_decision(
    engine: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = engine.drive(engine.FakeScheduler(CONFIG, "0.32.0", 3), 200, 3)
    monkeypatch.setenv(settings.RECORD, str(tmp_path))
    monkeypatch.setenv(settings.MONITOR, "warn")
    assert engine.drive(engine.Recorded(CONFIG, "0.32.0", 3), 200, 3) == plain


def test_a_recorder_that_fails_says_so_once_and_leaves_the_engine_alone(
    engine: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(settings.RECORD, str(tmp_path))
    scheduler = engine.Recorded(CONFIG, "0.32.0", 3)
    monkeypatch.setattr(scheduler._schedproof, "sink", lambda line: 1 / 0)
    with caplog.at_level(logging.ERROR):
        engine.drive(scheduler, 50, 3)
    assert [r.message for r in caplog.records if r.levelno == logging.ERROR] == [
        "schedproof: the recording ends here: division by zero"
    ]


def test_without_settings_nothing_is_watched(engine: ModuleType) -> None:
    assert engine.Recorded(CONFIG, "0.32.0", 3)._schedproof is None


def test_an_exception_of_the_scheduler_is_recorded_and_passed_on(
    engine: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(settings.RECORD, str(tmp_path))
    scheduler = engine.Recorded(CONFIG, "0.32.0", 3)
    engine.drive(scheduler, 20, 3)
    monkeypatch.setattr(scheduler.model, "schedule", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        scheduler.schedule()
    scheduler.shutdown()
    (path,) = tmp_path.glob("*.jsonl")
    checked = check(path)
    assert checked.judged.violated["no-reachable-assert"] == 1
    assert checked.unlike  # the model did not raise


def test_illegal_settings_are_complaints(
    engine: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(settings.MONITOR, "shout")
    monkeypatch.setenv(settings.POOL, "often")
    with caplog.at_level(logging.ERROR):
        engine.Recorded(CONFIG, "0.32.0", 3)
    assert [r.message for r in caplog.records] == [
        "schedproof: SCHEDPROOF_MONITOR=shout is illegal; legal: off, warn, dump, raise",
        "schedproof: SCHEDPROOF_COUNT_POOL_EVERY=often is not a positive whole number",
    ]
