"""Where a text compares, divides, cuts, looks up and adds: calls that know how far a run counts.

What they do is said in ``objects.counting``.
"""

from __future__ import annotations

import ast
import copy

from proofs.source.objects.counting import (
    ADDED,
    AT,
    COUNTED,
    CUT,
    FEW,
    MULTIPLIED,
    REPEATED,
    TAKEN,
)

_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "_lt__",
    ast.LtE: "_le__",
    ast.Gt: "_gt__",
    ast.GtE: "_ge__",
    ast.Eq: "_eq__",
    ast.NotEq: "_ne__",
    ast.In: "_in__",
    ast.NotIn: "_not_in__",
}
_DIVIDED: dict[type[ast.operator], str] = {
    ast.FloorDiv: "_quotient__",
    ast.Div: "_ratio__",
    ast.RShift: "_shifted__",
    ast.Mult: REPEATED,
}


def compare(node: ast.Compare) -> ast.expr:
    """A comparison that asks first."""
    operators = [_COMPARED.get(type(op)) for op in node.ops]
    if len(operators) > 1:  # what is left of chains: each operand by itself
        node.left = _call(FEW, node.left)
        node.comparators = [_call(FEW, part) for part in node.comparators]
        return node
    if operators[0] is None:
        return node
    return _call(operators[0], node.left, node.comparators[0])


def divide(node: ast.BinOp) -> ast.expr:
    """A quotient that asks first, or a list repeated."""
    name = _DIVIDED.get(type(node.op))
    return node if name is None else _call(name, node.left, node.right)


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
