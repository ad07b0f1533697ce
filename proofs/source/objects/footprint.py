"""What objects hold, as flat lists: equal ones mean that nothing in them changed.

A step is proved from one state and has to say how it leaves it.  What the profile knows is judged
elsewhere; all else that a text's objects hold is compared before and after.  Reading it runs
nothing of the text, so only the builtin types' own methods are used.
"""

from __future__ import annotations

import enum
import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from proofs.source.objects.ids import RequestId
from proofs.source.objects.queues import RequestQueue, SchedulingPolicy
from proofs.source.objects.requests import PauseState, RequestStatus
from proofs.source.objects.sealed import SealedMeta
from proofs.source.objects.stubs import Maker, Record, Stub
from proofs.source.objects.tokens import StopToken, Token, Unseen
from proofs.symbolic import SymBool, SymInt, SymSeq, Veiled
from proofs.symbolic.counts import plain

MOST = 10_000
"""Entries of one footprint; a scheduler of two requests holds a few hundred."""
PLAIN = frozenset({int, bool, str, float, bytes, complex, type(None), range})
"""Types whose values are compared, not the objects."""
_LEAVES = frozenset(
    {SymInt, SymBool, Veiled, Unseen, Token, StopToken, RequestId, Stub, Maker}
    | {SchedulingPolicy, RequestStatus, PauseState, object, type(NotImplemented), type(...)}
    | {types.MemberDescriptorType, types.MethodDescriptorType, types.WrapperDescriptorType}
    | {type(vars(namedtuple("_Pair", "one"))["one"]), enum.property}
)
"""Types whose objects hold nothing that a text can change."""
_FLAT = PLAIN | _LEAVES
_SAME, _KNOWN, _NOTHING = object(), object(), object()


class Opaque(Exception):
    """Something whose state cannot be read, by the name of its type."""


@dataclass(frozen=True)
class Own:
    """What counts as a text's own."""

    files: Collection[str]
    classes: dict[type, None]
    """The classes it has defined."""


@dataclass
class Footprint:
    """What some named objects hold; compared by ``changed``."""

    objects: dict[str, Any]
    held: dict[str, list[Any]] = field(default_factory=dict)
    """Of those that are more than one value."""
    kept: list[Any] = field(default_factory=list)
    """All that is known by its identity: it must not make room for something else."""

    def changed(self, before: Footprint) -> str | None:
        """The first name that holds something else than it did, or is new, or gone."""
        for name, value in self.objects.items():
            was = before.objects.get(name, _NOTHING)
            if value is not was and name not in self.held and not is_same(value, was):
                return name
        if self.held != before.held:
            for name in self.held.keys() | before.held.keys():
                if self.held.get(name) != before.held.get(name):
                    return name
        if len(before.objects) == len(self.objects):
            return None
        return next(iter(before.objects.keys() - self.objects.keys()))


def is_same(one: Any, two: Any) -> bool:
    """Whether two are one object, or one plain value."""
    one, two = plain(one), plain(two)
    kind = type(one)
    return one is two or (kind in PLAIN and kind is type(two) and bool(one == two))


def footprint(objects: dict[str, Any], known: Iterable[tuple[str, object]], own: Own) -> Footprint:
    """What objects hold, by name.

    Args:
        known: name and object of what is judged elsewhere: where it is met, its name stands.

    Raises:
        Opaque: one holds something whose state cannot be read; the second argument is its name.
    """
    made = Footprint(objects)
    seen: dict[int, Any] = {id(value): name for name, value in known}
    for name, value in objects.items():
        if type(value) not in _FLAT:
            try:
                made.held[name] = _flat(value, seen, made.kept, own)
            except Opaque as opaque:
                raise Opaque(opaque.args[0], name) from None
    return made


def _flat(value: object, seen: dict[int, Any], kept: list[Any], own: Own) -> list[Any]:
    tokens: list[Any] = []
    open_: list[Any] = [value]
    while open_:
        part = open_.pop()
        if type(part) is SymInt:
            part = plain(part)
        kind = type(part)
        if kind in PLAIN:
            tokens += (kind, part)
            continue
        number = seen.get(id(part))
        if number is not None:
            tokens += (_KNOWN, number)
            continue
        kept.append(part)
        held = parts(part, own)
        if held is None:
            tokens += (_SAME, id(part))
            continue
        if len(tokens) + len(held) > MOST:
            raise Opaque(f"more than {MOST} things")
        seen[id(part)] = len(seen)
        tokens += (id(kind), len(held))
        open_ += reversed(held)
    return tokens


