"""Ordinary Python is decided as it is run; `BREAKS` does what must not be done, by its means."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import texts
from ordinary import HARMLESS, placed
from planted import VERSION, release, verdicts

from proofs.source.check import check_source
from proofs.source.loader import Text
from proofs.source.verdicts import SourceReport
from proofs.verdict import PROVED, SYNC, VIOLATED


def _check(parts: dict[str, str]) -> SourceReport:
    return check_source(texts(**placed(parts)), "mini", modes=[SYNC])


BREAKS: dict[str, dict[str, str]] = {
    "a partial": {
        "imports": "from functools import partial\n",
        "admit": "rows = partial(min, -1)(rows)",
    },
    "a named tuple": {
        "imports": "from typing import NamedTuple\nclass P(NamedTuple):\n    n: int\n"
        "    m: int = -1\n",
        "admit": "rows = P(rows).m",
    },
    "a dataclass": {
        "imports": "from dataclasses import dataclass, field\n@dataclass(frozen=True, slots=True)\n"
        "class P:\n    n: list = field(default_factory=lambda: [-1])\n",
        "admit": "rows = P().n[0]",
    },
    "dataclasses that are equal": {
        "imports": "from dataclasses import dataclass\n@dataclass\nclass P:\n    n: int\n",
        "admit": "if P(rows) == P(3):\n    rows = -rows",
    },
    "dataclasses in order": {
        "imports": "from dataclasses import dataclass\n@dataclass(order=True)\n"
        "class P:\n    n: int\n",
        "admit": "if P(3) < P(rows):\n    rows = -rows",
    },
    "an enumeration's number": {
        "imports": "from enum import IntEnum\nclass N(IntEnum):\n    X = 3\n",
        "admit": "if rows == N.X or N.X + rows == 5:\n    rows = -rows",
    },
    "a match": {"admit": "match rows:\n    case 1 | 3:\n        rows = -rows"},
    "a match of two": {
        "admit": "match (rows > 2, padded):\n    case (True, False):\n        rows = -rows"
    },
    "a name in a match": {"admit": "match rows:\n    case n if n > 2:\n        rows = -n"},
    "None in a match": {
        "admit": "match blocks:\n    case None:\n        pass\n    case _:\n        rows = -rows"
    },
    "a generator": {
        "methods": "    def each(self, n):\n        yield n\n        yield -n\n",
        "admit": "rows = list(self.each(rows))[1]",
    },
    "a getter": {
        "imports": "from operator import attrgetter\nclass P:\n    n = -1\n",
        "admit": "rows = attrgetter('n')(P())",
    },
    "a scope of its own": {
        "imports": "class P:\n    def __enter__(self):\n        return -1\n"
        "    def __exit__(self, *error):\n        return None\n",
        "admit": "with P() as n:\n    rows = n",
    },
    "a scope that swallows": {
        "imports": "class P:\n    def __enter__(self):\n        return self\n"
        "    def __exit__(self, kind, error, traceback):\n        return kind is KeyError\n",
        "admit": "with P():\n    self.requests[17]\n    rows = rows\nrows = -rows",
    },
    "a property that is remembered": {
        "imports": "from functools import cached_property\nclass P:\n    n = 1\n"
        "    @cached_property\n    def x(self):\n        return self.n\n",
        "admit": "p = P()\np.x\np.n = 2\nif p.x == 1:\n    rows = -rows",
    },
    "one that is remembered only where it is asked": {
        "imports": "from functools import cached_property as remembered\nclass P:\n    n = 1\n"
        "    @remembered\n    def x(self):\n        return self.n\n",
        "admit": "p = P()\nif rows > 2 and p.x > 5:\n    pass\n"
        "p.n = 2\nif p.x == 2:\n    rows = -rows",
    },
    "an optional import that is there": {
        "imports": "try:\n    from collections import deque as q\n"
        "except ImportError:\n    q = None\n",
        "admit": "if q is not None:\n    rows = -rows",
    },
    "an import that must be there": {
        "imports": "try:\n    from vllm.fast import x\n    N = -1\n"
        "except ImportError:\n    raise\n",
        "admit": "rows = N",
    },
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_decides_nothing_is_decided(name: str) -> None:
    report = _check(HARMLESS[name])
    assert report.verdict == PROVED, report.rejected or report.findings[0].reason


@pytest.mark.parametrize("name", BREAKS)
def test_what_it_breaks_is_found(name: str) -> None:
    report = _check(BREAKS[name])
    assert report.verdict == VIOLATED, report.rejected or report.findings[0].reason


HEAD = """
import dataclasses
import enum
import functools
from typing import NamedTuple

try:
    import vllm_fast
    HAS_FAST = True
except ImportError:
    vllm_fast, HAS_FAST = None, False


class Stage(enum.IntEnum):
    FIRST = 0


class Plan(NamedTuple):
    rows: int
    first: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Cap:
    most: int


def each(requests):
    yield from requests


logger = init_logger(__name__)
"""
BODY = """
plan = Plan(num_new_tokens)
num_new_tokens = functools.partial(min, Cap(plan.rows).most)(plan.rows) + Stage.FIRST
match self.policy:
    case SchedulingPolicy.PRIORITY | SchedulingPolicy.FCFS:
        pass
    case _:
        num_new_tokens = 0
assert len(list(each(self.running))) == len(self.running)
logger.debug(f"{plan} {num_new_tokens:>4d}")
"""


def _edited(content: str) -> str:
    logger = "\nlogger = init_logger(__name__)\n"
    at = "\n            if num_new_tokens == 0:\n"
    assert content.count(logger) == 1 and content.count(at) == 1, f"{VERSION} reads otherwise"
    body = BODY.rstrip().replace("\n", "\n            ")
    return content.replace(logger, HEAD).replace(at, body + at)


def test_a_release_that_does_it_is_decided_as_it_is_without() -> None:
    plain = release(VERSION)
    edited = tuple(
        Text(t.name, _edited(t.content), t.helper) if t.name == "scheduler.py" else t for t in plain
    )
    runs = ("step", "preemption, priorities")
    assert verdicts(edited, SYNC, runs) == verdicts(plain, SYNC, runs)
