"""A text that counts further than a run does: undecided, for nothing is known of so many.

A run has three requests at most, and three tokens come back.  All else that a text can count is
symbolic.  So where a text compares two plain numbers and one is larger, the answer may be another
where there are more requests: ``len(self.running) > 8`` is false in every run.  The same goes for
the least of such numbers, a quotient, a slice, a range.  Asked is at each of these operations, not
of a number wherever it goes: what else a text does with a count is not seen, nor is three itself.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from proofs.source.objects.host import Host
from proofs.symbolic import refused, sym_max, sym_min
from proofs.symbolic.active import ACTIVE

MOST = 3
"""How many of anything a run has: requests in the largest crowd, tokens that come back."""

_COMPARED: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("_lt__", operator.lt),
    ast.LtE: ("_le__", operator.le),
    ast.Gt: ("_gt__", operator.gt),
    ast.GtE: ("_ge__", operator.ge),
    ast.Eq: ("_eq__", operator.eq),
    ast.NotEq: ("_ne__", operator.ne),
    ast.In: ("_in__", lambda item, items: item in items),
    ast.NotIn: ("_not_in__", lambda item, items: item not in items),
}
_DIVIDED: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.FloorDiv: ("_quotient__", operator.floordiv),
    ast.Div: ("_ratio__", operator.truediv),
    ast.RShift: ("_shifted__", operator.rshift),
}
FEW = "_few__"
LONGEST = 100_000
"""Of a range, which a text may make into a list."""


class Counting:
    """What one text asks of plain numbers."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Name in a text, or a rewritten one → what it calls there."""
        return {
            "min": self._of_all(sym_min),
            "max": self._of_all(sym_max),
            "range": self.numbers_in,
            FEW: self.few,
            **{name: self._asked(function) for name, function in _DIVIDED.values()},
            **{
                name: self._contained(f) if kind in (ast.In, ast.NotIn) else self._asked(f)
                for kind, (name, f) in _COMPARED.items()
            },
        }

    def few(self, number: Any) -> Any:
        """A number a run may depend on: none that is plain and larger than any count of a run."""
        if type(number) is not int or -MOST <= number <= MOST:
            return number
        if self._host.counts and ACTIVE.get() is not None and not self._is_block(number):
            self._host.undecided(
                f"counts up to {number}: a proof knows of {MOST} requests or tokens at most"
            )
        return number

    def _is_block(self, number: int) -> bool:
        """The size of a block is plain where boundaries matter; elsewhere it is symbolic."""
        size = self._host.here.config.block_size
        return type(size) is int and number == size

    def _asked(self, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        few = self.few

        def ask(left: Any, right: Any) -> Any:
            if type(left) is int and type(right) is int:
                few(left), few(right)
            return function(left, right)

        return ask

    def numbers_in(self, *bounds: Any) -> range:
        """``range``: a loop over it turns so often, whoever is still there."""
        made = range(*map(self.few, bounds))
        if len(made) > LONGEST:
            refused(f"a range of more than {LONGEST} numbers")
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


def compare(node: ast.Compare) -> ast.expr:
    """A comparison that asks first."""
    operators = [_COMPARED.get(type(op)) for op in node.ops]
    if len(operators) > 1:  # what is left of chains: each operand by itself
        node.left = _call(FEW, node.left)
        node.comparators = [_call(FEW, part) for part in node.comparators]
        return node
    if operators[0] is None:
        return node
    return _call(operators[0][0], node.left, node.comparators[0])


def divide(node: ast.BinOp) -> ast.expr:
    """A quotient that asks first."""
    known = _DIVIDED.get(type(node.op))
    return node if known is None else _call(known[0], node.left, node.right)


def bounds(node: ast.Slice) -> ast.Slice:
    """A slice whose bounds ask first."""
    parts = (part and _call(FEW, part) for part in (node.lower, node.upper, node.step))
    node.lower, node.upper, node.step = parts
    return node


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    made = ast.Call(func=ast.Name(name, ast.Load()), args=list(arguments), keywords=[])
    return ast.copy_location(made, arguments[0])
