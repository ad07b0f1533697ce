"""A model that remembers anything outside the objects it is handed is told so."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from model.policies import RECOMMENDED
from model.scheduler import Scheduler
from model.step import Step
from proofs.clauses import SERVES
from proofs.induction import explore_body
from proofs.memory import asks_outside, changed, memory
from proofs.symbolic import Limits

TEXT = """
from collections import deque
from functools import cache
from itertools import count
COUNT = 0
SEEN, QUEUE, MEMO = set(), deque(), {}
class Thing:
    made = 0
    held = []
THING = Thing()
NESTED = {"names": (set(), [])}
def look(number, seen=[]):
    return len(seen)
def counting():
    held = []
    def counts():
        held.append(3)
    return counts
COUNTS = counting()
@cache
def remembers(number):
    return number
"""
ACTS = (
    "COUNT += 1",
    "SEEN.add(3)",
    "QUEUE.append(3)",
    "MEMO['a'] = 3",
    "Thing.made += 1",
    "Thing.held.append(3)",
    "THING.more = 3",
    "look.__defaults__[0].append(3)",
    "NEW = 3",
    "NESTED['names'][0].add(3)",
    "COUNTS()",
    "remembers(3)",
    "remembers.held = 3",
    "TURNS = count()",
)


@pytest.mark.parametrize("act", ACTS)
def test_what_a_module_remembers_is_seen(act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("remembering")
    monkeypatch.setitem(sys.modules, "remembering", module)
    exec(TEXT, vars(module))
    before = memory("remembering")
    assert not changed(before, memory("remembering"))
    exec(act, vars(module))
    assert changed(before, memory("remembering"))


def test_what_cannot_be_looked_into_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("remembering")
    monkeypatch.setitem(sys.modules, "remembering", module)
    exec("from itertools import count\nTURNS = count()", vars(module))
    assert changed(memory("remembering"), memory("remembering")) == ["remembering.TURNS"]


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("import random", "random"),
        ("def f():\n    import os.path", "os.path"),
        ("from time import monotonic", "time"),
        ("def f():\n    return __import__('os')", "__import__"),
        ("def f():\n    return open('x').read()", "open"),
    ],
)
def test_what_a_module_asks_outside_is_seen(
    text: str, used: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("asking")
    module.__file__ = str(tmp_path / "asking.py")
    Path(module.__file__).write_text(f"from bisect import bisect\n{text}\n")
    monkeypatch.setitem(sys.modules, "asking", module)
    assert asks_outside("asking") == [f"asking uses {used}"]


def test_the_model_asks_nothing_outside_and_changes_nothing() -> None:
    assert not asks_outside()
    assert not changed(memory(), memory())


def test_a_body_that_remembers_is_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Scheduler.begin_step

    def counts(self: Scheduler) -> Step:
        counter: Any = Scheduler
        counter.steps_begun = getattr(Scheduler, "steps_begun", 0) + 1
        return begin(self)

    monkeypatch.setattr(Scheduler, "steps_begun", 0, raising=False)
    monkeypatch.setattr(Scheduler, "begin_step", counts)
    limits = Limits(seconds=60)
    result = explore_body("first-decision", RECOMMENDED, "async", frozenset(SERVES), limits)
    assert "the model keeps model.scheduler.Scheduler" in result.incomplete
