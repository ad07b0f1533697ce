"""Loops whose tail or whose exits are merged: what they compute is what Python computes."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from played import in_function, scope_of, takes

from proofs.symbolic import Exploration, SymSeq, evaluate

TEXTS = {
    "one item is skipped": """
for item in items:
    if item.a > item.b:
        continue
    item.c += item.a
""",
    "what was stored is read again": """
for item in items:
    if item.a > 0:
        continue
    item.c += 1
    item.a = item.c + item.b
    item.b = item.a - item.c
""",
    "an if inside": """
for item in items:
    if not item.a:
        continue
    more = item.b + 1
    if more > item.c:
        item.c = more
        if item.b < 0 or item.a < 0:
            item.c -= item.b
    item.d |= item.a > item.b
""",
    "drafts": """
drafts = [-1] * budget
for item in items:
    if item.a > 0:
        continue
    count = len(table.get(item.name, ()))
    item.b += count + 1
    item.drafts = drafts
""",
    "no drafts before": """
drafts = [-1] * budget
for item in items:
    item.drafts = []
    if item.a > 0:
        continue
    item.drafts = drafts
""",
    "an attribute that is new": """
for item in items:
    if item.a > 0:
        continue
    item.new = item.b
""",
    "a property acts": """
for item in items:
    if item.a > 0:
        continue
    item.acts = item.b
""",
    "an object cannot be merged": """
for item in items:
    if item.a > 0:
        continue
    item.c = None
    item.b = 5
""",
    "the name is read after the loop": """
last = 7
for item in items:
    if item.a > 0:
        continue
    last = item.b
    item.c = last
items[0].d = last
""",
    "the name is read on the next turn": """
last = 7
for item in items:
    item.b = last
    if item.a > 0:
        continue
    last = item.c
    item.d = last
""",
    "an if that stores": """
for item in items:
    if item.a > item.b:
        item.c += 1
        if item.c > 0:
            item.a = item.b
    if item.drafts:
        item.drafts = []
""",
    "an if that stores a name": """
least = 5
if items[0].a > 0:
    least = items[0].b
    items[0].c = least
items[1].c = least
""",
    "an empty list in an if": """
for item in items:
    item.drafts = [-1] * item.b
    if item.a > 0:
        item.drafts = []
""",
    "the loop is left": """
left = budget
while left > 0:
    first = items[0]
    taken = first.a + 1
    if taken > first.c or first.b < 0:
        break
    if left <= taken:
        break
    left -= taken
    first.c -= 1
items[1].a = left
""",
    "the loop is left by a count": """
n = 0
while n < 3:
    room = budget - n
    if room <= items[0].a:
        break
    if items[1].b > room:
        break
    n += 1
    items[0].b += n
items[1].c = n
""",
    "an if leaves the loop": """
padded = False
for item in items:
    rows = item.c - item.b
    if item.a > 0 and rows <= 1:
        wide = 1 + item.a
        if wide + item.b <= 3:
            if wide > budget:
                break
            rows = wide
            padded = True
    item.d = rows
items[1].c = 5 if padded else items[0].c
""",
    "a name is set before the loop is left": """
rows = 3
for item in items:
    if item.a > item.b:
        rows = item.a
        if rows > budget or item.c < 0:
            break
        rows = rows + item.c
    item.b += rows
items[0].d = rows
""",
    "the name an if sets is read after the loop": """
for item in items:
    if item.a >= 0:
        wide = item.b
        if wide > budget:
            break
items[0].d = wide
""",
    "what an if sets cannot be merged": """
found = 0
for item in items:
    if item.a > 0:
        found = item.name
        if item.b > 0:
            break
    item.c += 1
items[1].b = 1 if found == 0 else 2
""",
    "a test behind a test must not be asked": """
seen = 0
for item in items:
    if item.a <= 0:
        seen = 1
        if item.b > 0:
            if item.nothing > 1:
                break
            seen = 2
    item.c += seen
""",
    "a loop in a loop is left": """
count = 0
for item in items:
    for other in items:
        if item.a < other.b:
            more = count + 1
            if more > budget:
                break
            count = more
    item.d = count
""",
    "the second test must not be asked": """
