"""Objects that stand for the engine's: each attribute is looked up in the profile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from proofs.source.objects.host import Host, Overhear
from proofs.source.objects.sealed import NullContext, SealedMeta, path_of
from proofs.source.objects.unknowns import engine_class
from proofs.source.profile import Row
from proofs.symbolic import Veiled
from proofs.symbolic.telling import told

Answer = Callable[[], Any]


class Stub(metaclass=SealedMeta):
    """An object known to the profile under a path; read-only."""

    def __init__(self, host: Host, path: str) -> None:
        object.__setattr__(self, "_Stub__host", host)
        object.__setattr__(self, "_Stub__path", path)
        self.__dict__.update(host.constants.get(path, ()))

    def __getattr__(self, name: str) -> Any:
        host: Host = object.__getattribute__(self, "_Stub__host")
        path: str = object.__getattribute__(self, "_Stub__path")
        answer, lasts = _answer(host, f"{path}.{name}")
        value = answer()
        if lasts and type(value) in _LASTING:
            host.constants.setdefault(path, {})[name] = self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> None:
        host: Host = object.__getattribute__(self, "_Stub__host")
        path = f"{object.__getattribute__(self, '_Stub__path')}.{name}"
        host.undecided(f"{path} is assigned, which is the engine's: keep it in the scheduler")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        host: Host = object.__getattribute__(self, "_Stub__host")
        host.undecided(f"{path_of(self)} is called, and its row says that it is an object")

    def __instancecheck__(self, instance: object) -> bool:
        host: Host = object.__getattribute__(self, "_Stub__host")
        return host.undecided(f"isinstance of {path_of(self)}: nobody knows")

    def __eq__(self, other: object) -> bool:
        if other is None or self is other:
            return self is other
        host: Host = object.__getattribute__(self, "_Stub__host")
        return host.undecided(f"{path_of(self)} is compared by ==: nobody knows")

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return told(f"<{path_of(self)}>")


class Maker(Stub):
    """A class or function of the engine whose call makes a stub."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        host: Host = object.__getattribute__(self, "_Stub__host")
        return Stub(host, object.__getattribute__(self, "_Maker__makes"))

    def __init__(self, host: Host, path: str, makes: str) -> None:
        super().__init__(host, path)
        object.__setattr__(self, "_Maker__makes", makes)


class Record(metaclass=SealedMeta):
    """A data record: the fields it was built with, then those of the profile."""

    def __init__(self, host: Host, name: str, fields: dict[str, Any]) -> None:
        object.__setattr__(self, "_Record__host", host)
        object.__setattr__(self, "_Record__name", name)
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        host: Host = object.__getattribute__(self, "_Record__host")
        return resolve(host, f"{object.__getattribute__(self, '_Record__name')}.{name}")

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Record):
            return self is other
        host: Host = object.__getattribute__(self, "_Record__host")
        return host.undecided("two records are compared by ==: nobody knows")

    __hash__ = object.__hash__


def name_of(record: Record) -> str:
    """The name of the class of a record."""
    name: str = object.__getattribute__(record, "_Record__name")
    return name


def constant_of(record: object, name: str, otherwise: Any) -> Any:
    """What a record reads from the profile for a field nobody has set, if reading it cannot act."""
    if isinstance(record, Record):
        host: Host = object.__getattribute__(record, "_Record__host")
        path = f"{object.__getattribute__(record, '_Record__name')}.{name}"
        if is_constant(host, path):
            return resolve(host, path)
    return otherwise


class RecordMaker(Stub):
    """The class of a data record."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        host: Host = object.__getattribute__(self, "_Stub__host")
        name: str = object.__getattribute__(self, "_Stub__path")
        if args:
            host.undecided(f"{name}() with positional arguments: give them by name")
        return Record(host, name, kwargs)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """What a class of the text derives from when it derives from the record."""
        host: Host = object.__getattribute__(self, "_Stub__host")
        name: str = object.__getattribute__(self, "_Stub__path")

        def init(record: Record, **fields: Any) -> None:
            Record.__init__(record, host, name, fields)

        return (SealedMeta(name, (Record,), {"__init__": init}),)


_LASTING = frozenset({int, bool, str, float, type(None), Stub})
"""Types of which one object is as good as another."""


def resolve(host: Host, path: str) -> Any:
    """What the text sees under ``path``; undecided if the profile does not say."""
    return _answer(host, path)[0]()


def _answer(host: Host, path: str) -> tuple[Answer, bool]:
    """Who answers under ``path``, and whether always the same: a constant, or an object that holds
    no more than its own rows.  Looked up once for each text, for runs ask again and again."""
    known = host.answers.get(path)
    if known is None:
        row = host.row(path)
        answer: Answer
        if row is not None:
            answer = partial(_KINDS[row.kind], host, row)
            if host.overhear is not None:
                answer = partial(_overheard, host.overhear, row.attribute, answer)
        elif path in host.profile.groups:
            answer = partial(Stub, host, path)
        else:
            answer = partial(host.unprofiled, path)
        lasts = row is None or row.kind in ("const", "object")
        known = host.answers[path] = answer, lasts
    return known


def _overheard(overhear: Overhear, path: str, answer: Answer) -> Any:
    return overhear(path, answer())


def is_constant(host: Host, path: str) -> bool:
    """Whether what the text sees under ``path`` is the same in every run."""
    row = host.row(path)
    return row is not None and row.kind == "const"


def _call(host: Host, row: Row) -> Callable[..., Any]:
    if row.kind_of_literal in _LASTING:
        value = row.literal
        return lambda *args, **kwargs: value
    return lambda *args, **kwargs: row.literal


def _free(host: Host, row: Row) -> Any:
    return _answered(row, lambda: host.here.configured(row))


def _passed_on(host: Host, row: Row) -> Any:
    return _answered(row, lambda: Veiled(row.kind_of_literal, row.attribute))


def _answered(row: Row, answer: Callable[[], Any]) -> Any:
    """The answer, or a function that gives one at each call."""
    return (lambda *args, **kwargs: answer()) if row.attribute.endswith("()") else answer()


def _same(host: Host, row: Row) -> Any:
    if row.value:
        return lambda *args, **kwargs: lambda given: given
    return lambda given: given


def _make(host: Host, row: Row) -> Any:
    return Maker(host, row.attribute.removeprefix("import ").removesuffix("()"), row.value)


def _state(host: Host, row: Row) -> Any:
    host.undecided(f"{row.attribute} is read, of which a row of kind {row.kind} says nothing")


_KINDS: dict[str, Callable[[Host, Row], Any]] = {
    "const": lambda host, row: row.literal,
    "free": _free,
    "passed-on": _passed_on,
    "knob": lambda host, row: host.here.knob(row.value),
    "object": lambda host, row: Stub(
        host, row.value or row.attribute.removeprefix("import ").removesuffix("()")
    ),
    "call": _call,
    "make": _make,
    "same": _same,
    "scope": lambda host, row: lambda *args, **kwargs: NullContext(),
    "world": lambda host, row: host.here.answer(row.attribute.removesuffix("()")),
    "python": _state,
    "class": engine_class,
    "record": lambda host, row: RecordMaker(host, row.attribute.removeprefix("import ")),
    "state": _state,
}
