"""Enumerations of a text: Python makes them, of bases that the text cannot reach.

``Enum`` itself is an object that anybody may hang something on, so a text is given what stands for
it among the bases of a class, and nothing more.  Python's enumerations can also be made by a call,
even of all that a module holds: not here.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NoReturn

from proofs.source.objects.host import Host
from proofs.source.objects.ofhost import OfAHost
from proofs.source.objects.requests import PauseState, RequestStatus

_OURS = (RequestStatus, PauseState)
"""Enumerations here and in an engine."""


class _Meta(enum.EnumMeta):
    """Looks members up by their values, and makes no more classes."""

    host__: Host

    def __call__(cls, *given: Any, **options: Any) -> Any:
        if len(given) != 1 or options:
            cls.__refuse()
        return super().__call__(*given)

    def _convert_(cls, *given: Any, **options: Any) -> Any:
        cls.__refuse()

    _create_ = _convert_

    def __refuse(cls) -> NoReturn:
        cls.host__.undecided("an enumeration made by a call: write it as a class")


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
        kind = type(instance)
        if not (kind in self.host__.classes or kind.__module__ == "builtins" or kind in _OURS):
            self.host__.undecided(f"isinstance of {self.called__}: nobody knows")
        outer: type = getattr(enum, self.called__)
        return isinstance(instance, outer)


def enum_base(name: str) -> Callable[[Host], Any]:
    """Makes what stands for a class of ``enum``."""

    def maker(host: Host) -> Any:
        kind = type(name, (_Base,), {"__slots__": (), "called__": name})
        meta = host.standard.setdefault(("enum", ""), type("EnumMeta", (_Meta,), {"host__": host}))
        outer: Any = getattr(enum, name)
        space = meta.__prepare__(name, (outer,))
        return kind(host, meta(name, (outer,), space))

    return maker


def auto_of(host: Host) -> Callable[[], Any]:
    """``enum.auto``."""
    return lambda: enum.auto()


def unique(made: Any) -> Any:
    """``enum.unique``."""
    return enum.unique(made)
