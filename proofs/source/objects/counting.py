"""What a text counts, and how far: nothing is known of more than a run has.

A run has three requests at most, and three tokens come back.  All else that a text can count is
symbolic.  What ``len`` gives, what a loop adds up, the numbers of ``enumerate`` and their kin are
therefore counts (``proofs.symbolic.counts``): ``len(self.running) > 8`` is false in every run, and
undecided.  A number that comes to a text in another way is asked where two plain ones are compared,
divided, the least of them is taken, or a list is cut: one larger than any count is undecided too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from proofs.source.objects.host import Host
from proofs.symbolic import SymBool, SymInt, SymSeq, refused, sym_len, sym_max, sym_min, sym_sum
from proofs.symbolic.counts import (
    MOST,
    added,
    counted,
    doubt,
    is_counting,
    said,
    start_counting,
    taken,
)

Operator = Callable[[Any, Any], Any]
COMPARED: dict[str, Operator] = {
    "_lt__": operator.lt,
    "_le__": operator.le,
    "_gt__": operator.gt,
    "_ge__": operator.ge,
    "_eq__": operator.eq,
    "_ne__": operator.ne,
}
CONTAINED: dict[str, Operator] = {
    "_in__": lambda item, items: item in items,
    "_not_in__": lambda item, items: item not in items,
}
DIVIDED: dict[str, Operator] = {
    "_quotient__": operator.floordiv,
    "_ratio__": operator.truediv,
    "_shifted__": operator.rshift,
}
"""Name in a rewritten text → the operator it stands for; `syntax.counted` puts them in."""
FEW, CUT, ADDED, COUNTED, AT = "_few__", "_cut__", "_added__", "_counted__", "_at__"
TAKEN, REPEATED, MULTIPLIED = "_taken__", "_repeated__", "_multiplied__"
ASIDE = "_aside__"
LONGEST = 100_000
"""Of a range, which a text may make into a list."""


class Counting:
    """What one text asks of plain numbers."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Name in a text, or a rewritten one → what it calls there."""
        return {
            "len": length,
            "sum": total,
            "enumerate": Numbered,
            ADDED: added,
            TAKEN: taken,
            COUNTED: counted,
            REPEATED: self.repeated,
            ASIDE: aside,
            MULTIPLIED: multiplied,
            AT: self.at,
            CUT: self.cut,
            "min": self._of_all(sym_min),
            "max": self._of_all(sym_max),
            "range": self.numbers_in,
            FEW: self.few,
            **{name: self._asked(f) for name, f in (COMPARED | DIVIDED).items()},
            **{name: self._contained(f) for name, f in CONTAINED.items()},
        }

    def few(self, number: Any) -> Any:
        """A number a run may depend on: none that is plain and larger than any count of a run."""
        if type(number) is not int or -MOST <= number <= MOST:
            return number
        if is_counting() and not self._is_block(number):
            doubt(said(number, number))
        return number

    def _is_block(self, number: int) -> bool:
        """The size of a block is plain where boundaries matter; elsewhere it is symbolic."""
        size = self._host.here.config.block_size
        return type(size) is int and number == size

    def cut(self, number: Any) -> Any:
        """Where a list ends: at a place that a run has something beyond."""
        if type(number) is int and not -MOST < number < MOST:
            doubt(said(number, number))
        return number

    def at(self, items: Any, key: Any) -> Any:
        """``items[key]``: what stands at a count, in a list as long as a count."""
        if type(items) in _LISTS:
            if type(key) is int:
                self.cut(key if key >= 0 else key + 1)
            elif type(key) is SymInt and key.is_counted and len(items) > MOST:
                doubt(f"looks a count up among {len(items)}")
        return items[key]

    def repeated(self, left: Any, right: Any) -> Any:
        """``left * right``: of a list, or of numbers."""
        if type(left) is list or type(right) is list:
            self.few(left), self.few(right)
        return left * right

    def _asked(self, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        few = self.few

        def ask(left: Any, right: Any) -> Any:
            if type(left) is int and type(right) is int:
                few(left), few(right)
            elif type(left) is list and type(right) is list:
                few(len(left)), few(len(right))
            return function(left, right)

        return ask

    def numbers_in(self, *bounds: Any) -> Iterable[Any]:
        """``range``: a loop over it turns so often, whoever is still there."""
        made = range(*map(self.few, bounds))
        if len(made) > LONGEST:
            refused(f"a range of more than {LONGEST} numbers")
        if any(type(bound) is SymInt for bound in bounds):
            return [counted(number) for number in made]
        return made

    def _contained(self, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def ask(item: Any, items: Any) -> Any:
            if type(item) is int and type(items) in (list, tuple, set, frozenset, range):
                for number in (item, *items):
                    self.few(number)
            return function(item, items)

        return ask

    def _of_all(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``min`` or ``max``: of plain numbers only, each has to be a small one."""

        def ask(*given: Any, **options: Any) -> Any:
            if len(given) > 1 and all(type(number) is int for number in given):
                for number in given:
                    self.few(number)
            return function(*given, **options)

        return ask


def length(items: Any) -> Any:
    """``len``; how many members a class has is the same in all runs."""
    size = sym_len(items)
    return size if isinstance(items, type) else counted(size)


def aside(compute: Callable[[], Any]) -> Any:
    """What is computed for a logger: nobody asks how far it counts."""
    counted_before = is_counting()
    start_counting(False)
    try:
        return compute()
    finally:
        start_counting(counted_before)


def multiplied(old: Any, more: Any) -> Any:
    """``old *= more``."""
    old *= more
    return counted(old)


def total(items: Any, start: Any = 0) -> Any:
    """``sum``."""
    if type(items) is SymSeq:
        return sym_sum(items, start)
    for item in items:
        start = added(start, item) if type(item) in _NUMBERS else start + item
    return start


_NUMBERS = (int, bool, SymInt, SymBool)
_LISTS = (list, tuple)


class Numbered:
    """``enumerate``."""

    __slots__ = ("at__", "items__")

    def __init__(self, iterable: Iterable[Any], start: Any = 0) -> None:
        self.items__, self.at__ = iter(iterable), start

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> tuple[Any, Any]:
        item, at = next(self.items__), counted(self.at__)
        self.at__ = added(at, 1)
        return at, item
