"""Stores under a condition that nobody has decided: the attribute gets the merged value.

What cannot be merged (objects, an attribute that is not there yet, a property) decides the
condition first, and then does what the text says.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from proofs.source.objects.fresh import Fresh
from proofs.source.objects.merging import FAILED, attempt, either_value, truth
from proofs.source.objects.stubs import constant_of
from proofs.symbolic import SymBool, SymInt
from proofs.symbolic.counts import added, taken

PEEK, AHEAD, PUT, AUGMENT, FRESH = "_peek__", "_ahead__", "_put__", "_augment__", "_fresh__"
GROWN = "_grown__"

_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+": added,
    "-": taken,
    "|": operator.ior,
}
"""Operator → what a text's ``x += y`` does."""
_TRUTHS = (bool, SymBool)
_BETWEEN = {"+": (int, SymInt, *_TRUTHS), "-": (int, SymInt, *_TRUTHS), "|": _TRUTHS}
"""Operator → between which types the result is a value that nobody else holds."""


def peek(dictionary: Any, key: Any, default: Any) -> Any:
    """``dictionary.get(key, default)``, if that is all it does."""
    if type(dictionary).get is not dict.get:
        raise LookupError
    return dictionary.get(key, default)


def ahead(condition: Any, value: Callable[[], Any], real: Callable[[], Any]) -> Any:
    """The value of a name that only matters where the condition holds."""
    if type(condition) is SymBool:
        computed = attempt(value)
        if computed is not FAILED:
            return computed
    return real() if condition else None


def put(
    condition: Any,
    owner: Callable[[], Any],
    name: str,
    value: Callable[[], Any],
    real: Callable[[], Any],
) -> None:
    """``if condition: owner.name = value``."""
    if type(condition) is SymBool:
        new = attempt(value)
        if new is not FAILED and _stored(condition, attempt(owner), name, lambda _: new):
            return
    if condition:
        stored = real()
        setattr(owner(), name, stored)


def augment(
    condition: Any,
    owner: Callable[[], Any],
    name: str,
    symbol: str,
    value: Callable[[], Any],
    real: Callable[[], Any],
) -> None:
    """``if condition: owner.name += value``, or another of the operators."""
    if type(condition) is SymBool:
        more = attempt(value)
        if _stored(condition, attempt(owner), name, lambda old: _combined(symbol, old, more)):
            return
    if condition:
        holder = owner()
        old = getattr(holder, name)
        setattr(holder, name, _IN_PLACE[symbol](old, real()))


def grown(condition: Any, symbol: str, old: Callable[[], Any], value: Callable[[], Any]) -> Any:
    """What ``x`` is after ``if condition: x += value``."""
    condition = truth(condition)
    if type(condition) is SymBool:
        before = attempt(old)
        merged = either_value(condition, _combined(symbol, before, attempt(value)), before)
        if merged is not FAILED:
            return merged
    return _IN_PLACE[symbol](old(), value()) if condition else old()


def _combined(symbol: str, old: Any, more: Any) -> Any:
    """``old + more``, or ``FAILED`` where ``old`` itself might change."""
    kinds = _BETWEEN[symbol]
    return _IN_PLACE[symbol](old, more) if type(old) in kinds and type(more) in kinds else FAILED


def _stored(condition: SymBool, holder: Any, name: str, new: Callable[[Any], Any]) -> bool:
    """Merge the attribute's old value with the new one; false if that cannot be done."""
    # Only a plain attribute of an instance: a property might act.
    if any(name in vars(kind) for kind in type(holder).__mro__) or _is_frozen(holder):
        return False
    try:
        old = vars(holder)[name]
    except (TypeError, KeyError):
        old = constant_of(holder, name, FAILED)
        if old is FAILED:
            return False
    value = attempt(lambda: new(old))
    merged = value if value is old else either_value(condition, value, old)
    if merged is FAILED:
        return False
    setattr(holder, name, merged)
    return True


def _is_frozen(holder: Any) -> bool:
    """Whether a dataclass of the text refuses to be changed."""
    return getattr(type(holder), "__dataclass_params__", None) is not None and bool(
        type(holder).__dataclass_params__.frozen
    )


FUNCTIONS: dict[str, Callable[..., Any]] = {
    PEEK: peek,
    AHEAD: ahead,
    PUT: put,
    AUGMENT: augment,
    FRESH: Fresh,
    GROWN: grown,
}