def parts(value: Any, own: Own) -> list[Any] | None:
    """What an object holds that may change; None: nothing, or nothing that is the text's.

    Raises:
        Opaque: nobody can tell.
    """
    kind = type(value)
    collection = _COLLECTIONS.get(kind)
    if collection is not None:
        exactly: list[Any] = collection(value)
        return exactly
    if kind in _LEAVES:
        return None
    if kind in own.classes:
        return [*(contents(value) or ()), *_items(attributes_of(value))]
    if isinstance(kind, SealedMeta):
        return _of_ours(value)
    if kind in _READS:
        read: list[Any] | None = _READS[kind](value, own)
        return read
    elements = contents(value)
    if elements is not None:
        return elements
    if isinstance(value, type):
        mine = value in own.classes
        return _items({n: v for n, v in vars(value).items() if "__" not in n}) if mine else None
    if isinstance(value, enum.Enum):
        return None
    if isinstance(value, BaseException):
        return [*value.args, *_items(vars(value))]
    raise Opaque(kind.__name__)


def slots_of(kind: type) -> dict[str, Any]:
    """The slots that a class of a text and its bases declare, by name."""
    return {
        name: slot
        for base in reversed(kind.__mro__)
        if "__slots__" in vars(base)
        for name, slot in vars(base).items()
        if type(slot) is types.MemberDescriptorType
    }


def attributes_of(value: Any) -> dict[str, Any]:
    """The attributes of an object of a text, those in slots too."""
    found = dict(vars(value)) if hasattr(value, "__dict__") else {}
    for name, slot in slots_of(type(value)).items():
        try:
            found[name] = slot.__get__(value)
        except AttributeError:
            continue
    return found


def contents(value: Any) -> list[Any] | None:
    """The elements of a collection of Python's, or of a class derived from one."""
    kind = type(value)
    for base, read in _COLLECTIONS.items():
        if issubclass(kind, base):
            elements: list[Any] = read(value)
            return elements
    return None


def _items(mapping: Mapping[Any, Any]) -> list[Any]:
    return [part for item in dict.items(dict(mapping)) for part in item]


def _of_ours(value: Any) -> list[Any] | None:
    """The prover's own objects: what a text can change of them."""
    if isinstance(value, Record):
        return _items({n: v for n, v in vars(value).items() if "__" not in n})
    if type(value) is RequestQueue:
        return list(value.shown__)
    return None


def _in_order(elements: Iterable[Any]) -> list[Any]:
    """The elements of a set, equal sets alike."""

    def key(element: Any) -> tuple[int, str, str | int]:
        kind = type(element)
        if kind in PLAIN:
            return 0, kind.__name__, repr(element)
        return 1, "", id(element)

    try:
        return sorted(elements, key=key)
    except TypeError:  # pragma: no cover - keys of one kind compare
        return list(elements)


def _of_partial(value: Any) -> list[Any]:
    """What `functools.partial` holds; its keywords are a dictionary that may change."""
    return [value.func, *value.args, value.keywords, *_items(vars(value))]


_COLLECTIONS: dict[type, Any] = {
    partial: _of_partial,
    OrderedDict: lambda value: [p for item in OrderedDict.items(value) for p in item],
    list: lambda value: list(list.__iter__(value)),
    tuple: lambda value: list(tuple.__iter__(value)),
    set: lambda value: _in_order(set.__iter__(value)),
    frozenset: lambda value: _in_order(frozenset.__iter__(value)),
    defaultdict: lambda value: [value.default_factory, *_pairs(value)],
    dict: lambda value: _pairs(value),
    deque: lambda value: list(deque.__iter__(value)),
}


def _pairs(value: dict[Any, Any]) -> list[Any]:
    return [part for item in dict.items(value) for part in item]


def _function(value: Any, own: Own) -> list[Any] | None:
    if value.__code__.co_filename not in own.files:
        return _items(vars(value)) or None
    options = value.__kwdefaults__ or {}
    cells = value.__closure__ or ()
    return [*(value.__defaults__ or ()), *options.values(), *cells, *_items(vars(value))]


def cell_contents(value: types.CellType) -> list[Any]:
    """The value of a closure's variable, if it is bound."""
    try:
        return [value.cell_contents]
    except ValueError:
        return []


def _method(value: Any, own: Own) -> list[Any] | None:
    ours = value.__func__.__code__.co_filename not in own.files
    return None if ours else [value.__func__, value.__self__]


def _builtin(value: Any, own: Own) -> list[Any] | None:
    owner = value.__self__
    return None if isinstance(owner, type | types.ModuleType) else [owner]


_READS: dict[type, Any] = {
    types.FunctionType: _function,
    types.CellType: lambda value, own: cell_contents(value),
    types.MethodType: _method,
    types.BuiltinFunctionType: _builtin,
    property: lambda value, own: [value.fget, value.fset, value.fdel],
    staticmethod: lambda value, own: [value.__func__],
    classmethod: lambda value, own: [value.__func__],
    slice: lambda value, own: [value.start, value.stop, value.step],
    SymSeq: lambda value, own: [value.length, value.element],
}
