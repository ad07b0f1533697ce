"""An empty list just made, which can stand in a merged value as long as nobody changes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proofs.symbolic import SymBool, SymSeq


class Fresh(list[Any]):
    """An empty list that refuses to change in place once it was merged.

    A merged value is another object than the two it stands for.  A text that held one of those
    under a second name, and changed it there, would not find the change: that path is undecided.
    """

    merged_by__: Any = None
    """The pool of the exploration that merged it."""


def _refusing(name: str) -> Callable[..., Any]:
    method = getattr(list, name)

    def change(self: Fresh, *arguments: Any, **options: Any) -> Any:
        if self.merged_by__ is not None:
            self.merged_by__.refuse("a change in place of a list that stands in a merged value")
        return method(self, *arguments, **options)

    return change


_CHANGES = ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse")
for _name in (*_CHANGES, "__setitem__", "__delitem__", "__iadd__", "__imul__"):
    setattr(Fresh, _name, _refusing(_name))


def merged_lists(condition: SymBool, one: Any, two: Any) -> Any:
    """``one if condition else two`` of lists told apart by their lengths only; None if not so."""
    if type(one) is Fresh and type(two) is SymSeq:
        return merged_lists(condition.negation, two, one)
    if type(one) is not SymSeq:
        return None
    if type(two) is Fresh and not two:
        two.merged_by__ = one.pool
        return one.merged(condition, None)
    if type(two) is SymSeq and one.element is two.element:
        return one.merged(condition, two)
    return None
