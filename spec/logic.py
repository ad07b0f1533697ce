"""Connectives that work on plain numbers and on the prover's symbolic ones alike.

The specification and the model are written once and run two ways: on ``int`` by the fuzzer, the
runner shim and the trace replay, on symbolic integers by the prover.  Python's own ``and``,
``not``, ``min`` and conditional expressions force a decision where the prover would rather keep
one formula; the functions below build the formula when an operand is symbolic and are ordinary
Python otherwise.  Nothing here knows how a symbolic value is made: it only has to offer ``&``,
``|``, ``~`` and the ``__sym_*__`` hooks named below.

Annotations throughout ``spec/`` and ``model/`` say ``int`` and ``bool``: the prover passes its own
types in their place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any


def not_(a: bool) -> bool:
    """Negation."""
    return (not a) if a is True or a is False else ~a


def implies(a: bool, b: bool) -> bool:
    """``b`` whenever ``a``."""
    return not_(a) | b


def all_of(*conditions: bool) -> bool:
    """Conjunction of any number of conditions; true of none."""
    result = True
    for condition in conditions:
        result = result & condition
    return result


def any_of(*conditions: bool) -> bool:
    """Disjunction of any number of conditions; false of none."""
    result = False
    for condition in conditions:
        result = result | condition
    return result


def ite(condition: bool, then: int, otherwise: int) -> int:
    """``then`` if ``condition`` else ``otherwise``, without taking a branch on a formula."""
    if condition is True:
        return then
    if condition is False:
        return otherwise
    symbolic: Any = condition
    merged: int = symbolic.__sym_ite__(then, otherwise)
    return merged


def min(a: int, b: int) -> int:
    """The smaller of two numbers; named as the builtin it replaces."""
    if type(a) is int and type(b) is int:
        return a if a < b else b
    symbolic: Any
    symbolic, other = (b, a) if type(a) is int else (a, b)
    merged: int = symbolic.__sym_min__(other)
    return merged


def max(a: int, b: int) -> int:
    """The larger of two numbers; named as the builtin it replaces."""
    if type(a) is int and type(b) is int:
        return a if a > b else b
    symbolic: Any
    symbolic, other = (b, a) if type(a) is int else (a, b)
    merged: int = symbolic.__sym_max__(other)
    return merged


def total(numbers: Iterable[int]) -> int:
    """Sum, for numbers that may be symbolic."""
    result = 0
    for number in numbers:
        result = result + number
    return result


def size(queue: Collection[Any]) -> int:
    """How many items; the prover's queues hold more than they show."""
    if type(queue) is list:
        return len(queue)
    symbolic: Any = queue
    number: int = symbolic.__sym_len__()
    return number


def ceil_div(a: int, b: int) -> int:
    """``a / b`` rounded up; ``b`` positive."""
    return (a + b - 1) // b
