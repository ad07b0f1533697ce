"""A row that a report proposes settles the gap it is proposed for; where none does, it says so.

Each text does no harm, and uses one thing that the profile does not know.  The proposed rows are
given back until no gap is left: none may come twice, and the text must come out as proved.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import texts

from proofs.source.check import check_source
from proofs.source.errors import NO_ROW
from proofs.source.verdicts import SourceReport
from proofs.verdict import PROVED, SYNC, UNDECIDED

MOST = 4
"""Rows after which a text of one line should be settled."""
THING = "from vllm.fork import thing\n"


def _step(statements: str, imports: str = "") -> dict[str, str]:
    return {"imports": imports, "schedule": statements.replace("\n", "\n        ")}


def _admit(statements: str, imports: str = "") -> dict[str, str]:
    return {"imports": imports, "admit": statements.replace("\n", "\n            ")}


SETTLED: dict[str, dict[str, str]] = {
    # the engine's objects
    "an attribute": {"init": "self.t = self.vllm_config.thrift"},
    "one of an attribute": {"init": "self.t = self.vllm_config.extra.thrift"},
    "one that is compared": _step("if self.scheduler_config.most > 3:\n    pass"),
    "one that is counted with": _step("x = self.scheduler_config.most + 1"),
    "one that is walked": _step("for x in self.vllm_config.extras:\n    pass"),
    "one that is looked up in": _step("x = self.vllm_config.extras['a']"),
    "a method": _step("self.kv_cache_manager.forget()"),
    "a method of two answers": _step("a, b = self.kv_cache_manager.forget()"),
    "a method whose answer is walked": _step("for x in self.kv_cache_manager.forget():\n    pass"),
    "a method whose answer is opened": _step("x = self.kv_cache_manager.forget()\nx.part.size()"),
    "a method whose answer is kept": {
        "init": "self.keeper = self.vllm_config.keeper()",
        "schedule": "self.keeper.tick(1)",
    },
    "a method that opens a scope": _step("with self.kv_cache_manager.quiet():\n    pass"),
    "a field of a request": _admit("x = request.extra"),
    "a counter of a request": _admit("request.extra = getattr(request, 'extra', 0) + 1"),
    "a field of a record": _step("x = SchedulerOutput(a=1).b"),
    # imported names
    "a function": _step("thing()", THING),
    "a function whose answer is opened": _step("thing().y()", THING),
    "a function whose answer is counted with": _admit("rows += thing(rows)", THING),
    "a decorator": {"imports": THING, "methods": "    @thing\n    def x(self):\n        pass\n"},
    "a decorator that is made": {
        "imports": THING,
        "methods": "    @thing('x')\n    def x(self):\n        return 1\n",
        "schedule": "self.x()",
    },
    "a scope": _step("with thing('x'):\n    pass", THING),
    "a base": _step("C().x", THING + "class C(thing):\n    x = 1\n"),
    "an object": _step("thing.x.y()", THING),
    "a list": _step("for x in thing:\n    pass", THING),
    "a dictionary": _step("x = thing['a']", THING),
    "a number": _step("x = thing + 1", THING),
    "a flag": _step("if thing:\n    pass", THING),
    "a default": {
        "imports": THING,
        "methods": "    def x(self, y=thing):\n        return y\n",
        "schedule": "self.x()",
    },
    "a class": _admit("x = isinstance(request, thing)", THING),
    "one imported in a function": _step("from vllm.fork import thing\nthing()"),
    "a module imported in a function": _step("import vllm.envs as envs\nx = envs.FLAG"),
    "a module": _step("torch.cuda.synchronize()", "import torch\n"),
    "what a known module has": _step("time.ctime()", "import time\n"),
    "what the standard library has": _step("itertools.combinations([1], 1)", "import itertools\n"),
    "one that may be missing": _step(
        "if thing is not None:\n    pass",
        "try:\n    from vllm.fork import thing\nexcept ImportError:\n    thing = None\n",
    ),
    # state
    "a number of the scheduler": {"init": "self.n = 0", "schedule": "self.n += 1"},
    "a list of the scheduler": {"init": "self.n = []", "schedule": "self.n.append(1)"},
    "a set of the scheduler": {"init": "self.n = set()", "admit": "self.n.add(request.request_id)"},
    "an attribute that is new": {"schedule": "self.n = 1"},
    "what cannot be compared": {"init": "self.n = iter([1])"},
    "a global": _step("N.append(1)", "N = []\n"),
    "an attribute of a class": _step("C.n += 1", "class C:\n    n = 0\n"),
    "an enumeration's member": _step(
        "C.X.n = 1", "from enum import Enum\nclass C(Enum):\n    X = 0\n"
    ),
    "a slot": _step("C.n = 1", "class P:\n    __slots__ = ('n',)\nC = P()\n"),
    "a property that is remembered": {
        "imports": "from functools import cached_property\n",
        "methods": "    @cached_property\n    def most(self):\n        return 1\n",
        "schedule": "self.most",
    },
}
UNSETTLED: dict[str, dict[str, str]] = {
    "an attribute of the engine's is set": _step("self.scheduler_config.most = 1"),
    "an object is called": _step("self.scheduler_config()"),
    "a record by position": _step("SchedulerOutput(1)"),
    "an import under a condition": _step("thing()", "X = 1\nif X:\n    from a import thing\n"),
    "an import that may fail in a function": _step(
        "try:\n    import vllm.fast\nexcept ImportError:\n    pass"
    ),
    "a handler": _step("try:\n    self.requests[17]\nexcept thing:\n    pass", THING),
    "a subclass": _step("issubclass(Scheduler, thing)", THING),
    "a keyword nobody knows": _admit("self.kv_cache_manager.allocate_slots(request, 1, shiny=1)"),
}


def _check(parts: dict[str, str], rows: str = "") -> SourceReport:
    return check_source(texts(**parts), "mini", modes=[SYNC], profile=rows)


@pytest.mark.parametrize("name", SETTLED)
def test_the_proposed_rows_settle_it(name: str) -> None:
    rows: dict[str, str] = {}
    for _ in range(MOST):
        report = _check(SETTLED[name], "\n".join(rows.values()))
        gaps = {gap.attribute: gap for finding in report.findings for gap in finding.gaps}
        if not gaps:
            break
        again = gaps.keys() & rows.keys()
        assert not again, f"a proposed row does not settle its gap: {[rows[a] for a in again]}"
        assert all(gap.settle for gap in gaps.values()), f"no row is proposed: {gaps}"
        rows |= {attribute: gap.settle for attribute, gap in gaps.items()}
    assert rows, "there is nothing to settle: say so in test_world instead"
    assert report.verdict == PROVED, f"{report.findings[0]} with {list(rows.values())}"


def test_a_row_for_one_name_of_an_optional_import_says_nothing_of_the_others() -> None:
    parts = {
        "imports": "try:\n    from vllm.fork import thing\n    HAS = True\n"
        "except ImportError:\n    thing, HAS = None, False\n",
        "admit": "rows = -rows if HAS else rows",
    }
    thing, missing = "import thing | const | None | | |", "import HAS | const | False | | |"
    assert _check(parts, thing).verdict == UNDECIDED
    assert _check(parts, f"{thing}\n{missing}").verdict == PROVED


@pytest.mark.parametrize("name", UNSETTLED)
def test_where_no_row_settles_it_the_report_says_so(name: str) -> None:
    report = _check(UNSETTLED[name])
    assert report.verdict == UNDECIDED, report
    gaps = [gap for finding in report.findings for gap in finding.gaps]
    assert gaps and not any(gap.settle for gap in gaps), gaps
    assert all(NO_ROW in str(gap) for gap in gaps)
