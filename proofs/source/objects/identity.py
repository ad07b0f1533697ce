"""``is`` and ``~`` of symbolic values: what they would be of the values these stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proofs.source.objects.history import History
from proofs.source.objects.ids import RequestId
from proofs.source.objects.queues import RequestQueue, SchedulingPolicy
from proofs.source.objects.requests import Request
from proofs.source.objects.sealed import SealedMeta, path_of
from proofs.source.objects.stubs import Record
from proofs.symbolic import SymBool, SymInt, SymSeq, Veiled, refused

_SINGLE = (Request, RequestQueue, Record)
"""Stand-ins of which there is one for each object of the engine."""
IS, IS_NOT, INVERT = "_is__", "_is_not__", "_invert__"


def is_same(left: Any, right: Any) -> Any:
    """``left is right``.

    There is one ``True`` and one ``False``, so of truth values it is a formula.  Whether two
    numbers or two lists made of symbols are one object nobody can tell: the path is undecided.
    """
    for one, other in ((left, right), (right, left)):
        if type(one) is RequestId and type(other) is RequestId:
            return one is other
        if type(one) is SchedulingPolicy and type(other) is SchedulingPolicy:
            return one == other  # there is one of each
        if one is not other and _are_alike(one, other):
            refused("whether two objects of the engine are the same")
        if isinstance(one, Veiled) and one is not other and isinstance(other, one.kind__):
            one.refuse__("whether two values are the same object")
        if type(one) is SymBool:
            return _of_truths(one, other)
        if type(one) is SymInt and type(other) in (int, SymInt):
            one.pool.refuse("whether two numbers are the same object")
        if type(one) is SymSeq and type(other) in (list, SymSeq) and one is not other:
            one.pool.refuse("whether two lists are the same object")
        if one is not other and type(one) is History and isinstance(other, list):
            refused("whether two lists are the same object")
    return left is right


def _are_alike(one: Any, other: Any) -> bool:
    """Whether two stand-ins may stand for one object."""
    ours = type(one) is type(other) and isinstance(type(one), SealedMeta)
    return ours and not isinstance(one, _SINGLE) and path_of(one) == path_of(other)


def is_other(left: Any, right: Any) -> Any:
    """``left is not right``."""
    same = is_same(left, right)
    return ~same if type(same) is SymBool else not same


def _of_truths(one: SymBool, other: Any) -> Any:
    if type(other) is SymBool:
        return one == other
    return (one if other else ~one) if type(other) is bool else False


def invert(value: Any) -> Any:
    """``~value``: of a truth value it is arithmetic, -1 or -2."""
    return -1 - value.as_int() if type(value) is SymBool else ~value


FUNCTIONS: dict[str, Callable[..., Any]] = {IS: is_same, IS_NOT: is_other, INVERT: invert}
