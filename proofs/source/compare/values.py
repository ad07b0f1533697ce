"""Values of a run read into tuples and dictionaries, so that those of two texts can be compared.

The leaves are numbers, truth values and words; two values differ where some leaf does.  What
cannot be read stands as an `Unread`, which a comparison names and does not compare.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from proofs.source.errors import clean
from proofs.source.objects.footprint import attributes_of, contents
from proofs.source.objects.freeset import FreeSet, Uncertain
from proofs.source.objects.fresh import Fresh
from proofs.source.objects.history import History
from proofs.source.objects.host import Host
from proofs.source.objects.ids import RequestId
from proofs.source.objects.queues import SchedulingPolicy
from proofs.source.objects.requests import Request
from proofs.source.objects.sealed import path_of
from proofs.source.objects.stubs import Record, Stub, name_of
from proofs.source.objects.tokens import Token
from proofs.symbolic import SymBool, SymInt, SymSeq, Veiled
from spec.logic import all_of, any_of

LONGEST = 100
"""How many letters of a value a report shows."""
DEEPEST = 20
"""How many objects may lie inside each other."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Something whose content nobody can tell; ``kind``: what it is."""

    kind: str


@dataclass(frozen=True, slots=True)
class Repeated:
    """A list of so many equal elements."""

    length: Any
    element: Any


class _Missing:
    """What stands for a call that was not made, a field that is not there."""


MISSING = _Missing()


