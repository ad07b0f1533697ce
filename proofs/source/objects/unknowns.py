"""The engine's classes, and what the profile does not know: most questions are undecided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from proofs.source.objects.host import Host
from proofs.source.objects.sealed import SealedMeta, path_of
from proofs.source.profile import Row
from proofs.source.uses import CALLED, OPENED


class ClassMeta(SealedMeta):
    """The type of the engine's classes, and of those a text derives from one.

    Whether an object is an instance is only known of those the row names: they are none.
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        for base in bases:
            row = vars(base).get("_ClassMeta__row")
            if row is not None and row.value != BASE:
                cls.__host.undecided(
                    f"a class derived from {base.__name__}: nobody knows what it is"
                )
        super().__init__(name, bases, attributes)

    def __is_ours(cls) -> bool:
        return "_ClassMeta__row" in vars(cls)

    def __getattr__(cls, name: str) -> Any:
        if not cls.__is_ours() or name.startswith("_ClassMeta__"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return cls.__host.unprofiled(*row_of(cls.__host, cls, f".{name}"))

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.__is_ours():
            cls.__host.unprofiled(*row_of(cls.__host, cls, "()"))
        return super().__call__(*args, **kwargs)

    def __subclasscheck__(cls, subclass: type) -> bool:
        if cls.__is_ours() and not type.__subclasscheck__(cls, subclass):
            cls.__host.unprofiled(*row_of(cls.__host, cls, " (issubclass)"))
        return type.__subclasscheck__(cls, subclass)

    def __instancecheck__(cls, instance: object) -> bool:
        if type.__instancecheck__(cls, instance) or not cls.__is_ours():
            return type.__instancecheck__(cls, instance)
        if type(instance) is cls.__real:
            return True
        if cls.__real is not object or _named(instance) in cls.__row.value.split():
            return False
        host: Host = cls.__host
        return host.unprofiled(*row_of(host, cls, " (isinstance)", instance))


def _named(instance: object) -> str:
    """How a row of kind `class` names an object: by its own row, or else by its class."""
    return "None" if instance is None else path_of(instance) or str(instance.__class__.__name__)


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
        return _unknown(cls, f".{name}")

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


_SHAPES = {"()": CALLED, "[...]": "", " (iterated)": "()", " (membership)": "()", " (length)": "()"}
"""How an imported name is used → the shape a row has to say; empty: as it is used elsewhere."""


def row_of(host: Host, what: Any, use: str, instance: object = None) -> tuple[str, str]:
    """How a use of an imported name is called, and the row that settles it; empty: none does.

    Args:
        instance: of what it is asked whether it is one.
    """
    name = type.__getattribute__(what, "__name__") if isinstance(what, type) else path_of(what)
    base = _base_of(what)
    if base is not None:
        name = type.__getattribute__(base, "__name__")
        return (
            f"import {name} (what a class inherits of it)",
            f"import {name} | class | {BASE} {_END}",
        )
    if use == " (isinstance)":
        row = f"import {name} | class | {_named(instance)} {_END}"
    elif use == " (issubclass)":
        row = ""
    else:
        shape = OPENED if use.startswith(".") else _SHAPES.get(use, "")
        row = host.uses.import_row(name, shape)
    return f"import {name}" if use == "()" else f"import {name}{use}", row


_END = "| | | why this choice is sound"


def _base_of(what: Any) -> type | None:
    """The unknown class that a class of a text derives from."""
    if type(what) is not UnknownMeta or "_Unknown__host" in type.__getattribute__(what, "__dict__"):
        return None
    bases: tuple[type, ...] = type.__getattribute__(what, "__mro__")
    return next(b for b in bases if "_Unknown__host" in type.__getattribute__(b, "__dict__"))


def _unknown(cls: type, use: str, instance: object = None) -> NoReturn:
    host: Host = type.__getattribute__(cls, "_Unknown__host")
    host.unprofiled(*row_of(host, cls, use, instance))


def unknown(host: Host, name: str) -> type:
    """Stands for an imported name without a row."""
    return UnknownMeta(name, (), {"_Unknown__host": host})
