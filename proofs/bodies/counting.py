"""The loops, and whatever helps them, do to any number of requests what they do to a few.

The scripts of ``passes`` and the runs of ``engine_runs`` have queues of some lengths only.  What a
loop does at others follows from what it does at these if it is written in the words of ``plain``,
keeps nothing from one turn to the next (``turns``), and asks for its turns in one place, so that
none is for the first requests only (``calls``).  Code that does not fit may be right, but nothing
is decided.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Iterator
from types import FunctionType
from typing import Any, TypeVar

from model.engine import Engine
from model.kv_cache import KVCacheManager
from model.observation import advance
from model.output import is_decode
from model.policies import PaddingPolicy
from model.request import Request
from model.scheduler import Scheduler
from model.step import Scheduled, SchedulerOutput, Step
from proofs.bodies.calls import circles, turns_in_two_places
from proofs.bodies.numbers import Told, sums, told
from proofs.bodies.plain import Plain
from proofs.bodies.turns import carried, notes
from proofs.definitions import definition
from proofs.memory import APART, MODEL
from spec.logic import ite, not_

T = TypeVar("T")
COUNTS = "a loop is the same for many as for few"
"""What is asked of them."""
PROVED: dict[type, frozenset[str]] = {
    Scheduler: frozenset(
        {"__init__", "begin_step", "try_running", "try_waiting", "preempt"}
        | {"finish_load", "update_after_schedule", "_start_load", "_decided"}
    ),
    Engine: frozenset({"__init__", "book_share"}),
    Step: frozenset({"commit", "retract"}),
    SchedulerOutput: frozenset(),
    Scheduled: frozenset(),
}
"""Methods that bodies prove for any values, in queues of any length: of these only the loops are
asked about."""
PROVED_KINDS = (KVCacheManager, PaddingPolicy, Request)
"""The same for all methods of these, which know one request."""
PROVED_HELPERS = (advance, is_decode, not_, ite)
"""The same for functions, and for all that only such code calls."""
FEW = (None, False, True, 0, 1)
"""What a parameter may be if nobody says."""
MADE_BY_DATACLASS = frozenset(
    {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"}
    | {"__getstate__", "__setstate__", "__replace__"}
)
Place = tuple[str, str]
"""An owner, or nobody, and a name."""


def unfit() -> list[str]:
    """What does not fit, each with its function and line."""
    return _Reading().found


class _Reading:
    """All code that is asked about."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.written: dict[Place, ast.FunctionDef] = {}
        self.read: set[FunctionType] = set()
        loops: list[tuple[Place, FunctionType]] = []
        proved: list[tuple[Place, FunctionType]] = []
        for owner in (*PROVED, *PROVED_KINDS):
            for name, function in self._methods(owner):
                among = loops if name not in PROVED.get(owner, {name}) else proved
                among.append(((owner.__name__, name), function))
        for place, function in _growing(loops):
            loops += _placed(self._loop(place, function))
        for place, function in _growing(proved):
            proved += _placed(self._proved(place, function))
        self.found += [*turns_in_two_places(self.written), *circles(self.written)]

    def _methods(self, owner: type) -> Iterator[tuple[str, FunctionType]]:
        if owner.__mro__ != (owner, object):
            self.found.append(f"{owner.__name__} is made of other classes")
        others: list[type] = owner.__subclasses__()
        for other in others:
            home = other.__module__
            if home.partition(".")[0] in MODEL and not home.startswith(APART):
                self.found.append(f"{other.__qualname__} is another {owner.__name__}")
        slots: Collection[str] = getattr(owner, "__slots__", ())
        for name, held in vars(owner).items():
            function = _function(held)
            is_known = name.startswith("__") or name in slots or owner in PROVED_KINDS
            if function is not None and not _is_made(owner, name, function):
                yield name, function
            elif function is None and not is_known:
                self.found.append(f"{owner.__name__}.{name} is no method")

    def _node(self, place: Place, function: FunctionType) -> ast.FunctionDef | None:
        """How a function is written, if it was not read before."""
        if function in self.read:
            return None
        self.read.add(function)
        node = definition(function)
        if node is None:
            self.found.append(f"{'.'.join(filter(None, place))}: nobody can read it")
        else:
            self.written[place] = node
        return node

    def _loop(self, place: Place, function: FunctionType) -> list[FunctionType]:
        """Asks all of a function; says whom it calls."""
        node = self._node(place, function)
        if node is None:
            return []
        plain = Plain(node, function.__globals__)
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        wrong = [told(node, f"a default of {each!r}") for each in defaults if each not in FEW]
        if function.__closure__:
            wrong.append(told(node, "something from outside"))
        self._tell(place, [*wrong, *plain.told, *carried(node, plain.counters | plain.sums)])
        return [helper for helper in plain.helpers if helper not in PROVED_HELPERS]

    def _proved(self, place: Place, function: FunctionType) -> list[FunctionType]:
        """Asks only the loops of a function; says what functions it names."""
        node = self._node(place, function)
        if node is None:
            return []
        known = function.__globals__
        self._tell(place, [*carried(node, sums(node)), *notes(node, known)])
        names = (known.get(each.id) for each in ast.walk(node) if isinstance(each, ast.Name))
        return [each for each in names if isinstance(each, FunctionType)]

    def _tell(self, place: Place, wrong: Iterable[Told]) -> None:
        where = ".".join(filter(None, place))
        self.found += [f"{where}, line {line}: {what}" for line, what in dict.fromkeys(wrong)]


def _growing(found: list[T]) -> Iterator[T]:
    """Each of a list that grows meanwhile."""
    done = 0
    while done < len(found):
        yield found[done]
        done += 1


def _placed(helpers: Iterable[FunctionType]) -> list[tuple[Place, FunctionType]]:
    return [(("", helper.__qualname__), helper) for helper in helpers]


def _function(held: Any) -> FunctionType | None:
    """What a method, or a property that is only read, runs."""
    if isinstance(held, property) and held.fset is None and held.fdel is None:
        held = held.fget
    return held if isinstance(held, FunctionType) else None


def _is_made(owner: type, name: str, function: FunctionType) -> bool:
    """Whether ``dataclass`` has written it."""
    elsewhere = function.__code__.co_filename != sys.modules[owner.__module__].__file__
    return elsewhere and name in MADE_BY_DATACLASS and hasattr(owner, "__dataclass_fields__")
