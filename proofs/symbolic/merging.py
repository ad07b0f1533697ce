"""Drop-in versions of builtins that merge instead of forking.

The source front end rewrites ``min``, ``max``, ``len``, ``sum``, ``any`` and ``all``
to these.  On concrete arguments they are the builtins.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from proofs.symbolic.bools import SymBool
from proofs.symbolic.ints import SymInt
from proofs.symbolic.seq import SymSeq

_SYMBOLIC = (SymInt, SymBool)
_MISSING = object()


def _symbolic(value: object) -> bool:
    return type(value) in _SYMBOLIC


def sym_min(*args: Any, key: Any = None, default: Any = _MISSING) -> Any:
    """``min``; with a ``key``, symbolic keys are compared by forking."""
    if len(args) == 2 and key is None and type(args[0]) is SymInt:
        return args[0].__sym_min__(args[1])
    return _extreme(min, "__sym_min__", args, key, default)


def sym_max(*args: Any, key: Any = None, default: Any = _MISSING) -> Any:
    """``max``; with a ``key``, symbolic keys are compared by forking."""
    if len(args) == 2 and key is None and type(args[0]) is SymInt:
        return args[0].__sym_max__(args[1])
    return _extreme(max, "__sym_max__", args, key, default)


def _extreme(builtin: Any, method: str, args: tuple[Any, ...], key: Any, default: Any) -> Any:
    items = list(args[0]) if len(args) == 1 else list(args)
    options = {} if default is _MISSING else {"default": default}
    if len(args) > 1 and options:
        raise TypeError(f"Cannot specify a default for {builtin.__name__}() with multiple args")
    if key is not None or not any(map(_symbolic, items)):
        return builtin(items, key=key, **options)
    result = items[0]
    for item in items[1:]:
        if _symbolic(result):
            result = getattr(_integer(result), method)(item)
        elif _symbolic(item):
            result = getattr(_integer(item), method)(result)
        else:
            result = builtin(result, item)
    return result


def _integer(value: Any) -> Any:
    return value.as_int() if type(value) is SymBool else value


def ite(condition: Any, then: Any, other: Any) -> Any:
    """``then if condition else other``; both already evaluated."""
    if type(condition) is SymInt:
        condition = condition != 0
    if type(condition) is SymBool:
        return condition.__sym_ite__(then, other)
    return then if condition else other


def sym_sum(items: Iterable[Any], start: Any = 0) -> Any:
    """``sum``; a sequence of symbolic length gives ``length * element``."""
    if type(items) is SymSeq and not items.is_opaque:
        return items.length * items.element + start
    return sum(items, start)


def sym_len(items: Any) -> Any:
    """``len``, possibly symbolic."""
    return items.__sym_len__() if hasattr(type(items), "__sym_len__") else len(items)


def sym_any(items: Iterable[Any]) -> Any:
    """``any``; symbolic members are merged into one formula."""
    result: Any = False
    for item in items:
        truth = _truth(item)
        if truth is True:
            return True
        result = result | truth
    return result


def sym_all(items: Iterable[Any]) -> Any:
    """``all``; symbolic members are merged into one formula."""
    result: Any = True
    for item in items:
        truth = _truth(item)
        if truth is False:
            return False
        result = result & truth
    return result


def _truth(item: Any) -> Any:
    if type(item) is SymInt:
        return item != 0
    return item if type(item) is SymBool else bool(item)
