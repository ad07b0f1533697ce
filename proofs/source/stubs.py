"""Objects that stand for the engine's: each attribute is looked up in the profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from proofs.source.host import Host
from proofs.source.profile import Row
from proofs.symbolic import Veiled


class SealedMeta(type):
    """Classes handed to the text cannot be changed by it."""

    def __setattr__(cls, name: str, value: object) -> None:
        raise AttributeError(f"cannot set attribute {name!r} of {cls.__name__}")

    def __delattr__(cls, name: str) -> None:
        raise AttributeError(f"cannot delete attribute {name!r} of {cls.__name__}")


_PLAIN = frozenset({int, bool, str, float, type(None)})


class Stub(metaclass=SealedMeta):
    """An object known to the profile under a path; read-only."""

    def __init__(self, host: Host, path: str) -> None:
        object.__setattr__(self, "_Stub__host", host)
        object.__setattr__(self, "_Stub__path", path)
        self.__dict__.update(host.constants.get(path, ()))

    def __getattr__(self, name: str) -> Any:
        host: Host = object.__getattribute__(self, "_Stub__host")
        path: str = object.__getattribute__(self, "_Stub__path")
        asked = f"{path}.{name}"
        value = resolve(host, asked)
        plain = type(value) in _PLAIN and is_constant(host, asked)
        if plain or (type(value) is Stub and is_object(host, asked)):
            host.constants.setdefault(path, {})[name] = self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> None:
        host: Host = object.__getattribute__(self, "_Stub__host")
        host.unprofiled(f"{object.__getattribute__(self, '_Stub__path')}.{name} (assigned)")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        host: Host = object.__getattribute__(self, "_Stub__host")
        host.unprofiled(f"{object.__getattribute__(self, '_Stub__path')}()")

    def __instancecheck__(self, instance: object) -> bool:
        host: Host = object.__getattribute__(self, "_Stub__host")
        host.unprofiled(*row_of(self, " (isinstance)", instance))

    def __eq__(self, other: object) -> bool:
        if other is None or self is other:
            return self is other
        host: Host = object.__getattribute__(self, "_Stub__host")
        host.undecided(f"{path_of(self)} is compared by ==: nobody knows")

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<{path_of(self)}>"


def path_of(value: object) -> str:
    """The path under which the profile knows an object; empty: it is no stub."""
    return str(object.__getattribute__(value, "_Stub__path")) if isinstance(value, Stub) else ""


class Maker(Stub):
    """A class or function of the engine whose call makes a stub."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        host: Host = object.__getattribute__(self, "_Stub__host")
        return Stub(host, object.__getattribute__(self, "_Maker__makes"))

    @classmethod
    def of(cls, host: Host, path: str, makes: str) -> Maker:
        """The maker known as ``path``."""
        maker = cls(host, path)
        object.__setattr__(maker, "_Maker__makes", makes)
        return maker


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
        host.undecided("two records are compared by ==: nobody knows")

    __hash__ = object.__hash__


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
            host.unprofiled(f"{name}() with positional arguments")
        return Record(host, name, kwargs)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """What a class of the text derives from when it derives from the record."""
        host: Host = object.__getattribute__(self, "_Stub__host")
        name: str = object.__getattribute__(self, "_Stub__path")

        def init(record: Record, **fields: Any) -> None:
            Record.__init__(record, host, name, fields)

        return (SealedMeta(name, (Record,), {"__init__": init}),)


