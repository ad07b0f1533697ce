"""What the model knows besides the objects it is handed: nothing that changes.

A body starts from an arbitrary state of requests, step and scheduler.  What a module, a class, a
default argument, a closure or a cache of the model holds is not part of that state, so if a run
changes it, what the next run does was not proved.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

Memory = dict[str, tuple[Any, ...]]
_NUMBERS = (int, bool, float, str, bytes, type(None))
_CONTAINERS = (list, tuple, set, frozenset, deque)
_WRAPPERS = (staticmethod, classmethod, property)
_LANGUAGE = frozenset({"typing", "types", "operator", "abc", "_abc", "dataclasses"})
"""Where objects come from that hold nothing of the model's."""
MODEL = ("model", "spec")
"""The packages whose code is under proof."""
APART = ("model.runner", "model.contracts", "model.dp", "model.loads")
"""Beginnings of the names of modules that no scheduler runs."""


OF_A_MODULE = frozenset(
    {"__builtins__", "__cached__", "__doc__", "__file__", "__loader__", "__name__", "__package__"}
    | {"__path__", "__spec__", "__annotations__", "__conditional_annotations__"}
)
OF_A_CLASS = frozenset({"__dict__", "__weakref__", "__annotations_cache__"})
"""What Python keeps for itself."""


class Unseen:
    """Stands for a value that cannot be looked into; as each is made anew, none is as before."""


def memory(*packages: str) -> Memory:
    """Everything the modules of some packages hold, by name; whatever it is, with all in it."""
    seen: set[int] = set()
    return {
        f"{module.__name__}.{name}": tuple(_shallow(value) or _held(value, seen))
        for module in modules(packages or MODEL)
        for name, value in list(vars(module).items())
        if name not in OF_A_MODULE and not _is_imported(value, module)
    }


def changed(before: Memory, after: Memory) -> list[str]:
    """The names that hold something else, or what nobody can see."""
    names = sorted(before.keys() | after.keys())
    return [name for name in names if not _same(before.get(name), after.get(name))]


def modules(packages: Sequence[str]) -> list[ModuleType]:
    """The modules of some packages that a scheduler may run."""
    return [
        module
        for name, module in sorted(sys.modules.items())
        if name.partition(".")[0] in packages and not name.startswith(APART)
    ]


def _is_imported(value: object, module: ModuleType) -> bool:
    """Whether it is another module's of the model, which is asked itself."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] in MODEL
    named = isinstance(value, (type, FunctionType))
    home = getattr(value, "__module__", "")
    return named and home != module.__name__ and home.partition(".")[0] in MODEL


def _shallow(value: object) -> list[object]:
    """A class of the language, and what hangs on it."""
    return [value, *vars(value).values()] if _is_of_python(value) else []


def _is_of_python(value: object) -> bool:
    return isinstance(value, type) and value.__module__.partition(".")[0] in sys.stdlib_module_names


def _held(value: Any, seen: set[int]) -> Iterator[Any]:
    """The value and all that is in it, in some order; what was seen before is not looked into."""
    left = [value]
    while left:
        value = left.pop()
        yield value
        if type(value) in _NUMBERS or id(value) in seen or _is_of_python(value):
            continue
        seen.add(id(value))
        left += _parts(value)


def _parts(value: Any) -> Iterator[Any]:
    kind = type(value)
    if isinstance(value, (dict, *_CONTAINERS)):
        yield from _attributes(value)
    if isinstance(value, dict):
        yield from value
        yield from value.values()
    elif isinstance(value, _CONTAINERS):
        yield from value
    elif isinstance(value, type):
        own = vars(value).items()
        yield from (held for name, held in list(own) if name not in OF_A_CLASS)
    elif isinstance(value, FunctionType):
        held = value.__defaults__, value.__kwdefaults__, value.__dict__, value.__annotations__
        yield from filter(None, held)
        for cell in value.__closure__ or ():
            with suppress(ValueError):  # it is empty
                yield cell.cell_contents
    elif hasattr(value, "cache_info"):
        yield from (value.cache_info(), value.__dict__)
    elif isinstance(value, _WRAPPERS):
        parts = "__func__", "fget", "fset", "fdel"
        yield from (getattr(value, name) for name in parts if hasattr(value, name))
    elif isinstance(value, partial):
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, BuiltinFunctionType):
        yield value.__self__ if not isinstance(value.__self__, ModuleType) else None
    elif kind.__module__ in _LANGUAGE or isinstance(value, ModuleType):
        return
    elif not hasattr(value, "__next__") and (
        hasattr(value, "__dict__") or hasattr(kind, "__slots__")
    ):
        yield from _attributes(value)
    elif kind.__name__ not in ("member_descriptor", "getset_descriptor", "wrapper_descriptor"):
        yield Unseen()


def _attributes(value: Any) -> Iterator[Any]:
    yield from getattr(value, "__dict__", {}).values()
    slots = (vars(base).get("__slots__", ()) for base in type(value).__mro__)
    yield from (getattr(value, name, None) for names in slots for name in names)


def _same(one: tuple[Any, ...] | None, other: tuple[Any, ...] | None) -> bool:
    if one is None or other is None or len(one) != len(other):
        return False
    return all(
        a is b
        or (type(a) in _NUMBERS and type(a) is type(b) and a == b)
        or (isinstance(a, tuple) and type(a) is type(b))  # its parts follow
        for a, b in zip(one, other, strict=True)
    )
