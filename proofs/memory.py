"""What the model remembers from one run to the next, apart from the objects it is handed: nothing.

A body starts from an arbitrary state of requests, step and scheduler.  What a module, a class or a
default argument of the model holds is not part of that state, so if a run changes it, what the next
run does was not proved.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

Memory = dict[str, tuple[Any, ...]]
_NUMBERS = (int, bool, float, str)


def memory(package: str = "model") -> Memory:
    """Everything the modules of a package hold, by name; containers by what is in them."""
    modules = [m for n, m in sorted(sys.modules.items()) if f"{n}.".startswith(f"{package}.")]
    return {
        f"{module.__name__}.{name}": _held(value)
        for module in modules
        for name, value in _variables(module)
    }


def changed(before: Memory, after: Memory) -> list[str]:
    """The names that hold something else."""
    names = sorted(before.keys() | after.keys())
    return [name for name in names if not _same(before.get(name), after.get(name))]


def _variables(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Variables of a module, of its classes, and the defaults of its functions."""
    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", module.__name__) != module.__name__:
            continue  # imported: it is another module's
        for inner, held in _inside(name, value):
            if not inner.rpartition(".")[2].startswith("__"):
                yield inner, held
            if isinstance(held, FunctionType):
                yield f"{inner} defaults", held.__defaults__
                yield f"{inner} keywords", held.__kwdefaults__
                for default in (*(held.__defaults__ or ()), *(held.__kwdefaults__ or {}).values()):
                    yield f"{inner} default {id(default)}", default


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    yield name, value
    if isinstance(value, type):
        yield from ((f"{name}.{inner}", held) for inner, held in list(vars(value).items()))
    elif hasattr(value, "__dict__") and not isinstance(value, ModuleType):
        yield f"{name} holds", vars(value)


def _held(value: Any) -> tuple[Any, ...]:
    if isinstance(value, dict):
        return (value, *value.keys(), *value.values())
    return (value, *value) if isinstance(value, (list, tuple, set, frozenset, deque)) else (value,)


def _same(one: tuple[Any, ...] | None, other: tuple[Any, ...] | None) -> bool:
    if one is None or other is None or len(one) != len(other):
        return False
    return all(
        a is b or (type(a) in _NUMBERS and type(a) is type(b) and a == b)
        for a, b in zip(one, other, strict=True)
    )