class ClassMeta(SealedMeta):
    """The type of the engine's classes, and of those a text derives from one.

    Whether an object is an instance is only known of those the row names: they are none.
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        for base in bases:
            row = vars(base).get("_ClassMeta__row")
            if row is not None and row.value != BASE:
                cls.__host.undecided(f"a class derived from {base.__name__}: nobody knows what it is")
        super().__init__(name, bases, attributes)

    def __is_ours(cls) -> bool:
        return "_ClassMeta__row" in vars(cls)

    def __getattr__(cls, name: str) -> Any:
        if not cls.__is_ours() or name.startswith("_ClassMeta__"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        cls.__host.unprofiled(*row_of(cls, f".{name}"))

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.__is_ours():
            cls.__host.unprofiled(*row_of(cls, "()"))
        return super().__call__(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        if type.__instancecheck__(cls, instance) or not cls.__is_ours():
            return type.__instancecheck__(cls, instance)
        if type(instance) is cls.__real:
            return True
        known = instance is None or type(instance) in _PLAIN or cls.__real is not object
        if known or path_of(instance) in cls.__row.value.split():
            return False
        cls.__host.unprofiled(*row_of(cls, " (isinstance)", instance))


BASE = "base"
"""Value of the row of a class that a text may derive from: it brings no more than names."""


def engine_class(host: Host, row: Row, real: type = object) -> type:
    """A class of the engine; ``real``: what its instances are here."""
    fields = {"_ClassMeta__host": host, "_ClassMeta__row": row, "_ClassMeta__real": real}
    return ClassMeta(row.attribute.removeprefix("import "), (), fields)


class UnknownMeta(SealedMeta):
    """The type of names the profile does not know: any use of one is undecided.

    So is any use of a class derived from one: nobody knows what it inherits.
    """

    def __getattribute__(cls, name: str) -> Any:
        if "__" in name:
            return super().__getattribute__(name)
        _unknown(cls, f".{name}")

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        _unknown(cls, "()")

    def __instancecheck__(cls, instance: object) -> bool:
        _unknown(cls, " (isinstance)", instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        _unknown(cls, " (issubclass)")

    def __iter__(cls) -> Iterator[Any]:
        _unknown(cls, " (iterated)")

    def __contains__(cls, item: object) -> bool:
        _unknown(cls, " (membership)")

    def __getitem__(cls, key: object) -> Any:
        _unknown(cls, "[...]")

    def __len__(cls) -> int:  # noqa: PLE0303
        _unknown(cls, " (length)")

    def __bool__(cls) -> bool:  # noqa: PLE0304
        _unknown(cls, " (truth value)")

    def __eq__(cls, other: object) -> bool:
        _unknown(cls, " (compared)")

    def __hash__(cls) -> int:
        return id(cls)


_SETTLED_BY = {"()": "call | None", " (isinstance)": "class |"}
"""How an imported name is used → kind and value of a row that suits it."""


def row_of(what: Any, use: str, instance: object = None) -> tuple[str, str]:
    """How a use of an imported name is called, and the row that settles it.

    Args:
        instance: of what it is asked whether it is one.
    """
    name = type.__getattribute__(what, "__name__") if isinstance(what, type) else path_of(what)
    kind = "object |" if use.startswith(".") else _SETTLED_BY.get(use, "const | None")
    kind = f"{kind} {path_of(instance)}".rstrip()
    row = f"import {name} | {kind} | | | why this choice is sound"
    return f"import {name}" if use == "()" else f"import {name}{use}", row


def _unknown(cls: type, use: str, instance: object = None) -> NoReturn:
    host: Host = type.__getattribute__(cls, "_Unknown__host")
    host.unprofiled(*row_of(cls, use, instance))


def unknown(host: Host, name: str) -> type:
    """Stands for an imported name without a row."""
    return UnknownMeta(name, (), {"_Unknown__host": host})


def resolve(host: Host, path: str) -> Any:
    """What the text sees under ``path``; undecided if the profile does not say."""
    row = host.row(path)
    if row is not None:
        return _KINDS[row.kind](host, row)
    if path in host.profile.groups:
        return Stub(host, path)
    return host.unprofiled(path)


def is_constant(host: Host, path: str) -> bool:
    """Whether what the text sees under ``path`` is the same in every run."""
    row = host.row(path)
    return row is not None and row.kind == "const"


def is_object(host: Host, path: str) -> bool:
    """Whether it is an object that holds no more than its own rows: one is as good as another."""
    row = host.row(path)
    return row is None or row.kind == "object"


def _call(host: Host, row: Row) -> Callable[..., Any]:
    return lambda *args, **kwargs: row.literal


def _free(host: Host, row: Row) -> Any:
    return _answered(row, lambda: host.here.configured(row))


def _passed_on(host: Host, row: Row) -> Any:
    return _answered(row, lambda: Veiled(type(row.literal), row.attribute))


def _answered(row: Row, answer: Callable[[], Any]) -> Any:
    """The answer, or a function that gives one at each call."""
    return (lambda *args, **kwargs: answer()) if row.attribute.endswith("()") else answer()


def _make(host: Host, row: Row) -> Any:
    return Maker.of(host, row.attribute.removeprefix("import ").removesuffix("()"), row.value)


def _state(host: Host, row: Row) -> Any:
    host.unprofiled(row.attribute)


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
    "world": lambda host, row: host.here.answer(row.attribute.removesuffix("()")),
    "python": _state,
    "class": engine_class,
    "record": lambda host, row: RecordMaker(host, row.attribute.removeprefix("import ")),
    "state": _state,
}
