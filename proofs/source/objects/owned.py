"""What a text owns beside its scheduler object: globals, attributes of classes, defaults, closures.

It outlives a run.  So it is noted once, when the text has been loaded, put back before every run
(no path sees what another did), and looked at after each: a text that changes it keeps state.
"""

from __future__ import annotations

import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proofs.source.names import is_inside
from proofs.source.objects.footprint import (
    PLAIN,
    Opaque,
    Own,
    attributes_of,
    cell_contents,
    contents,
    is_same,
    parts,
    slots_of,
)
from proofs.source.objects.sealed import SealedMeta


@dataclass(frozen=True, slots=True)
class _Holder:
    """One object that may change, and what it held when the text had been loaded."""

    name: str
    value: Any
    elements: list[Any]
    attributes: dict[str, Any]

    @property
    def is_as_it_was(self) -> bool:
        """Whether it holds the same now."""
        now = _elements(self.value)
        attributes = _attributes(self.value)
        return (
            len(now) == len(self.elements)
            and all(map(is_same, now, self.elements))
            and attributes.keys() == self.attributes.keys()
            and all(is_same(attributes[name], old) for name, old in self.attributes.items())
        )

    def restore(self) -> None:
        """Let it hold the same again."""
        value = self.value
        for kind, refill in _REFILLS.items():
            if isinstance(value, kind):
                refill(value, self.elements)
                break
        if isinstance(value, type):
            for name in _attributes(value).keys() - self.attributes.keys():
                type.__delattr__(value, name)
            for name, part in self.attributes.items():
                type.__setattr__(value, name, part)
            return
        if hasattr(value, "__dict__"):
            slots = slots_of(type(value))
            vars(value).clear()
            vars(value).update({n: v for n, v in self.attributes.items() if n not in slots})
        for name, slot in slots_of(type(value)).items():
            if name in self.attributes:
                slot.__set__(value, self.attributes[name])
            elif name in _attributes(value):
                slot.__delete__(value)


class Owned:
    """The state of one text's files.

    Args:
        namespaces: the globals of each file.
        own: which files and classes are the text's.
        given: functions the text is given; it may hang attributes on them.
        kept: name and value of what classes and functions were made with.
    """

    def __init__(
        self,
        namespaces: Iterable[Mapping[str, Any]],
        own: Own,
        given: Iterable[Any],
        kept: Iterable[tuple[str, Any]] = (),
    ) -> None:
        self.own, self._classes = own, len(own.classes)
        self.opaque: dict[str, str] = {}
        """Name → the type of what it holds, where nobody can tell whether that changes."""
        self._holders: list[_Holder] = []
        self._names: list[str] = []
        """Functions without attributes of their own."""
        self._attributes: list[dict[str, Any]] = []
        """Where those would be."""
        self._seen: set[int] = set()
        for name, value in (*_roots(namespaces, own.classes), *kept):
            self._note(name, value)
        for function in given:
            if isinstance(function, types.FunctionType):
                self._note(function.__name__, function)

    def _note(self, name: str, value: Any) -> None:
        open_ = [value]
        while open_:
            part = open_.pop()
            if type(part) in PLAIN or id(part) in self._seen:
                continue
            self._seen.add(id(part))
            try:
                held = parts(part, self.own)
            except Opaque as opaque:
                self.opaque.setdefault(name, str(opaque.args[0]))
                continue
            if type(part) is types.FunctionType and part.__code__.co_filename not in self.own.files:
                vars(part).clear()  # what another text has hung on it
            if type(part) is types.FunctionType and not vars(part):
                self._names.append(name)
                self._attributes.append(vars(part))
            elif held is not None and _may_change(part):
                self._holders.append(_Holder(name, part, _elements(part), _attributes(part)))
            open_ += reversed(held or ())

    def doubtful(self) -> Iterator[str]:
        """The names under which something is, or may be, not as it was when it was loaded."""
        yield from self.opaque
        for holder in self._holders:
            if not holder.is_as_it_was:
                yield holder.name
        if any(self._attributes):
            yield from (n for n, found in zip(self._names, self._attributes, strict=True) if found)

    def restore(self) -> None:
        """Put everything back; classes that a run has made go."""
        if len(self.own.classes) > self._classes:
            for made in list(self.own.classes)[self._classes :]:
                del self.own.classes[made]
        for holder in self._holders:
            if not holder.is_as_it_was:
                holder.restore()
        if any(self._attributes):
            for attributes in self._attributes:
                attributes.clear()


def _roots(
    namespaces: Iterable[Mapping[str, Any]], classes: Collection[type]
) -> Iterator[tuple[str, Any]]:
    """Every global and every attribute of a class, by name; what is in a class comes first."""
    for made in classes:
        for name, value in vars(made).items():
            if not is_inside(name) or name == "__init__":
                yield f"{made.__name__}.{name}", value
        yield made.__name__, made
    for namespace in namespaces:
        for name, value in namespace.items():
            if "__" not in name:
                yield name, value


def _may_change(value: Any) -> bool:
    """Whether what an object holds can be replaced."""
    fixed = (tuple, frozenset, property, staticmethod, classmethod, slice, types.MethodType)
    if isinstance(value, type):
        return not isinstance(value, SealedMeta)
    return not isinstance(value, (*fixed, types.BuiltinFunctionType))


def _elements(value: Any) -> list[Any]:
    """What a collection or a variable of a closure holds; a set in no order that matters."""
    if isinstance(value, types.CellType):
        return cell_contents(value)
    return contents(value) or []


def _attributes(value: Any) -> dict[str, Any]:
    if isinstance(value, type):
        return {name: part for name, part in vars(value).items() if "__" not in name}
    return attributes_of(value)


def _refill_cell(cell: types.CellType, old: list[Any]) -> None:
    if old:
        cell.cell_contents = old[0]
    elif cell_contents(cell):
        del cell.cell_contents


def _refill_set(value: set[Any], old: list[Any]) -> None:
    set.clear(value)
    set.update(value, old)


def _refill_deque(value: deque[Any], old: list[Any]) -> None:
    deque.clear(value)
    deque.extend(value, old)


def _refill_ordered(value: OrderedDict[Any, Any], old: list[Any]) -> None:
    OrderedDict.clear(value)
    OrderedDict.update(value, zip(old[::2], old[1::2], strict=True))


def _refill_dict(value: dict[Any, Any], old: list[Any]) -> None:
    if isinstance(value, defaultdict):
        value.default_factory, *old = old
    dict.clear(value)
    dict.update(value, zip(old[::2], old[1::2], strict=True))


_REFILLS: dict[type, Any] = {
    list: lambda value, old: list.__setitem__(value, slice(None), old),
    set: _refill_set,
    deque: _refill_deque,
    OrderedDict: _refill_ordered,
    dict: _refill_dict,
    types.CellType: _refill_cell,
}
