"""What a text says with its objects: to a logger, and in texts of its own making.

A logger formats what it is given, or does not, as its level happens to be: an object whose methods
answer for it would act in one engine and not in another.  A text made of an object of the engine,
or of one that has no words of its own (its address), is one that nobody may look into.
"""

from __future__ import annotations

import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from enum import Enum
from types import FunctionType, MethodType
from typing import Any

from proofs.source.objects.counting import Counting
from proofs.source.objects.footprint import attributes_of, contents
from proofs.source.objects.fresh import Fresh
from proofs.source.objects.host import Host, is_plain_dict
from proofs.source.objects.ofhost import OfAHost
from proofs.symbolic import SymBool, SymInt, SymSeq, Veiled, speech

LEVELS = frozenset({"debug", "info", "warning", "error", "exception", "critical"})
ONCE = frozenset({"debug_once", "info_once", "warning_once", "error_once"})
"""vLLM's own: it looks its arguments up in a cache."""
_OPTIONS = frozenset({"exc_info", "stack_info", "stacklevel", "extra"})
_ANSWERS = ("__str__", "__repr__", "__len__", "__bool__", "__iter__", "__contains__", "__lt__")
_ATOMS = frozenset({int, bool, str, float, bytes, complex, type(None), range, type(...)})
_SYMBOLIC = (SymInt, SymBool, SymSeq, Veiled)
_LISTS = (list, tuple, set, frozenset, deque, Fresh)
_MOST = 10_000
_INSIDE: dict[type, Callable[[Any], Iterable[Any]]] = {
    Enum: lambda member: [member._value_],
    BaseException: lambda error: BaseException.args.__get__(error),  # type: ignore[attr-defined]
    MethodType: lambda method: [method.__self__],
    slice: lambda part: [part.start, part.stop, part.step],
    staticmethod: lambda method: [method.__func__],
    classmethod: lambda method: [method.__func__],
    type({}.keys()): list,
    type({}.values()): list,
    type({}.items()): list,
}
"""What else is asked for its text when these are."""


class Saying:
    """The functions by which a text speaks, for one host."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def log(self, name: str) -> Callable[..., None]:
        """A method of a logger."""
        if name not in LEVELS | ONCE:
            self.host.undecided(f"logger.{name}: what a logger answers, nobody knows")

        def say(_: Any, *given: Any, **options: Any) -> None:
            allowed = {"scope"} if name in ONCE else _OPTIONS
            if not given or not options.keys() <= allowed:
                self.host.undecided(f"logger.{name} with such arguments: nobody knows")
            if name in ONCE and any(isinstance(part, list | dict | set | deque) for part in given):
                self.host.undecided(f"logger.{name} looks its arguments up: one cannot be")
            error = (sys.exception(),) if "exc_info" in options or name == "exception" else ()
            self._told((*given, *options.values(), *error), "a logger")

        return MethodType(say, self)

    def printed(self, *given: Any, **options: Any) -> None:
        """``print``."""
        if not options.keys() <= {"sep", "end", "flush"}:
            self.host.undecided("print to a file, or with options it does not have: nobody knows")
        self._told((*given, *options.values()), "print")

    def _told(self, given: Iterable[Any], whom: str) -> None:
        """Nothing of the text's own may be asked what it says."""
        for part in _parts(given):
            if type(part).__module__ == "itertools":
                self.host.undecided(f"{whom} is given an iterator, and may ask what is in it")
            if type(part) in self.host.classes and self._own_method(type(part), _ANSWERS):
                name = type(part).__name__
                self.host.undecided(f"{whom} is given a {name} of the text, and may ask it or not")

    def _own_method(self, kind: type, names: Iterable[str]) -> bool:
        """Whether a class has one of these methods from the text, and not from Python."""
        found = (vars(k).get(n) for k in kind.__mro__ if k in self.host.classes for n in names)
        return any(method is not None and not self._is_pythons(method) for method in found)

    def _is_pythons(self, method: Any) -> bool:
        return type(method) is FunctionType and method.__code__.co_filename not in self.host.files

    # -- texts -------------------------------------------------------------------------------------

    def spoken(self, kind: Any, value: Any) -> Any:
        """``str(value)``."""
        return self._veiled(speech.spoken(kind, value), [value], kind is str)

    def formatted(self, value: Any, conversion: int, spec: Any) -> Any:
        """``f"{value!conversion:spec}"``."""
        by_str = conversion in (-1, ord("s"))
        return self._veiled(speech.formatted(value, conversion, spec), [value], by_str)

    def remainder(self, left: Any, right: Any) -> Any:
        """``left % right``."""
        if type(left) is int and type(right) is int:
            few = Counting(self.host).few
            few(left), few(right)
        made = speech.remainder(left, right)
        if type(left) is not str or type(made) is not str:
            return made
        return self._veiled(made, right if type(right) is tuple else [right], True)

    def _veiled(self, made: Any, given: Iterable[Any], by_str: bool) -> Any:
        if type(made) is not str:
            return made
        given = list(given)
        at_top = {id(value) for value in given} if by_str else set()
        if all(self._has_words(part, id(part) in at_top) for part in _parts(given)):
            return made
        return Veiled(str, "what the text of an object says")

    def _has_words(self, value: Any, by_str: bool) -> bool:
        """Whether the text of a value is the same in every engine."""
        kind = type(value)
        if kind in _ATOMS or kind in _LISTS or kind is defaultdict or is_plain_dict(value):
            return True
        names = ("__repr__", "__str__") if by_str else ("__repr__",)
        if kind in _SYMBOLIC:
            return True
        return any(n in vars(k) for k in kind.__mro__ if k in self.host.classes for n in names)


class Logger(OfAHost):
    """It says nothing, and whether it would is not to be known."""

    __slots__ = ()
    called__ = "logger"

    def __getattr__(self, name: str) -> Any:
        return Saying(self.host__).log(name)


class PlainLogger(Logger):
    """One of ``logging``'s own, which lacks what vLLM's has besides."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name in ONCE:
            self.host__.undecided(f"logger.{name}: a logger of Python's has no such method")
        return super().__getattr__(name)


def _parts(given: Iterable[Any]) -> Iterable[Any]:
    """What is given, and all that is in it."""
    open_ = list(given)
    seen: set[int] = set()
    while open_ and len(seen) < _MOST:
        part = open_.pop()
        if type(part) in _ATOMS or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        open_ += contents(part) or ()
        if hasattr(type(part), "__dataclass_fields__"):
            open_ += attributes_of(part).values()
        for kind, inside in _INSIDE.items():
            if issubclass(type(part), kind):
                open_ += inside(part)