n = 2
while n > 0:
    if items[0].a <= 0:
        break
    if items[0].nothing > 1:
        break
    n -= 1
""",
}


class Item:
    """What the texts change."""

    def __init__(self, name: str, a: Any, b: Any, c: Any) -> None:
        self.name, self.a, self.b, self.c, self.d = name, a, b, c, False
        self.drafts: Any = []

    @property
    def acts(self) -> Any:
        return self.c

    @acts.setter
    def acts(self, value: Any) -> None:
        self.c = value + 10


def _played(text: str, merged: bool, numbers: Any) -> list[Any]:
    """Run a text on two items; what it leaves, an exception included."""
    one, two = Item("one", *numbers[:3]), Item("two", *numbers[3:6])
    error = ""
    try:
        text = in_function(text, "def run(items, budget, table):")
        scope_of(text, as_it_is=not merged)["run"]([one, two], numbers[6], {"one": [-1, -1]})
    except (AttributeError, NameError, TypeError) as raised:
        error = type(raised).__name__
    kept = [getattr(item, f, 0) for item in (one, two) for f in ("a", "b", "c", "d", "new")]
    lengths = [x.length if type(x) is SymSeq else len(x) for x in (one.drafts, two.drafts)]
    return [*kept, *lengths, error]


SAMPLES = [s for n, s in enumerate(product((-1, 0, 2), repeat=7)) if n % 19 == 0]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_on_integers_nothing_changes(text: str) -> None:
    for numbers in SAMPLES:
        assert _played(text, True, numbers) == _played(text, False, numbers), numbers


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_symbolically_it_is_what_python_computes(text: str) -> None:
    counts = []
    for merged in (True, False):

        def run(context: Any, merged: bool = merged) -> list[Any]:
            return _played(text, merged, [context.int(name, -1, 2) for name in INPUTS])

        covered = []
        with Exploration(run) as exploration:
            for path in exploration:
                assert not path.unsupported and path.error is None
                taken = [s for s in SAMPLES if takes(path, _inputs(s))]
                for sample in taken:
                    found = [evaluate(value, _inputs(sample)) for value in path.value]
                    assert found == _played(text, False, sample), sample
                covered.append(len(taken))
            assert exploration.complete, exploration.reasons
        assert sum(covered) == len(SAMPLES)  # each takes one path
        counts.append(len(covered))
    assert counts[0] <= counts[1]


INPUTS = ("a", "b", "c", "A", "B", "C", "budget")


def _inputs(sample: tuple[int, ...]) -> dict[str, int]:
    return dict(zip(INPUTS, sample, strict=True))


MERGED = (
    "one item is skipped",
    "what was stored is read again",
    "no drafts before",
    "an if inside",
)


@pytest.mark.parametrize("name", MERGED)
def test_a_tail_that_stores_numbers_takes_one_path(name: str) -> None:
    def run(context: Any) -> None:
        _played(TEXTS[name], True, [context.int(i, -1, 2) for i in INPUTS])

    with Exploration(run) as exploration:
        assert len(list(exploration)) == 1


ALIASED = """
item = items[0]
{}
for item in items:
    if item.a > 0:
        continue
    item.drafts = shared
{}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("shared = [-1] * item.c\nitem.drafts = []", "shared.append(-1)"),
        ("shared = [-1] * item.c\nitem.drafts = []", "items[0].drafts.clear()"),
        ("shared = [-1] * item.c\nitem.drafts = []\nheld = item.drafts", "held.append(-1)"),
        ("shared = [-1] * item.c\nitem.drafts = []\nheld = item.drafts", "held += [1]"),
        ("shared = [-1] * item.c\nitem.drafts = [-1] * item.b", "del shared[0:]"),
    ],
)
def test_a_list_changed_under_a_second_name_is_undecided(before: str, after: str) -> None:
    text = ALIASED.format(before, after)

    def run(context: Any) -> list[Any]:
        return _played(text, True, [context.int(i, -1, 2) for i in INPUTS])

    with Exploration(run) as exploration:
        gaps = [path.unsupported for path in exploration]
    assert any("change in place" in gap.reason for path in gaps for gap in path)
