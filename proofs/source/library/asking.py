"""What a text asks of an object: its class, whether it has something, whether it can be called.

Of its own objects, and of Python's, it learns what Python says.  The objects of the engine are
stand-ins here: they share no class with the real ones and have other attributes, so whoever asks
them is told only what is certain; everything else is undecided.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import UnionType
from typing import Any, NoReturn

from proofs.source.library.handling import caught
from proofs.source.library.homes import INTERFACE, YOUNG
from proofs.source.library.scopes import opened
from proofs.source.library.standard import PYTHONS
from proofs.source.library.vocabulary import Scope
from proofs.source.names import is_forbidden
from proofs.source.objects.fresh import Fresh
from proofs.source.objects.host import Host, is_plain_dict
from proofs.source.objects.requests import PauseState, Request, RequestStatus
from proofs.source.objects.sealed import SealedMeta, path_of
from proofs.source.objects.stubs import Record, Stub
from proofs.source.objects.unknowns import ClassMeta, UnknownMeta, row_of
from proofs.source.syntax.rewrite import (
    CAUGHT,
    HANDLED,
    INIT,
    MENTIONED,
    MODULE,
    NAME_OF,
    OPENED,
    read,
)
from proofs.symbolic import Veiled

_MISSING = object()
_OF_A_CACHE = ("cache_clear", "cache_info", "cache_parameters")
"""What a function of the engine has if it happens to be cached."""


class ModuleName(Veiled):
    """``__name__``: it goes into a logger; all that is known of it is that nobody runs the file."""

    __slots__ = ("host__",)

    def __init__(self, host: Host) -> None:
        super().__init__(str, "the name of the module")
        self.host__ = host

    def refuse__(self, use: str) -> NoReturn:
        self.host__.undecided(f"{use} of {self.what__}: it is called otherwise in an engine")

    def __eq__(self, other: object) -> Any:
        return False if type(other) is str and other == "__main__" else super().__eq__(other)

    def __ne__(self, other: object) -> Any:
        return not self.__eq__(other)

    __hash__ = Veiled.__hash__


class Asking:
    """The functions by which a text asks, for one host."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Name → function, as a text sees them."""
        return {
            "isinstance": self.is_instance,
            "issubclass": self.is_subclass,
            "callable": self.is_callable,
            "getattr": self.attribute,
            "hasattr": lambda value, name: self.attribute(value, name, _MISSING) is not _MISSING,
            NAME_OF: self.name_of,
            MODULE: lambda: ModuleName(self.host),
            INIT: self.init,
            MENTIONED: self.mentioned,
            HANDLED: self.handled,
            OPENED: self.opened,
            CAUGHT: self.caught,
        }

    # -- classes -----------------------------------------------------------------------------------

    def is_instance(self, value: Any, kinds: Any) -> bool:
        """``isinstance(value, kinds)``."""
        return any(self._is_a(value, kind) for kind in _each(kinds))

    def _is_a(self, value: Any, kind: Any) -> bool:
        if kind in self.host.classes or _answers(kind):
            if type(value) is UnknownMeta and kind not in self.host.classes:
                self.mentioned(value)
            return isinstance(value, kind)
        if kind is object or self._is_known(value) or type(value) is kind:
            return isinstance(value, kind)
        return self.host.undecided(f"isinstance({_called(value)}, {_called(kind)}): nobody knows")

    def is_subclass(self, one: Any, kinds: Any) -> bool:
        """``issubclass(one, kinds)``."""
        for kind in (one, *_each(kinds)):
            if not self._is_own_or_pythons(kind):
                self.host.undecided(f"issubclass of {_called(kind)}: nobody knows")
        return issubclass(one, kinds)

    def _is_own_or_pythons(self, kind: Any) -> bool:
        return isinstance(kind, type) and (kind in self.host.classes or _is_pythons(kind))

    def _is_own(self, value: Any) -> bool:
        return type(value) in self.host.classes

    def _is_known(self, value: Any) -> bool:
        """Whether the class of an object is what it is in an engine, or derives from no other."""
        kind = value.__class__
        if type(value) in (Fresh, Request, RequestStatus, PauseState) or is_plain_dict(value):
            return True
        if isinstance(value, type):
            return self._is_own_or_pythons(value)
        return kind in self.host.classes or _is_pythons(kind)

    def is_callable(self, value: Any) -> bool:
        """``callable(value)``."""
        if not self._is_known(value):
            self.host.undecided(f"callable({_called(value)}): nobody knows")
        return callable(value)

    def handled(self, kinds: Any) -> Any:
        """What an ``except`` names."""
        for kind in _each(kinds):
            if isinstance(kind, SealedMeta | Stub):
                self.host.undecided(f"except {_called(kind)}: nobody knows what it catches")
        return kinds

    def mentioned(self, value: Any) -> Any:
        """A name that an import binds, where it is handed on or compared."""
        if type(value) is UnknownMeta:
            self.host.unprofiled(*row_of(self.host, value, ""))
        return value

    # -- attributes --------------------------------------------------------------------------------

    def attribute(self, value: Any, name: str, *default: Any) -> Any:
        """``getattr(value, name, *default)``."""
        if type(name) is not str or is_forbidden(name):
            self.host.undecided("getattr of a name that is not to be asked for")
        if default and type(value) is Request and name in YOUNG:
            self._which_release(value, name)
        try:
            found = read(value, name)
        except AttributeError:
            if not default:
                raise
            if not self._lacks(value, name):
                self.host.undecided(f"whether {_called(value)} has {name!r}: nobody knows")
            return default[0]
        if default and isinstance(value, Stub | Record | Request):
            self._in_all_releases(value, name, found, default[0])
        return found

    def _in_all_releases(self, value: Any, name: str, found: Any, default: Any) -> None:
        """What the profile says of some releases only may be missing in another."""
        row = self.host.row(f"{_path(value)}.{name}")
        same = type(found) is type(default) and type(found) in (int, bool, str, type(None))
        if row is not None and (row.since or row.until) and not (same and found == default):
            self._which_release(value, name)

    def _which_release(self, value: Any, name: str) -> None:
        self.host.undecided(f"whether {_called(value)} has {name!r}: it depends on the release")

    def _lacks(self, value: Any, name: str) -> bool:
        """Whether it is certain that an object has no such attribute."""
        if type(value) in self.host.classes or (
            isinstance(value, type) and value in self.host.classes
        ):
            kinds = (value if isinstance(value, type) else type(value)).__mro__
            strange = [k for k in kinds if not self._is_own_or_pythons(k)]
            return all(k.__name__ == "SchedulerInterface" for k in strange) and not (
                strange and name in INTERFACE
            )
        kind = value if isinstance(value, type) else value.__class__
        return _is_pythons(kind) and not hasattr(kind, name) and name not in _OF_A_CACHE

    def name_of(self, value: Any) -> Any:
        """``value.__name__``: stand-ins are called otherwise, so it is for messages only."""
        assert isinstance(value.__name__, str)
        return Veiled(str, "the name of a class or a function")

    def init(self, value: Any) -> Any:
        """``value.__init__``, of a class of the text's own or of what stands behind one."""
        if not (type(value) is super or self._is_own_or_pythons(value) or self._is_own(value)):
            self.host.undecided(f"__init__ of {_called(value)}: nobody knows")
        return value.__init__

    # -- statements --------------------------------------------------------------------------------

    def opened(self, manager: Any, is_named: bool) -> Any:
        """What ``with manager`` opens, or ``with manager as name``."""
        if is_named and isinstance(manager, Scope):
            self.host.undecided("what a scope of the profiler's gives to `as`: nobody knows")
        return opened(self.host, manager)

    def caught(self, error: BaseException | None = None) -> None:
        """A handler has an exception: is it one that Python would have raised?"""
        caught(self.host, sys.exception() if error is None else error)


def _each(kinds: Any) -> Iterator[Any]:
    """The classes that `isinstance` and the like are given."""
    if type(kinds) is tuple:
        for kind in kinds:
            yield from _each(kind)
    elif isinstance(kinds, UnionType):
        yield from kinds.__args__
    else:
        yield kinds


def _answers(kind: Any) -> bool:
    """Whether a stand-in says itself what its instances are."""
    return isinstance(kind, ClassMeta | UnknownMeta | Stub) or hasattr(type(kind), "answers__")


def _is_pythons(kind: type) -> bool:
    return kind.__module__ == "builtins" or kind in PYTHONS


def _path(value: Any) -> str:
    return "request" if isinstance(value, Request) else path_of(value)


def _called(value: Any) -> str:
    """An object, or a class, in a message."""
    if isinstance(value, Stub):
        return f"<{path_of(value)}>"
    if isinstance(value, type):
        return str(type.__getattribute__(value, "__name__"))
    return f"a {value.__class__.__name__}"
