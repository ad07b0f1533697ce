"""What acts where it looks like a computation is not computed ahead of its time."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from played import in_function, scope_of

from proofs.source.syntax.acting import acting_properties, may_compute_ahead
from proofs.symbolic import Exploration, evaluate

CLASSES = """
class Acts:
    def __init__(self, a):
        self.a, self.asked = a, 0

    @property
    def drained(self):
        self.asked += 1
        return self.a > 1

    @property
    def rests_on_it(self):
        return not self.drained

    @property
    def only_computes(self):
        "Whether there is something."
        return self.a > 1


class Asked:
    def __init__(self):
        self.asked = 0

    def {operator}(self, *others):
        self.asked += 1
        return 1 > 0
"""
USES = {
    "in a condition": "if a > 0 and item.drained:\n    item.a = 5",
    "behind a name": "if a > 0 or item.rests_on_it:\n    item.a = 5",
    "in a value": "x = item.drained if a > 0 else False",
    "in an if": "x = 0\nif a > 0:\n    x = item.drained",
    "stored": "if a > 0:\n    item.b = item.drained",
    "leaving a loop": "while a > 0:\n    if item.drained:\n        break\n    a -= 1",
    "an operator": "x = 1\nif a > 0 and thing:\n    x = 2",
}


def _played(use: str, operator: str, a: Any, as_it_is: bool = False) -> tuple[Any, ...]:
    text = CLASSES.format(operator=operator)
    text += in_function(
        f"{use}\nreturn item.a, item.asked, thing.asked", "def run(item, thing, a):"
    )
    nodes = list(ast.walk(ast.parse(text)))
    acting = acting_properties(nodes) if may_compute_ahead(nodes) else None
    scope = scope_of(text, as_it_is, (), acting)
    made: tuple[Any, ...] = scope["run"](scope["Acts"](3), scope["Asked"](), a)
    return made


@pytest.mark.parametrize("operator", ["unused", "__bool__", "__len__"])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_it_acts_as_often_as_in_python(use: str, operator: str) -> None:
    with Exploration(lambda context: _played(use, operator, context.int("a", -2, 2))) as paths:
        for path in paths:
            given = {"a": path.model["a"]}
            assert not path.unsupported and path.error is None
            expected = _played(use, operator, given["a"], as_it_is=True)
            assert evaluate(path.value, given) == expected


def test_which_properties_act() -> None:
    tree = ast.parse(CLASSES.format(operator="unused"))
    assert acting_properties(ast.walk(tree)) == {"drained", "rests_on_it"}


@pytest.mark.parametrize(
    "text",
    [
        "def len(x):\n    return 0",
        "bool = 1",
        "def f(min):\n    pass",
        "from a import b as len",
        "class A:\n    x = property(f)",
        "p = property\nclass A:\n    @p\n    def x(self):\n        pass",
        "class A:\n    def __lt__(self, other):\n        self.n += 1\n        return self.n > 3",
    ],
)
def test_where_nothing_is_what_it_seems_nothing_is_computed_ahead(text: str) -> None:
    assert not may_compute_ahead(ast.walk(ast.parse(text)))


def test_plain_classes_are_what_they_seem() -> None:
    text = "class Q:\n    def __len__(self):\n        return len(self.items)\n"
    text += "    def __bool__(self):\n        return len(self.items) > 0\n"
    assert may_compute_ahead(ast.walk(ast.parse(CLASSES.format(operator="unused") + text)))