class Reader:
    """Reads the values of one text."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._depth = 0

    def read(self, value: Any) -> Any:
        """A value as it is now."""
        kind = type(value)
        if kind in _LEAVES:
            return value
        if self._depth == DEEPEST:
            return Unread(kind.__name__)
        self._depth += 1
        try:
            return self._inside(kind, value)
        finally:
            self._depth -= 1

    def _inside(self, kind: type, value: Any) -> Any:
        if kind in _READERS:
            return _READERS[kind](self, value)
        if kind in self._host.classes:
            held = self.each(contents(value) or ())
            return (kind.__name__, self._fields(value), *held)
        if isinstance(value, Record):
            return (name_of(value), self._fields(value))
        if isinstance(value, Stub):
            return (path_of(value), self._host.here.tokens_of(value))
        if isinstance(value, dict):
            return {_key(key): self.read(element) for key, element in dict.items(value)}
        if isinstance(value, Veiled):
            return ("value", value.shown__())
        if isinstance(value, enum.Enum):
            return (kind.__name__, value.name)
        if callable(value):
            return ("function", getattr(value, "__name__", kind.__name__))
        return Unread(kind.__name__)

    def _fields(self, value: Any) -> dict[str, Any]:
        return {
            name: self.read(held) for name, held in attributes_of(value).items() if "__" not in name
        }

    def element(self, sequence: SymSeq) -> Any:
        """What a sequence holds throughout."""
        return "unknown" if sequence.is_opaque else self.read(sequence.element)

    def each(self, elements: Iterable[Any]) -> tuple[Any, ...]:
        """All of a sequence."""
        return tuple(self.read(element) for element in elements)


class Members(dict[Any, Any]):
    """What may be in a set, in no order, and whether it is."""


OTHERS = "others"
"""Stands among them for those that the run does not know: how many there are."""


def _members(elements: Iterable[tuple[Any, Any]], others: Any = 0) -> Members:
    made = Members((_key(element), held) for element, held in elements if held is not False)
    if type(others) is not int or others:
        made[OTHERS] = others
    return made


def _key(key: Any) -> Any:
    """What a dictionary or a set has something under."""
    kind = type(key)
    if kind in (Request, RequestId):
        return _named(key)
    return key if kind in _PLAIN else Unread(kind.__name__)


def _named(value: Any) -> Any:
    name = value.request_id if isinstance(value, Request) else value
    return name.name__ if type(name) is RequestId else name


_PLAIN = frozenset({int, bool, str, float, type(None)})
_LEAVES = _PLAIN | {SymInt, SymBool}
_READERS: dict[type, Callable[[Reader, Any], Any]] = {
    list: Reader.each,
    Fresh: Reader.each,
    tuple: Reader.each,
    deque: Reader.each,
    set: lambda reader, value: _members((element, True) for element in value),
    frozenset: lambda reader, value: _members((element, True) for element in value),
    Uncertain: lambda reader, value: reader.read(value.stored__()),
    SchedulingPolicy: lambda reader, value: ("priority", value.is_priority__),
    FreeSet: lambda reader, value: _members(value.known__(), value.others__()),
    Request: lambda reader, value: ("request", _named(value)),
    RequestId: lambda reader, value: _named(value),
    SymSeq: lambda reader, value: Repeated(value.length, reader.element(value)),
    History: lambda reader, value: ("own list", Repeated(value.__sym_len__(), "a token")),
    Token: lambda reader, value: ("token", value.stops__),
}


def apart(one: Any, two: Any) -> Any:
    """Whether two values that were read differ: a formula."""
    if type(one) is Members and type(two) is Members:
        return any_of(*(one.get(key, 0) != two.get(key, 0) for key in {**one, **two}))
    if isinstance(one, dict) and isinstance(two, dict):
        if one.keys() != two.keys() or (type(one) is dict and [*one] != [*two]):
            return True
        return any_of(*(apart(value, two[key]) for key, value in one.items()))
    if isinstance(one, Repeated) and isinstance(two, tuple):
        one, two = two, one
    if isinstance(two, Repeated) and isinstance(one, tuple):
        parts = (apart(part, two.element) for part in one)
        return any_of(two.length != len(one), *parts)
    if isinstance(one, Repeated) and isinstance(two, Repeated):
        others = all_of(one.length > 0, apart(one.element, two.element))
        return any_of(one.length != two.length, others)
    if isinstance(one, tuple) and isinstance(two, tuple):
        if len(one) != len(two):
            return True
        return any_of(*map(apart, one, two))
    if isinstance(one, _NUMBERS) and isinstance(two, _NUMBERS):
        return one != two
    return type(one) is not type(two) or one != two


_NUMBERS = (int, SymInt, SymBool)


def parted(one: Any, two: Any) -> tuple[str, str, str]:
    """Where two values that were read on integers first differ, and what stands there in each."""
    if _is_named(one) and _is_named(two) and one[0] == two[0]:
        one, two = one[1], two[1]
    if isinstance(one, dict) and isinstance(two, dict):
        keys = dict.fromkeys((*one, *two))
        parts = [(f".{key}", one.get(key, MISSING), two.get(key, MISSING)) for key in keys]
    elif isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two):
        parts = [(f"[{at}]", a, b) for at, (a, b) in enumerate(zip(one, two, strict=True))]
    else:
        return "", in_words(one), in_words(two)
    differ = next((part for part in parts if apart(part[1], part[2])), None)
    if differ is None:  # the same in another order
        return "", in_words(one), in_words(two)
    where, first, second = differ
    rest, before, after = parted(first, second)
    return f"{where}{rest}", before, after


def _is_named(value: Any) -> bool:
    """Whether it is an object: the name of its class, and what it holds."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def in_words(value: Any) -> str:
    """A value that was read on integers."""
    if isinstance(value, dict):
        told = ", ".join(f"{key}: {in_words(held)}" for key, held in value.items())
        return clean(f"{{{told}}}", LONGEST)
    if value is MISSING:
        return "nothing"
    if _is_named(value):
        kind, held = value
        return in_words(held) if kind == "request" else f"{kind} {in_words(held)}"
    if isinstance(value, tuple):
        return clean(f"({', '.join(map(in_words, value))})", LONGEST)
    return clean(str(value), LONGEST)


def unread(value: Any) -> Iterator[str]:
    """The kinds of all that could not be read in a value."""
    if isinstance(value, Unread):
        yield value.kind
    elif isinstance(value, Repeated):
        yield from unread(value.element)
    elif isinstance(value, dict | tuple):
        for part in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from unread(part)
