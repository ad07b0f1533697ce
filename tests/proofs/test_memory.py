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
from proofs.memory import changed, memory
from proofs.outside import asks_outside
from proofs.symbolic import Limits

TEXT = """
from collections import deque
from enum import Enum
from functools import cache
from itertools import count
COUNT = __looks = 0
SEEN, QUEUE, MEMO = set(), deque(), {}
class Thing:
    made = 0
    held = _abc_looks = []
class Named(dict):
    pass
class Number(int):
    pass
NAMED, NUMBER = Named(), Number()
class Colour(Enum):
    RED = 1
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
    "__looks = 1",
    "Thing._abc_looks.append(3)",
    "Thing.__doc__ = 'three'",
    "look.__annotations__['looks'] = 3",
    "Colour.RED.looks = 3",
    "NAMED.looks = 3",
    "NUMBER.looks = 3",
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


def test_what_hangs_on_a_class_of_the_language_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("remembering")
    monkeypatch.setitem(sys.modules, "remembering", module)
    exec("from enum import Enum", vars(module))
    before = memory("remembering")
    assert not changed(before, memory("remembering"))
    monkeypatch.setattr("enum.Enum.looks", 3, raising=False)
    assert changed(before, memory("remembering")) == ["remembering.Enum"]


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
        ("import bisect", "bisect"),
        ("from enum import sys", "enum.sys"),
        ("from model.request import *", "model.request.*"),
        ("from model.runner import shim", "model.runner.shim"),
        ("from . import clock", "a relative import"),
        ("def f(request):\n    return id(request) % 1000003", "id"),
        ("def f(request):\n    return max([request], key=hash)", "hash"),
        ("def f(request):\n    return int(str(request)[-4:])", "a text made of values"),
        ("def f(request):\n    return '9' in f'{request}'", "a text made of values"),
        ("def f(request):\n    return '9' in '%s' % request", "a text made of values"),
        ("def f(request):\n    return '{}'.format(request)", ".format"),
        ("def f(request):\n    return request.__hash__()", ".__hash__"),
        ("def f(it):\n    return it.gi_frame", ".gi_frame"),
        ("def f():\n    return __file__", "__file__"),
        ("def f(request):\n    return getattr(request, 'looks', 0)", "getattr"),
        ("def f(it):\n    it.environment.index = 1", "it.environment.index"),
        ("def f(world):\n    world.index = 1", "world.index"),
        ("def f(it):\n    it.looks_taken = 1", "it.looks_taken"),
        ("def f():\n    bisect_right.index = 1", "bisect_right.index"),
        ("def f():\n    f.index += 1", "f.index"),
    ],
)
def test_what_a_module_asks_outside_is_seen(
    text: str, used: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("asking")
    module.__file__ = str(tmp_path / "asking.py")
    Path(module.__file__).write_text(f"from bisect import bisect_right\n{text}\n")
    monkeypatch.setitem(sys.modules, "asking", module)
    assert asks_outside("asking") == [f"asking uses {used}"]


def test_what_the_model_is_made_of_may_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("asking")
    module.__file__ = str(tmp_path / "asking.py")
    text = (
        "def f(request, step):\n    assert step, f'{step}'\n    request.status = min(step.rows)\n"
    )
    Path(module.__file__).write_text(text)
    monkeypatch.setitem(sys.modules, "asking", module)
    assert not asks_outside("asking")


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
