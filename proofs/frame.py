"""What a body does not mean to change stays as it was: every field, asked of generically.

A promise speaks of what moves.  That nothing else moves is a promise too: a prompt that grows by
what was generated, a threshold that is off after the first request, a priority that is forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields, is_dataclass
from itertools import chain
from typing import Any

from proofs.symbolic import SymBool, SymInt
from spec.logic import all_of

WATCHING = frozenset(
    {"watched_by", "chosen", "index_moved", "enqueued"}
    | {"told", "made_for", "as_given", "begins_empty"}
)
"""Fields of the watchers themselves (``surroundings``)."""


def fields_of(name: str, fields: str) -> tuple[str, ...]:
    """``name.field`` for each of some fields."""
    return tuple(f"{name}.{field}" for field in fields.split())


def names_of(watched: Any) -> frozenset[str]:
    """The fields of an object."""
    return frozenset(name for name, _ in _fields(watched))


def keeps_order(before: Sequence[Any], after: Sequence[Any]) -> bool:
    """Whether those who were in a queue and still are have not changed places."""
    return [r for r in after if r in before] == [r for r in before if r in after]


def same_record(one: Any, other: Any) -> Any:
    """Whether two records say the same, number by number."""
    if type(one) is not type(other):
        return False
    pairs = zip(_fields(one), _fields(other), strict=True)
    return all_of(*(_is_same(a, b) for (_, a), (_, b) in pairs))


class Frame:
    """The fields of some objects, as they are when it is made.

    Args:
        objects: name → an object whose fields are watched; containers for what they hold, too,
            other objects for being the same ones.
    """

    def __init__(self, **objects: Any) -> None:
        self._objects = objects
        self._before = {
            f"{name}.{field}": value
            for name, watched in objects.items()
            for field, value in _fields(watched)
        }
        self._held = {name: contents(value) for name, value in self._before.items()}

    def watched(self, name: str) -> Any:
        """The object of that name."""
        return self._objects[name]

    def before(self, field: str) -> Any:
        """What ``object.field`` was."""
        return self._before[field]

    def held(self, field: str) -> dict[Any, Any]:
        """What the container ``object.field`` held, by key or place."""
        return dict(self._held[field])

    def kept(self, moved: Collection[str]) -> Iterator[tuple[str, bool]]:
        """``object.field`` and whether it is what it was, for all that are not said to move.

        Of a container that moves, only what it holds may: it stays the same one.
        """
        for name, watched in self._objects.items():
            for field, value in _fields(watched):
                full = f"{name}.{field}"
                before = self._before.get(full)
                if full not in moved:
                    holds = same_contents(self._held.get(full, {}), contents(value))
                    yield full, all_of(holds, _is_same(before, value))
                elif isinstance(before, (dict, list, set)):
                    yield full, before is value


def _fields(watched: Any) -> Iterator[tuple[str, Any]]:
    if is_dataclass(watched):
        names = [field.name for field in fields(watched)]
    else:
        slots = (getattr(kind, "__slots__", ()) for kind in reversed(type(watched).__mro__))
        names = [*chain.from_iterable(slots), *getattr(watched, "__dict__", ())]
    return ((name, getattr(watched, name)) for name in names if name not in WATCHING)


def contents(value: Any) -> dict[Any, Any]:
    """What a container holds, by key or place.  Crowds answer too: the model is not asking."""
    if isinstance(value, dict):
        return dict(dict.items(value))
    if isinstance(value, set):
        return dict.fromkeys(set.__iter__(value))
    return dict(enumerate(list.__iter__(value))) if isinstance(value, list) else {}


def same_contents(before: dict[Any, Any], after: dict[Any, Any]) -> bool:
    """Whether a container holds the same objects and numbers as before."""
    if before.keys() != after.keys():
        return False
    return all_of(*(_is_same(value, after[key]) for key, value in before.items()))


def _is_same(before: Any, after: Any) -> Any:
    if before is after:
        return True
    numbers = (int, bool, SymInt, SymBool)
    return type(before) in numbers and type(after) in numbers and before == after
