"""Which expressions *only compute*, and how calls are put in their place.

Evaluating such an expression ahead of time can neither act nor branch: names, attributes,
constants, ``+ - *``, comparisons, ``len``, slices, and combinations of these.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeGuard

from proofs.source.walking import walk

Loop = ast.For | ast.While
_LOOPS = (ast.For, ast.While)


def only_computes(node: ast.expr) -> bool:
    """Whether evaluating an expression ahead of time can neither act nor branch."""
    match node:
        case ast.Constant() | ast.Name():
            return True
        case ast.Attribute(value=value):
            return only_computes(value)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return only_computes(left) and only_computes(right)
        case ast.UnaryOp(operand=operand):
            return only_computes(operand)
        case ast.Compare(left=left, comparators=others, ops=ops):
            if any(isinstance(op, ast.In | ast.NotIn) for op in ops):
                return False
            return only_computes(left) and all(map(only_computes, others))
        case ast.BoolOp(values=values):
            return all(map(only_computes, values))
        case ast.Call(func=ast.Name(id="len" | "bool"), args=[argument], keywords=[]):
            return only_computes(argument)
        case ast.Subscript(value=value, slice=ast.Slice(lower=low, upper=high, step=None)):
            return all(only_computes(part) for part in (value, low, high) if part is not None)
    return False


def thunk(body: ast.expr) -> ast.Lambda:
    """The expression, to be evaluated when it is called."""
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.copy_location(ast.Lambda(args=nothing, body=body), body)


def call(name: str, *arguments: ast.expr) -> ast.Call:
    """A call of one of the functions a text is given."""
    return ast.Call(func=ast.Name(name, ast.Load()), args=list(arguments), keywords=[])


class Reads:
    """Who reads which name in one function, as it stands in the text."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self._loads = _loads(function)
        self._deferred = {
            node.id
            for inner in walk(function)
            if isinstance(inner, ast.FunctionDef | ast.Lambda) and inner is not function
            for node in _loads(inner)
        }
        self._leaks = any(isinstance(n, ast.Nonlocal | ast.Global) for n in walk(function))
        self._inner = {
            inner
            for outer in walk(function)
            if isinstance(outer, _LOOPS)
            for inner in walk(outer)
            if isinstance(inner, _LOOPS) and inner is not outer
        }

    def are_within(
        self, name: str, statements: Sequence[ast.stmt], loop: Loop, *, once: bool
    ) -> bool:
        """Whether what the name holds where these statements of a loop do not run is no matter.

        Nobody reads it but they, and not before the first of them sets it; or long before the loop.
        ``once``: whether they may set it only once.
        """
        inside = [n for s in statements for n in walk(s) if _is_name(n, name)]
        first = min(inside, key=lambda n: (n.lineno, n.col_offset))
        sets = any(
            isinstance(s, ast.Assign) and first in s.targets and not _reads_name(s.value, name)
            for s in statements
        )
        outside = [
            node
            for node in self._loads
            if node.id == name and not any(node is read for read in inside)
        ]
        stores = sum(isinstance(n.ctx, ast.Store) for n in inside)
        if self._leaks or (once and stores > 1):
            return False
        before = loop not in self._inner and all(node.lineno < loop.lineno for node in outside)
        return sets and name not in self._deferred and (not outside or before)


def _loads(node: ast.AST) -> list[ast.Name]:
    """Where names are read, or have to be there."""
    names = (n for n in walk(node) if isinstance(n, ast.Name))
    return [name for name in names if not isinstance(name.ctx, ast.Store)]


def _reads_name(value: ast.expr, name: str) -> bool:
    """Whether an expression reads a name."""
    return any(_is_name(node, name) for node in walk(value))


def _is_name(node: ast.AST, name: str) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and node.id == name
