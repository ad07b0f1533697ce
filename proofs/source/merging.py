"""Fewer paths from the same text: conditions that only compute are merged, not branched on.

``a and b``, ``x < y < z``, ``a if c else b`` and ``if c: x = e`` force Python to decide ``c`` even
where one formula could carry both sides.  Where the operands only compute (no calls but ``len``,
no subscripts but slices, no division) they are turned into the functions below, which decide
nothing while a condition is symbolic and behave exactly like the original otherwise.
``merger`` puts them in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proofs.symbolic import SymBool, SymInt, SymSeq, Unsupported, sym_min

AND, OR, NOT, MERGE, LEAST = "_and__", "_or__", "_not__", "_merge__", "_least__"
ALL, ANY = "_all__", "_any__"
"""``and`` and ``or`` where only the truth of the result matters."""


def both(left: Any, right: Callable[[], Any]) -> Any:
    """``left and right()``."""
    if type(left) is not SymBool:
        return left and right()
    other = _attempt(right)
    if type(other) is SymBool or type(other) is bool:
        return left & other
    return left and right()


def either(left: Any, right: Callable[[], Any]) -> Any:
    """``left or right()``."""
    if type(left) is not SymBool:
        return left or right()
    other = _attempt(right)
    if type(other) is SymBool or type(other) is bool:
        return left | other
    return left or right()


def truth(value: Any) -> Any:
    """The truth value, symbolic where that of the value is."""
    kind = type(value)
    if kind is SymBool:
        return value
    if kind is SymInt:
        return value != 0
    if kind is SymSeq:
        return value.length != 0
    return bool(value)


def both_true(left: Any, right: Callable[[], Any]) -> Any:
    """Whether ``left and right()``."""
    first = truth(left)
    if type(first) is not SymBool:
        return first and truth(right())
    other = _attempt(lambda: truth(right()))
    return first & other if other is not _FAILED else bool(first) and truth(right())


def either_true(left: Any, right: Callable[[], Any]) -> Any:
    """Whether ``left or right()``."""
    first = truth(left)
    if type(first) is not SymBool:
        return first or truth(right())
    other = _attempt(lambda: truth(right()))
    return first | other if other is not _FAILED else bool(first) or truth(right())


def least(items: Any, wanted: Callable[[Any], Any], default: Any) -> Any:
    """``min((x for x in items if wanted(x)), default=default)``."""
    found: Any = False
    best: Any = default
    for item in items:
        here = truth(wanted(item))
        smallest = _chosen(found, sym_min(best, item) if found is not False else item, item)
        best = _chosen(here, smallest, best)
        found = found | here
    return best


def _chosen(condition: Any, then: Any, other: Any) -> Any:
    """``then if condition else other`` of values at hand."""
    return merge(condition, lambda: then, lambda: other)


def negated(value: Any) -> Any:
    """``not value``."""
    if type(value) is SymBool:
        return ~value
    if type(value) is SymInt:
        return value == 0
    return not value


def merge(condition: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """``then() if condition else other()``."""
    if type(condition) is SymInt:
        condition = condition != 0
    if type(condition) is not SymBool:
        return then() if condition else other()
    one, two = _attempt(then), _attempt(other)
    if type(one) in _NUMBERS and type(two) in _NUMBERS:
        return condition.__sym_ite__(one, two)
    if type(one) is SymSeq and type(two) is SymSeq and one.element is two.element:
        length = condition.__sym_ite__(one.length, two.length)
        return SymSeq(length, one.element) if type(length) is SymInt else one
    return then() if condition else other()


_NUMBERS = (int, bool, SymInt, SymBool)
_FAILED = object()


def _attempt(compute: Callable[[], Any]) -> Any:
    """A value computed ahead of the decision to compute it; a failure only then matters."""
    try:
        return compute()
    except Unsupported:
        raise
    except Exception:
        return _FAILED


FUNCTIONS: dict[str, Callable[..., Any]] = {
    AND: both,
    OR: either,
    NOT: negated,
    MERGE: merge,
    LEAST: least,
    ALL: both_true,
    ANY: either_true,
}
