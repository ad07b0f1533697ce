"""Names of ``typing`` and ``collections.abc``: a text may make more names of them."""

from __future__ import annotations

import collections.abc
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from proofs.source.objects.host import Host
from proofs.source.objects.ofhost import OfAHost

_PLAIN = (int, bool, str, float, bytes, type(None), list, dict, set, frozenset, tuple, range)
_KINDS = frozenset({*_PLAIN, deque, defaultdict, OrderedDict})


class _Named(OfAHost):
    """What only names a type: to subscript it names another."""

    __slots__ = ()
    called__ = "typing"
    answers__ = True

    def __getitem__(self, part: object) -> _Named:
        return _Named(self.host__)

    def __or__(self, other: object) -> _Named:
        return _Named(self.host__)

    __ror__ = __or__

    def __instancecheck__(self, instance: object) -> bool:
        answer: bool = self.host__.undecided("isinstance of a name of typing: nobody knows")
        return answer


class _Collection(_Named):
    """A class of ``collections.abc``: what Python's own collections are is known."""

    __slots__ = ("real__",)

    def __init__(self, host: Host, real: type) -> None:
        super().__init__(host)
        object.__setattr__(self, "real__", real)

    def __instancecheck__(self, instance: object) -> bool:
        if type(instance) not in _KINDS:
            self.host__.undecided(f"isinstance of {self.real__.__name__}: nobody knows")
        return bool(isinstance(instance, self.real__))


def type_name(host: Host) -> _Named:
    """A name of ``typing``."""
    return _Named(host)


def collection_name(name: str) -> Callable[[Host], Any]:
    """Makes a name of ``collections.abc``."""
    return lambda host: _Collection(host, getattr(collections.abc, name))


def type_variable(host: Host) -> Callable[..., Any]:
    """``typing.TypeVar``."""
    return lambda name, *bounds, **options: _Named(host)
