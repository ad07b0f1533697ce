"""A text behaves here as in a real engine, or what differs is undecided, with the line.

Each condition is planted at the head of a step, or where a waiting request is admitted if it is
about one: where it holds, the requests that run are forgotten, or the rows of that one negated.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import text, texts

from proofs.source.check import check_source
from proofs.source.loader import Text
from proofs.source.verdicts import SourceReport
from proofs.verdict import PROVED, SYNC, UNDECIDED, VIOLATED

LOGGER = "from vllm.logger import init_logger\nlogger = init_logger(__name__)\n"
CONFIG = "from vllm.config import VllmConfig\n"
REQUEST = "from vllm.v1.request import Request\n"
FLAG = "from vllm.fork import FLAG\n"
NOTES = "NOTES = []\n"
PROBE = (
    LOGGER + NOTES + "class Probe:\n    def __str__(self):\n        NOTES.append(1)\n"
    "        return ''\n"
)


def _planted(top: str, condition: str) -> dict[str, str]:
    if "request" in condition or "rows" in condition:
        return {"imports": top, "admit": f"if {condition}:\n                rows = -rows"}
    return {"imports": top, "schedule": f"if {condition}:\n            self.running = []"}


def _done(top: str, statements: str) -> dict[str, str]:
    """Statements in which ``rows = -rows`` is what may happen."""
    statements = statements.replace("\n", "\n        ")
    if "rows," in statements or "rows)" in statements:
        return {"imports": top, "admit": statements.replace("\n", "\n    ")}
    return {"imports": top, "schedule": statements.replace("rows = -rows", "self.running = []")}


def _check(parts: dict[str, str]) -> SourceReport:
    return check_source(texts(**parts), "mini", modes=[SYNC])


UNKNOWN: dict[str, dict[str, str]] = {
    # the module's own name
    "its name": _planted("", '__name__ == "vllm.v1.core.sched.scheduler"'),
    "its name as a key": _planted("", '{"scheduler": 1}.get(__name__)'),
    "its name in a text": _planted("", 'f"{__name__}.x" == "scheduler.x"'),
    "its name as it is loaded": _planted("X = len(__name__)\n", "X == 9"),
    "its name, kept": _planted("class C:\n    x = __name__\n", 'C.x == "scheduler"'),
    "the name of a builtin": _planted("", 'len.__name__ == "len"'),
    # classes of the engine
    "an instance of a class": _planted(CONFIG, "isinstance(self.vllm_config, VllmConfig)"),
    "one of a union": _planted(CONFIG, "isinstance(self.vllm_config, int | VllmConfig)"),
    "an instance of Any": _planted("from typing import Any\n", "isinstance(None, Any)"),
    "a subclass": _planted(CONFIG, "issubclass(Scheduler, VllmConfig)"),
    "what a class has": _planted(CONFIG, 'hasattr(VllmConfig, "knob")'),
    "a new one": _planted(CONFIG, "VllmConfig() is None"),
    "derived from a request": _planted(REQUEST + "class C(Request):\n    x = 0\n", "C.x"),
    "of a manager's class": _planted("", "isinstance(self.kv_cache_manager, KVCacheManager)"),
    "of a record's class": _planted("", "isinstance(self.waiting, SchedulerOutput)"),
    "a queue as a deque": _planted("", "isinstance(self.waiting, deque)"),
    "whether one can be called": _planted("", "callable(self.kv_cache_manager)"),
    "an interface's method": _planted("", 'hasattr(self, "has_requests")'),
    "a release's field": _planted("", 'hasattr(request, "num_stale_output_tokens")'),
    "what a handler names": _done(
        CONFIG,
        "try:\n    self.requests[17]\nexcept VllmConfig:\n    rows = -rows\n"
        "except KeyError:\n    pass",
    ),
    "two equal records": _planted("", "SchedulerOutput(a=1) == SchedulerOutput(a=1)"),
    # what nobody knows
    "an unknown name is None": _planted(FLAG, "FLAG is None"),
    "it is handed on": _planted(FLAG + "def f(x):\n    return x is None\n", "f(FLAG)"),
    "it is a default": _planted(FLAG + "def f(x=FLAG):\n    return x is None\n", "f()"),
    "its kind": _planted(FLAG, "isinstance(FLAG, bool)"),
    "it fails as the file is loaded": _planted(
        FLAG + "def f():\n    try:\n        return FLAG()\n    except Exception:\n"
        "        return 0\nX = f()\n",
        "X",
    ),
    # imports
    "an import that may fail": _planted(
        "try:\n    import vllm.fast\n    FAST = True\nexcept ImportError:\n    FAST = False\n",
        "not FAST",
    ),
    "one in a function": _done(
        "", "try:\n    import vllm.fast\nexcept Exception:\n    rows = -rows"
    ),
    "one whose failure is caught by the caller": _done(
        "def f():\n    import vllm.fast\n", "try:\n    f()\nexcept Exception:\n    rows = -rows"
    ),
    "one whose failure is suppressed": _done(
        "import contextlib\n",
        "slow = True\nwith contextlib.suppress(Exception):\n    import vllm.fast\n"
        "    slow = False\nif slow:\n    rows = -rows",
    ),
    "one under a condition": _planted("X = 1\nif X:\n    import json\n", "X is None"),
    "one in a class": _planted("class C:\n    from vllm.fork import FLAG\n", "C.FLAG is None"),
    "a name bound twice": _planted(
        "def cdiv(a, b):\n    return 0\nfrom vllm.fork import up as cdiv\n", "cdiv(3, 2)"
    ),
    "a known name from elsewhere": _planted("from vllm.fork import cdiv\n", "cdiv(1, 1) == 2"),
    "a known module's name": _planted("import vllm.time as time\n", "time.time() is None"),
    # what logs and prints
    "a logger's level": _planted(LOGGER, "logger.isEnabledFor(20)"),
    "a logger's name": _planted(LOGGER, 'logger.name == "scheduler"'),
    "what a logger has": _planted(LOGGER, 'hasattr(logger, "colour")'),
    "one logger twice": _planted(LOGGER, "init_logger(__name__) is logger"),
    "what a scope opens": _done(
        "from vllm.v1.utils import record_function_or_nullcontext as scope\n",
        'with scope("x") as y:\n    if y is not None:\n        rows = -rows',
    ),
    "what is logged": _done(PROBE, 'logger.info("%s", Probe())\nif NOTES:\n    rows = -rows'),
    "what is in it": _done(PROBE, 'logger.info("%s", [Probe()])\nif NOTES:\n    rows = -rows'),
    "what an exception says": _done(
        PROBE + "class E(Exception):\n    pass\n", 'logger.info("%s", E(Probe()))'
    ),
    "what is printed": _done(PROBE, "print(Probe())\nif NOTES:\n    rows = -rows"),
    "what is printed to": _done(PROBE, 'print("", file=Probe())\nif NOTES:\n    rows = -rows'),
    "what is put into a text": _done(PROBE, 'x = f"{Probe()}"\nif NOTES:\n    rows = -rows'),
    "what is made a text": _done(PROBE, "x = str(Probe())\nif NOTES:\n    rows = -rows"),
    "an address": _planted("", '"vllm" in str(self)'),
    # handlers
    "a builtin that is missing": _done(
        "", "try:\n    repr(1)\nexcept Exception:\n    rows = -rows"
    ),
    "a method that is missing": _done(
        "", "try:\n    self.has_requests()\nexcept Exception:\n    rows = -rows"
    ),
    "the depth of the stack": _done(
        "def f(n):\n    return n and f(n - 1)\n",
        "try:\n    f(5000)\nexcept RuntimeError:\n    rows = -rows",
    ),
    "a handler as the file is loaded": _planted(
        'try:\n    X = ord("a")\nexcept Exception:\n    X = 0\n', "X"
    ),
    # classes that others complete
    "a field that may be none": _planted(
        "from dataclasses import dataclass, InitVar\n@dataclass\n"
        "class C:\n    x: InitVar[int] = 0\n",
        "C().x",
    ),
    "a variable of the class by another name": _planted(
        "import typing\nfrom dataclasses import dataclass\nV = typing.ClassVar\n@dataclass\n"
        "class C:\n    n: V = 0\n    x: int = 5\n",
        "C(3).x != 3",
    ),
    "an optional import": _planted(
        "try:\n    from vllm.fork import FLAG\nexcept ImportError:\n    FLAG = False\n", "FLAG"
    ),
    "what the policy's names derive from": _planted(
        "from enum import Enum\n", "isinstance(self.policy, Enum)"
    ),
    "what only some Pythons have": _planted(
        "try:\n    from enum import StrEnum\nexcept ImportError:\n    StrEnum = None\n", "StrEnum"
    ),
    "a partial in a class": _planted(
        "from functools import partial\nclass C:\n    f = partial(int, 3)\n", "C().f() != 3"
    ),
    "a number that compares by itself": _planted(
        "class N(int):\n    def __lt__(self, other):\n        return True\n", "rows > N(3)"
    ),
    "modules that may be one": _planted("import math\nimport operator\n", "math == operator"),
    "a name of typing": _planted("from typing import Optional\n", "isinstance(1, Optional[int])"),
    "a record that acts": _planted(
        NOTES + "from dataclasses import dataclass\n@dataclass\nclass C(SchedulerOutput):\n"
        "    x: int = 0\n    def __post_init__(self):\n        NOTES.append(1)\nC()\n",
        "NOTES",
    ),
    "by a computed name": _done("", 'ask = getattr\nask((), "__cl" + "ass__")'),
    "a stand-in made anew": _done("", 'self.scheduler_config.__init__(None, "connector")'),
}
"""Parts of a text whose effect nobody can tell."""

ANNOTATIONS: dict[str, str] = {
    "of a global": "X: NOTES.append(1) = 0\n",
    "of a parameter": "def f(x: NOTES.append(1)):\n    pass\n",
    "of what is returned": "def f() -> NOTES.append(1):\n    pass\n",
    "in a class": "class C:\n    x: NOTES.append(1)\n",
    "that sets a name": "X: (NOTES := [1]) = 0\n",
    "that fills a dictionary": "MORE = defaultdict(list)\nX: MORE['x'] = 0\n",
    "that reads a property": "class C:\n    p = property(NOTES.append)\nc = C()\nX: c.p = 0\n",
    "that makes a list": "X: [n for n in NOTES] = 0\n",
    "that is unpacked": "def f(*x: *NOTES):\n    pass\n",
}

AS_PYTHON: dict[str, tuple[str, dict[str, str]]] = {
    "a request is one": (VIOLATED, _planted(REQUEST, "isinstance(request, Request)")),
    "nothing else is": (
        PROVED,
        _planted(REQUEST, "isinstance(rows, Request) or not isinstance(request, (str, Request))"),
    ),
    "the policy is one of two": (
        PROVED,
        _planted(
            "",
            "self.policy is SchedulingPolicy.FCFS and self.policy == SchedulingPolicy('priority')",
        ),
    ),
    "its name is one of two": (
        PROVED,
        _planted(
            "",
            '(self.scheduler_config.policy == "priority")'
            " != (self.policy is SchedulingPolicy.PRIORITY)",
        ),
    ),
    "nobody runs the file": (PROVED, _planted("", '__name__ == "__main__"')),
    "a logger says nothing": (
        PROVED,
        _done(
            LOGGER,
            'if logger.warning_once("%s", rows, scope="local") is not None:\n    rows = -rows',
        ),
    ),
    "an import for types": (
        PROVED,
        _planted(
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from fork import Thing\n"
            "else:\n    from vllm.utils.math_utils import cdiv\n",
            "cdiv(1, 2) != 1",
        ),
    ),
    "a known import in a function": (
        PROVED,
        _done("", "from vllm.utils.math_utils import cdiv\nif cdiv(3, 2) != 2:\n    rows = -rows"),
    ),
    "the later of two": (
        PROVED,
        _planted("from vllm.fork import cdiv\ndef cdiv(a, b):\n    return 0\n", "cdiv(3, 2)"),
    ),
    "annotations that name types": (
        PROVED,
        _planted(
            "from typing import Any\n"
            "def f(x: dict[str, Any] | None, *y: int, z: 'T' = 1) -> list[int]:\n"
            "    w: made() = 0\n    return [w]\nclass C:\n    a: int = 0\n    b: Any\n",
            "C.a or f(None) != [0]",
        ),
    ),
    "a default is made once": (
        VIOLATED,
        _planted(NOTES + "def f(x=NOTES.append(1)):\n    pass\n", "len(NOTES) == 1"),
    ),
    "a decorator is called": (
        VIOLATED,
        _planted(
            NOTES + "def note(f):\n    NOTES.append(1)\n    return f\n@note\ndef f():\n    pass\n",
            "NOTES",
        ),
    ),
    "an optional import nobody uses": (
        PROVED,
        _planted(
            "try:\n    import fork\nexcept ImportError:\n    fork = None\nX = 1\n", "X is None"
        ),
    ),
    "a status is a number": (
        PROVED,
        _planted("from enum import IntEnum\n", "not isinstance(request.status, IntEnum)"),
    ),
    "a variable of the class is no field": (
        PROVED,
        _planted(
            "from typing import ClassVar as V\nfrom dataclasses import dataclass\n@dataclass\n"
            "class C:\n    n: V[int] = 0\n    x: int = 5\n",
            "C(3).x != 3 or C.n",
        ),
    ),
    "a field has its own default": (
        VIOLATED,
        _planted(
            "from dataclasses import dataclass, field\n@dataclass\nclass C(SchedulerOutput):\n"
            "    x: list = field(default_factory=list)\n",
            "C().x == [] and C().x is not C().x",
        ),
    ),
    "an attribute of its own": (
        PROVED,
        _planted("", 'hasattr(self, "_x") or getattr(self, "x", 0)'),
    ),
}
"""What comes of it where the condition is judged as Python judges it."""


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_nobody_knows_is_undecided(name: str) -> None:
    report = _check(UNKNOWN[name])
    assert {finding.verdict for finding in report.findings} == {UNDECIDED}, report
    assert report.exit_status == 3 and report.findings[0].reason


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_an_annotation_that_acts_is_rejected(name: str) -> None:
    report = _check(_planted(NOTES + ANNOTATIONS[name], "NOTES"))
    assert report.rejected.endswith("an annotation that does more than name a type"), report


@pytest.mark.parametrize("name", AS_PYTHON)
def test_what_is_known_is_as_in_python(name: str) -> None:
    verdict, parts = AS_PYTHON[name]
    assert _check(parts).verdict == verdict, name


def test_annotations_that_are_never_evaluated_may_say_anything() -> None:
    content = "from __future__ import annotations\n" + text(imports="X: made() = 0\n")
    assert check_source((Text("scheduler.py", content),), "mini", modes=[SYNC]).verdict == PROVED


def test_an_annotation_that_may_fail_in_a_function_is_rejected() -> None:
    missing = "def f():\n    try:\n        def g(x: Missing):\n            pass\n"
    missing += "    except Exception:\n        return 1\n    return 0\n"
    assert "may fail" in _check(_planted(missing, "not f()")).rejected


def test_the_line_and_the_row_are_told() -> None:
    (gap,) = _check(UNKNOWN["an instance of a class"]).findings[0].gaps
    assert gap.attribute == "import VllmConfig (isinstance)" and gap.line > 0
    assert gap.settle.startswith("import VllmConfig | class | vllm_config |")


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [("half(2) == 1", VIOLATED), ("SIZE == 3", VIOLATED), ("FLAG is None", UNDECIDED)],
)
def test_names_of_a_file_beside_it_are_what_they_are_there(condition: str, verdict: str) -> None:
    helper = FLAG + "SIZE = 3\ndef half(n):\n    return n // 2\n"
    parts = _planted("from fork.sched.utils import FLAG, SIZE, half\n", condition)
    both = (Text("utils.py", helper, helper=True), Text("thrifty.py", text(**parts)))
    assert check_source(both, "mini", modes=[SYNC]).verdict == verdict
