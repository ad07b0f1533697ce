"""Texts that look harmless and were once run otherwise than Python runs them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from played import in_function, scope_of, takes

from proofs.source.errors import Rejected
from proofs.source.loader import _builtins
from proofs.source.objects.host import Host
from proofs.source.profile import profile_for
from proofs.symbolic import Exploration, evaluate

TEXTS = {
    "a name set again in a branch": """
for item in items:
    if item.a > 0:
        continue
    more = 1
    if item.b > 0:
        more = 2
    item.c = more
""",
    "an accumulator in a tail": """
count = 0
for item in items:
    if item.a > 0:
        continue
    count = count + 1
    item.c = count
""",
    "set twice on the way to the breaks": """
left = 2
while left > 0:
    n = items[0].a
    if n > 0:
        break
    n = items[0].b
    if n > 1:
        break
    left -= 1
    items[0].c += n
""",
    "a break guards what follows": """
item = items[0] if n > 0 else None
left = n + 1
while left > 0:
    if item is None:
        break
    k = item.a
    if k > left:
        break
    left -= 1
    items[1].c += k
""",
    "set on one side only": """
left = n
while left > -2:
    item = items[0]
    if item.a > 0:
        item = items[1]
    if item.b > left:
        break
    left -= 1
    item.c += 1
""",
    "a list grows in place": """
held = items[0].held
again = [items[1].a]
if n > 0:
    held += again
items[1].c = len(items[0].held)
""",
    "is True": """
big = items[0].a > items[0].b
if big is True:
    items[0].c = 1
if big is not False:
    items[1].c = 2
""",
    "True is": """
big = items[0].a > items[0].b
flag = True
if True is big:
    items[0].c = 1
if big is flag:
    items[1].c = 2
if (items[0].a > 0) is not (items[1].b > 0):
    items[1].c += 4
items[0].c += 8 if big is 1 else 0
""",
    "True or 0": """
kind = 0
if items[0].a > 0:
    kind = True
if kind is True:
    items[0].c = 1
one = True if items[0].b > 0 else 1
items[1].c = 5 if one is True else 6
""",
    "a chain that ends in an act": """
if 0 < n < items.pop().a:
    items[0].c = 1
items[0].c += len(items)
""",
    "a chain that sets a name": """
surplus = 0
if 0 < n < (surplus := items[0].a):
    items[0].c = 1
items[1].c = surplus
""",
    "a walrus in a generator": """
k = 9
least = min((item for item in [items[0].a, n] if (k := item) > 0), default=9)
items[0].c = least
items[1].c = k
""",
    "a truth value inverted": """
big = items[0].a > 0
items[0].c = ~big
if ~big:
    items[1].c = 5
""",
    "a name of an outer function": """
last = 0
def look(wanted):
    nonlocal last
    for item in wanted:
        if item.a > 0:
            continue
        last = item.b
look(items)
items[0].c = last
""",
    "None stored where nothing was": """
for item in items:
    if item.a > 0:
        continue
    item.new = None
items[0].c = 1 if hasattr(items[0], "new") else 0
""",
    "a class in a function": """
class Sizes:
    low = n
    high = low and 4
    both = 3 if low > 0 else 2
items[0].c = Sizes.high
items[1].c = Sizes.both
""",
    "bound in a branch only": """
if n > 0:
    k = 1
if n > 1:
    k = 2
if n > 0:
    items[0].c = k
""",
    "a set that is filled with what was taken": """
if items[0].a > 0:
    self.sink.discard(items.pop())
items[0].c = len(items)
""",
}


class Item:
    """What the texts change."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b, self.c = a, b, 0
        self.held: list[Any] = []


def _played(text: str, numbers: Any, as_it_is: bool = False) -> list[Any]:
    owner = SimpleNamespace(sink=set())
    items = [Item(*numbers[:2]), Item(*numbers[2:4])]
    kept = list(items)
    text = in_function(text, "def run(self, items, n):")
    scope_of(text, as_it_is, ("sink",))["run"](owner, items, numbers[4])
    return [value for item in kept for value in (item.a, item.b, item.c, hasattr(item, "new"))]


NAMES = ("a", "b", "A", "B", "n")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_computes_what_python_computes(text: str) -> None:
    samples = [
        dict(zip(NAMES, numbers, strict=True))
        for numbers in ((x % 4 - 1, x // 4 % 4 - 1, x % 3, x % 5 - 1, x % 4 - 1) for x in range(60))
    ]
    plain = [_played(text, list(sample.values()), as_it_is=True) for sample in samples]
    assert [_played(text, list(sample.values())) for sample in samples] == plain, "on integers"

    seen = 0
    with Exploration(
        lambda context: _played(text, [context.int(name, -1, 3) for name in NAMES])
    ) as exploration:
        for path in exploration:
            assert not path.unsupported and path.error is None
            for sample, expected in zip(samples, plain, strict=True):
                if takes(path, sample):
                    seen += 1
                    assert evaluate(path.value, sample) == expected, sample
    assert seen == len(samples)


@pytest.mark.parametrize("what", ["n is items[0].a", "n is not 2", "5 is n"])
def test_whether_numbers_are_one_object_is_undecided(what: str) -> None:
    text = f"items[0].c = 1 if {what} else 2"
    with Exploration(
        lambda context: _played(text, [context.int(name, -1, 3) for name in NAMES])
    ) as exploration:
        assert all(path.unsupported for path in exploration)


def test_a_chain_with_is_is_rejected() -> None:
    with pytest.raises(Rejected, match="chain"):
        scope_of("def run(a, b, c):\n    return a is b() is c\n", as_it_is=False)


def test_a_generator_is_asked_no_further_than_python_asks_it() -> None:
    given = _builtins(Host(profile_for(None, ""), {}))

    def run(context: Any) -> list[int]:
        asked: list[int] = []
        numbers = [context.int("a", -1, 1), context.int("b", -1, 1)]
        given["any"](asked.append(n) or number > 0 for n, number in enumerate(numbers))
        return asked

    with Exploration(run) as exploration:
        found = {(path.value[-1], evaluate(path.model["a"], {}) > 0) for path in exploration}
    assert found == {(0, True), (1, False)}
