"""Stores under a condition that nobody has decided: the attribute gets the merged value.

What cannot be merged (objects, an attribute that is not there yet, a property) decides the
condition first, and then does what the text says.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from proofs.source.fresh import Fresh, merged_lists
from proofs.source.merging import FAILED, attempt
from proofs.source.stubs import constant_of
from proofs.symbolic import SymBool, SymInt

PEEK, AHEAD, PUT, AUGMENT, FRESH = "_peek__", "_ahead__", "_put__", "_augment__", "_fresh__"
GROWN = "_grown__"

_OPERATORS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any], tuple[type, ...]]]
_OPERATORS = {
    "+": (operator.iadd, operator.add, (int, bool, SymInt, SymBool)),
    "-": (operator.isub, operator.sub, (int, bool, SymInt, SymBool)),
    "|": (operator.ior, operator.or_, (bool, SymBool)),
}
"""Operator → as a text's ``x += y`` has it, as a value of its own, and between which types."""
_NUMBERS = (int, bool, SymInt, SymBool)


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
    in_place, combined, kinds = _OPERATORS[symbol]
    if type(condition) is SymBool:
        more = attempt(value)

        def new(old: Any) -> Any:
            return combined(old, more) if type(old) in kinds and type(more) in kinds else FAILED

        if _stored(condition, attempt(owner), name, new):
            return
    if condition:
        holder = owner()
        old = getattr(holder, name)
        setattr(holder, name, in_place(old, real()))


def grown(condition: Any, symbol: str, old: Callable[[], Any], value: Callable[[], Any]) -> Any:
    """What ``x`` is after ``if condition: x += value``."""
    in_place, combined, kinds = _OPERATORS[symbol]
    if type(condition) is SymInt:
        condition = condition != 0
    if type(condition) is SymBool:
        before, more = attempt(old), attempt(value)
        if type(before) in kinds and type(more) in kinds:
            return condition.__sym_ite__(combined(before, more), before)
    return in_place(old(), value()) if condition else old()


def _stored(condition: SymBool, holder: Any, name: str, new: Callable[[Any], Any]) -> bool:
    """Merge the attribute's old value with the new one; false if that cannot be done."""
    # Only a plain attribute of an instance: a property might act.
    if any(name in vars(kind) for kind in type(holder).__mro__):
        return False
    try:
        old = vars(holder)[name]
    except (TypeError, KeyError):
        old = constant_of(holder, name, FAILED)
        if old is FAILED:
            return False
    value = attempt(lambda: new(old))
    merged = value if value is old else _merged(condition, value, old)
    if merged is FAILED:
        return False
    setattr(holder, name, merged)
    return True


def _merged(condition: SymBool, one: Any, two: Any) -> Any:
    """``one if condition else two`` as one value."""
    if type(one) in _NUMBERS and type(two) in _NUMBERS:
        return condition.__sym_ite__(one, two)
    lists = merged_lists(condition, one, two)
    return FAILED if lists is None else lists


FUNCTIONS: dict[str, Callable[..., Any]] = {
    PEEK: peek,
    AHEAD: ahead,
    PUT: put,
    AUGMENT: augment,
    FRESH: Fresh,
    GROWN: grown,
}
