"""Enumerations of a text: Python makes them, of bases that the text cannot reach.

``Enum`` itself is an object that anybody may hang something on, so a text is given what stands for
it among the bases of a class, and nothing more.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from proofs.source.host import Host
from proofs.source.ofhost import OfAHost


class _Base(OfAHost):
    """One of the classes that enumerations derive from."""

    __slots__ = ("real__",)
    answers__ = True

    def __init__(self, host: Host, real: type) -> None:
        super().__init__(host)
        object.__setattr__(self, "real__", real)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (self.real__,)

    def __call__(self, *given: Any, **options: Any) -> Any:
        self.host__.undecided("an enumeration made by a call: write it as a class")

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self.real__)


def enum_base(name: str) -> Callable[[Host], Any]:
    """Makes what stands for a class of ``enum``."""
    kind = type(name, (_Base,), {"__slots__": (), "called__": name})
    return lambda host: kind(host, getattr(enum, name))


def auto_of(host: Host) -> Callable[[], Any]:
    """``enum.auto``."""
    return lambda: enum.auto()


def unique(made: Any) -> Any:
    """``enum.unique``."""
    return enum.unique(made)
