"""A model that remembers anything outside the objects it is handed is told so."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from model.policies import RECOMMENDED
from model.scheduler import Scheduler
from model.step import Step
from proofs.clauses import SERVES
from proofs.induction import explore_body
from proofs.memory import changed, memory
from proofs.symbolic import Limits

TEXT = """
from collections import deque
COUNT = 0
SEEN, QUEUE, MEMO = set(), deque(), {}
class Thing:
    made = 0
    held = []
THING = Thing()
def look(number, seen=[]):
    return len(seen)
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
    assert "model.scheduler.Scheduler.steps_begun" in result.incomplete
