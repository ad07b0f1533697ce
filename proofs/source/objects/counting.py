"""What a text counts, and how far: nothing is known of more than a run has.

A run has three requests at most, and three tokens come back.  All else that a text can count is
symbolic.  What ``len`` gives, what a loop adds up, the numbers of ``enumerate`` and their kin are
therefore counts (``proofs.symbolic.counts``): ``len(self.running) > 8`` is false in every run, and
undecided.  A number that comes to a text in another way is asked where two plain ones are compared,
divided, the least of them is taken, or a list is cut: one larger than any count is undecided too.
"""

from __future__ import annotations

import ast
import copy
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


# -- in the syntax tree ----------------------------------------------------------------------------


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
    """A quotient that asks first, or a list repeated."""
    name = REPEATED if isinstance(node.op, ast.Mult) else _DIVIDED.get(type(node.op), ("",))[0]
    return _call(name, node.left, node.right) if name else node


def bounds(node: ast.Slice) -> ast.Slice:
    """A slice whose bounds ask first."""
    parts = (part and _call(CUT, part) for part in (node.lower, node.upper, node.step))
    node.lower, node.upper, node.step = parts
    return node


def add(node: ast.AugAssign) -> ast.stmt:
    """``x += y`` that counts, where looking the target up twice changes nothing."""
    function = _STEPS.get(type(node.op))
    if function is None or not _is_plain(node.target):
        return node
    now = copy.deepcopy(node.target)
    now.ctx = ast.Load()
    made = ast.Assign([node.target], _call(function, now, node.value))
    return ast.copy_location(made, node)


_STEPS: dict[type[ast.operator], str] = {ast.Add: ADDED, ast.Sub: TAKEN, ast.Mult: MULTIPLIED}


def _is_plain(target: ast.expr) -> bool:
    """Whether a name, an attribute, an element is found without doing anything."""
    match target:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=owner):
            return _is_plain(owner)
        case ast.Subscript(value=owner, slice=key):
            return _is_plain(owner) and _is_plain(key)
    return False


def count(node: ast.expr) -> ast.expr:
    """``x + y``, or how often something is in a list."""
    match node:
        case ast.BinOp(op=ast.Add()):
            return _call(COUNTED, node)
        case ast.Call(func=ast.Attribute(attr="count" | "index")):
            return _call(COUNTED, node)
    return node


def up(node: ast.Assign) -> ast.stmt:
    """``x = x + y``, and down."""
    match node:
        case ast.Assign(targets=[target], value=ast.BinOp(left=old, op=op, right=more)):
            if type(op) in _STEPS and _is_plain(target) and _same(target, old):
                step = ast.AugAssign(target, op, more)  # type: ignore[arg-type]
                made = add(ast.copy_location(step, node))
                if isinstance(
                    made, ast.Assign
                ):  # a mark for the sum stands for what is in its place
                    ast.copy_location(made.value, node.value)
                return made
    return node


def _same(target: ast.expr, old: ast.expr) -> bool:
    """Whether what is stored into is what is read."""
    return ast.dump(target).replace("Store()", "Load()") == ast.dump(old)


def look_up(node: ast.Subscript) -> ast.expr:
    """An element that is read."""
    is_read = isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Slice)
    if not is_read or (isinstance(node.slice, ast.Constant) and node.slice.value in (0, 1, "")):
        return node
    return _call(AT, node.value, node.slice)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    made = ast.Call(func=ast.Name(name, ast.Load()), args=list(arguments), keywords=[])
    return ast.copy_location(made, arguments[0])
