"""Fewer paths from the same text: conditions that only compute are merged, not branched on.

``a and b``, ``x < y < z``, ``a if c else b`` and ``if c: x = e`` force Python to decide ``c`` even
where one formula could carry both sides.  Where the operands only compute (no calls but ``len``,
no subscripts but slices, no division) they are turned into the functions below, which decide
nothing while a condition is symbolic and behave exactly like the original otherwise.
``merger`` puts them in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from proofs.source.objects.fresh import merged_lists
from proofs.symbolic import SymBool, SymInt, SymSeq, Unsupported, sym_any, sym_min

AND, OR, NOT, MERGE, LEAST = "_and__", "_or__", "_not__", "_merge__", "_least__"
ALL, ANY, TRUTH, LEAVES = "_all__", "_any__", "_truth__", "_leaves__"
"""``and`` and ``or`` where only the truth of the result matters."""


def both(left: Any, right: Callable[[], Any]) -> Any:
    """``left and right()``."""
    if type(left) is not SymBool:
        return left and right()
    other = attempt(right)
    if type(other) is SymBool or type(other) is bool:
        return left & other
    return left and right()


def either(left: Any, right: Callable[[], Any]) -> Any:
    """``left or right()``."""
    if type(left) is not SymBool:
        return left or right()
    other = attempt(right)
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
    other = attempt(lambda: truth(right()))
    return first & other if other is not FAILED else bool(first) and truth(right())


def either_true(left: Any, right: Callable[[], Any]) -> Any:
    """Whether ``left or right()``."""
    first = truth(left)
    if type(first) is not SymBool:
        return first or truth(right())
    other = attempt(lambda: truth(right()))
    return first | other if other is not FAILED else bool(first) or truth(right())


def leaves(stays: Callable[[], Any], *breaks: Callable[[], Any]) -> Any:
    """``not stays() or any(breaks)``; None where nothing is symbolic: the text can ask itself."""
    asked: list[Any] = [negated(truth(stays()))]
    for test in breaks:
        if asked[-1] is True:
            break
        value = attempt(partial(_answer, test)) if _is_open(asked) else _answer(test)
        if value is FAILED:
            if sym_any(asked):
                return True
            value = _answer(test)
        asked.append(value)
    return sym_any(asked) if _is_open(asked) else None


def _answer(test: Callable[[], Any]) -> Any:
    return truth(test())


def _is_open(conditions: Iterable[Any]) -> bool:
    return any(type(condition) is SymBool for condition in conditions)


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
    merged = either_value(condition, attempt(then), attempt(other))
    return (then() if condition else other()) if merged is FAILED else merged


def either_value(condition: SymBool, one: Any, two: Any) -> Any:
    """``one if condition else two`` as one value, or ``FAILED`` if there is none."""
    if type(one) in _NUMBERS and type(two) in _NUMBERS:
        # Of True on one side and 1 on the other the text can tell which it has.
        alike = (type(one) in _TRUTHS) is (type(two) in _TRUTHS)
        return condition.__sym_ite__(one, two) if alike else FAILED
    lists = merged_lists(condition, one, two)
    return FAILED if lists is None else lists


_TRUTHS = (bool, SymBool)
_NUMBERS = (int, SymInt, *_TRUTHS)
FAILED = object()


def attempt(compute: Callable[[], Any]) -> Any:
    """A value computed ahead of the decision to compute it; a failure only then matters."""
    try:
        return compute()
    except Unsupported:
        raise
    except Exception:
        return FAILED


FUNCTIONS: dict[str, Callable[..., Any]] = {
    AND: both,
    OR: either,
    NOT: negated,
    MERGE: merge,
    LEAST: least,
    ALL: both_true,
    ANY: either_true,
    TRUTH: truth,
    LEAVES: leaves,
}
