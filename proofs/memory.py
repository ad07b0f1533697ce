"""What the model knows besides the objects it is handed: nothing that changes or is outside.

A body starts from an arbitrary state of requests, step and scheduler.  What a module, a class, a
default argument, a closure or a cache of the model holds is not part of that state, so if a run
changes it, what the next run does was not proved; nor was what it does with the time of day.
"""

from __future__ import annotations

import ast
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from enum import Enum
from functools import cache, partial
from pathlib import Path
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
PURE = frozenset(
    {"__future__", "bisect", "collections", "dataclasses", "enum", "functools", "heapq"}
    | {"itertools", "math", "operator", "typing", *MODEL}
)
"""Modules whose functions answer from their arguments alone."""
IMPURE = frozenset({"__import__", "open", "input", "eval", "exec", "globals", "breakpoint"})
APART = ("model.runner", "model.contracts")
"""Beginnings of the names of modules that no scheduler runs."""


class Unseen:
    """Stands for a value that cannot be looked into; as each is made anew, none is as before."""


def memory(*packages: str) -> Memory:
    """Everything the modules of some packages hold, by name; whatever it is, with all in it."""
    return {
        f"{module.__name__}.{name}": tuple(_held(value, set()))
        for module in _modules(packages or MODEL)
        for name, value in list(vars(module).items())
        if not name.startswith("__") and not _is_imported(value, module)
    }


def changed(before: Memory, after: Memory) -> list[str]:
    """The names that hold something else, or what nobody can see."""
    names = sorted(before.keys() | after.keys())
    return [name for name in names if not _same(before.get(name), after.get(name))]


def asks_outside(*packages: str) -> list[str]:
    """What the modules of some packages use that does not answer from its arguments."""
    modules = _modules(packages or MODEL)
    files = [(m.__name__, m.__file__) for m in modules if getattr(m, "__file__", None)]
    return [
        f"{name} uses {used}"
        for name, file in files
        if file is not None
        for used in _impure(file, Path(file).stat().st_mtime_ns)
    ]


def _modules(packages: Sequence[str]) -> list[ModuleType]:
    return [
        module
        for name, module in sorted(sys.modules.items())
        if name.partition(".")[0] in packages and not name.startswith(APART)
    ]


def _is_imported(value: object, module: ModuleType) -> bool:
    """Whether it is another module's, which is asked itself."""
    if isinstance(value, ModuleType):
        return True
    named = isinstance(value, (type, FunctionType))
    return named and getattr(value, "__module__", "") != module.__name__


@cache
def _impure(file: str, at: int) -> tuple[str, ...]:
    """``at``: when the file was changed last."""
    found: dict[str, None] = {}
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        names: Iterable[str] = ()
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "model"]
        elif isinstance(node, ast.Name) and node.id in IMPURE:
            found[node.id] = None
        found |= {name: None for name in names if name.partition(".")[0] not in PURE}
    return tuple(found)


def _held(value: Any, seen: set[int]) -> Iterator[Any]:
    """The value and all that is in it, in order."""
    yield value
    if isinstance(value, (*_NUMBERS, Enum)) or id(value) in seen:
        return
    seen.add(id(value))
    for part in _parts(value):
        yield from _held(part, seen)


def _parts(value: Any) -> Iterator[Any]:
    kind = type(value)
    if isinstance(value, dict):
        yield from value
        yield from value.values()
    elif isinstance(value, _CONTAINERS):
        yield from value
    elif isinstance(value, type):
        own = vars(value).items()
        yield from (held for name, held in list(own) if not name.startswith(("__", "_abc")))
    elif isinstance(value, FunctionType):
        held = value.__defaults__, value.__kwdefaults__, value.__dict__
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
        yield from getattr(value, "__dict__", {}).values()
        slots = (getattr(base, "__slots__", ()) for base in kind.__mro__)
        yield from (getattr(value, name, None) for names in slots for name in names)
    elif kind.__name__ not in ("member_descriptor", "getset_descriptor", "wrapper_descriptor"):
        yield Unseen()


def _same(one: tuple[Any, ...] | None, other: tuple[Any, ...] | None) -> bool:
    if one is None or other is None or len(one) != len(other):
        return False
    return all(
        a is b
        or (type(a) in _NUMBERS and type(a) is type(b) and a == b)
        or (isinstance(a, tuple) and type(a) is type(b))  # its parts follow
        for a, b in zip(one, other, strict=True)
    )
