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
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

from model.engine import Engine
from model.observation import advance
from model.output import is_decode
from model.scheduler import Scheduler
from model.step import Scheduled, SchedulerOutput, Step
from proofs.bodies.calls import circles, turns_in_two_places
from proofs.bodies.numbers import Told, told
from proofs.bodies.plain import Plain
from proofs.bodies.turns import carried, notes
from proofs.definitions import definition
from proofs.memory import MODEL
from spec.logic import ite, not_

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
PROVED_HELPERS = (advance, is_decode, not_, ite)
"""The same for functions, which are handed one request."""
FEW = (None, False, True, 0, 1)
"""What a parameter may be if nobody says."""
MADE_BY_DATACLASS = frozenset(
    {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"}
    | {"__getstate__", "__setstate__", "__replace__"}
)
Method = tuple[type, str, FunctionType]


def unfit() -> list[str]:
    """What does not fit, each with its function and line."""
    found: list[str] = []
    methods: list[Method] = []
    written: dict[tuple[str, str], ast.FunctionDef] = {}
    for owner in PROVED:
        if owner.__mro__ != (owner, object):
            found.append(f"{owner.__name__} is made of other classes")
        for name, held in vars(owner).items():
            function = _function(held)
            if function is not None and not _is_made(owner, name, function):
                methods.append((owner, name, function))
            elif function is None and not name.startswith("__") and name not in _slots(owner):
                found.append(f"{owner.__name__}.{name} is no method")
    helpers: dict[FunctionType, None] = {}
    for owner, name, function in methods:
        where = f"{owner.__name__}.{name}"
        node = definition(function)
        if node is None:
            found.append(f"{where}: nobody can read it")
            continue
        written[owner.__name__, name] = node
        if name in PROVED[owner]:
            wrong = [*carried(node, ()), *notes(node, function.__globals__)]
        else:
            wrong = _read(node, function, helpers)
        found += _told(where, wrong)
    for helper in _each(helpers):
        node = definition(helper) if helper.__module__.partition(".")[0] in MODEL else None
        where = f"{helper.__module__}.{helper.__qualname__}"
        if node is None:
            found.append(f"{where}: nobody can read it")
            continue
        written["", helper.__name__] = node
        found += _told(where, _read(node, helper, helpers))
    return [*found, *turns_in_two_places(written), *circles(written)]


def _read(
    node: ast.FunctionDef, function: FunctionType, helpers: dict[FunctionType, None]
) -> list[Told]:
    plain = Plain(node, function.__globals__)
    for helper in plain.helpers:
        if helper not in PROVED_HELPERS:
            helpers.setdefault(helper)
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    wrong = [told(node, f"a default of {each!r}") for each in defaults if each not in FEW]
    if function.__closure__:
        wrong.append(told(node, "something from outside"))
    return [*wrong, *plain.told, *carried(node, plain.counters | plain.sums)]


def _told(where: str, wrong: Iterable[Told]) -> list[str]:
    return [f"{where}, line {line}: {what}" for line, what in dict.fromkeys(wrong)]


def _each(growing: dict[FunctionType, None]) -> Iterator[FunctionType]:
    """Each key, and those that are added meanwhile."""
    seen: set[FunctionType] = set()
    while growing.keys() - seen:
        for each in [one for one in growing if one not in seen]:
            seen.add(each)
            yield each


def _function(held: Any) -> FunctionType | None:
    """What a method, or a property that is only read, runs."""
    if isinstance(held, property) and held.fset is None and held.fdel is None:
        held = held.fget
    return held if isinstance(held, FunctionType) else None


def _is_made(owner: type, name: str, function: FunctionType) -> bool:
    """Whether ``dataclass`` has written it."""
    elsewhere = function.__code__.co_filename != sys.modules[owner.__module__].__file__
    return elsewhere and name in MADE_BY_DATACLASS and hasattr(owner, "__dataclass_fields__")


def _slots(owner: type) -> Iterable[str]:
    slots: Iterable[str] = getattr(owner, "__slots__", ())
    return slots
