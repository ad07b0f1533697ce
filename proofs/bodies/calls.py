"""Who asks whom: a turn is asked for in one place, and nobody asks for itself.

Code that asks for turns in several places could do something else for the first requests; code
that calls itself is a loop that keeps whatever it hands on.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

TURNS = frozenset(
    {"begin_step", "try_running", "try_waiting", "update_after_schedule", "book_share"}
)
"""What is done for one request, or for a step."""
Written = Mapping[tuple[str, str], ast.FunctionDef]
"""Owner and name of each function, and how it is written; the owner of a helper is nobody."""


def turns_in_two_places(written: Written) -> list[str]:
    """Whatever asks for a turn, straight or not, is asked for itself in one place at most."""
    names = {place: [name for _, name in _uses(node)] for place, node in written.items()}
    turns: set[str] = set()
    more = set(TURNS)
    while more - turns:
        turns |= more
        more = {name for (_, name), used in names.items() if turns.intersection(used)}
    places = Counter(name for used in names.values() for name in used if name in turns)
    return [f"{name} is asked for in {n} places" for name, n in places.items() if n > 1]


def circles(written: Written) -> list[str]:
    """Functions that come to call themselves."""
    calls = {
        place: {
            callee
            for part, name in _uses(node)
            for callee in written
            # What is reached through an attribute is somebody else's.
            if callee[1] == name and not (part and callee[0] == place[0])
        }
        for place, node in written.items()
    }
    found = []
    for place in written:
        reached: set[tuple[str, str]] = set()
        more = set(calls[place])
        while more - reached:
            reached |= more
            more = {callee for each in more for callee in calls[each]}
        if place in reached:
            found.append(f"{'.'.join(filter(None, place))} comes to call itself")
    return found


def _uses(node: ast.FunctionDef) -> Iterator[tuple[bool, str]]:
    """The names that a function uses, and whether as something of an attribute."""
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute):
            yield isinstance(each.value, ast.Attribute), each.attr
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
            yield False, each.func.id
