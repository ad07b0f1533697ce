"""The tail of a loop body behind ``if c: continue``, as statements that merge instead of branching.

``merger`` merges one assignment.  A loop that skips some of its items and moves counters of the
others would still fork once per item.  Where everything behind the ``continue`` only computes and
stores, each statement is guarded by the negated condition instead; one whose value cannot be merged
decides the condition as the text would have.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Sequence

from proofs.source.computing import Loop, Reads, call, only_computes, thunk
from proofs.source.merging import ALL, NOT
from proofs.source.storing import AHEAD, AUGMENT, PEEK, PUT
from proofs.symbolic import SymBool, SymInt, SymSeq

OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.BitOr: "|"}
SKIPPED = "skipped__{}"
"""Name of the condition of the n-th level; a text cannot use two underscores."""
UNTOUCHED = frozenset(n for kind in (SymInt, SymBool, SymSeq) for n in vars(kind)) | {"index"}
"""Attributes that symbolic values have: stores to them are left to ``rewrite``."""

Visit = Callable[[ast.expr], ast.expr]


class Skipping:
    """Rewrites the loops of one function.

    Args:
        reads: who reads which name in the function.
        visit: what merges inside an expression.
        truth: the same, where only the truth of the expression matters.
    """

    def __init__(self, reads: Reads, visit: Visit, truth: Visit) -> None:
        self._reads, self._visit, self._truth = reads, visit, truth

    def split(
        self, loop: Loop, body: Sequence[ast.stmt]
    ) -> tuple[Sequence[ast.stmt], list[ast.stmt]]:
        """What of a loop's body comes first, unchanged, and the guarded rest of it."""
        self._loop = loop
        for position, statement in enumerate(body):
            match statement:
                case ast.If(test=test, body=[ast.Continue()], orelse=[]) if only_computes(test):
                    tail = body[position + 1 :]
                    if tail and self._can_guard(tail, tail):
                        return body[:position], self._guarded(statement, test, tail)
        return body, []

    # -- what can be guarded -------------------------------------------------------------------

    def _can_guard(self, statements: Iterable[ast.stmt], tail: Sequence[ast.stmt]) -> bool:
        return all(self._fits(statement, tail) for statement in statements)

    def _fits(self, statement: ast.stmt, tail: Sequence[ast.stmt]) -> bool:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return _can_peek(value) and self._reads.are_within(name, tail, self._loop)
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                return _can_store(target) and _can_peek(value)
            case ast.AugAssign(target=ast.Attribute() as target, op=op, value=value):
                return type(op) in OPERATORS and _can_store(target) and _can_peek(value)
            case ast.If(test=test, body=body, orelse=[]):
                return only_computes(test) and self._can_guard(body, tail)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return True
        return False

    # -- guarding ------------------------------------------------------------------------------

    def _guarded(self, skip: ast.stmt, test: ast.expr, tail: Iterable[ast.stmt]) -> list[ast.stmt]:
        goes_on = call(NOT, self._truth(copy.deepcopy(test)))
        condition = SKIPPED.format(0)
        first = ast.copy_location(ast.Assign([ast.Name(condition, ast.Store())], goes_on), skip)
        return [first, *self._under(condition, tail, 1)]

    def _under(self, condition: str, statements: Iterable[ast.stmt], level: int) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in statements:
            made += [
                ast.copy_location(new, statement)
                for new in self._merged(condition, statement, level)
            ]
        return made

    def _merged(self, condition: str, statement: ast.stmt, level: int) -> list[ast.stmt]:
        holds = ast.Name(condition, ast.Load())
        match statement:
            case ast.Assign(targets=[ast.Name() as target], value=value):
                return [ast.Assign([target], call(AHEAD, holds, *self._both(value)))]
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                return [self._store(PUT, holds, target, (), value)]
            case ast.AugAssign(target=ast.Attribute() as target, op=op, value=value):
                operator = ast.Constant(OPERATORS[type(op)])
                return [self._store(AUGMENT, holds, target, (operator,), value)]
            case ast.If(test=test, body=body):
                inner = SKIPPED.format(level)
                both = call(ALL, holds, thunk(self._truth(copy.deepcopy(test))))
                deeper = self._under(inner, body, level + 1)
                return [ast.Assign([ast.Name(inner, ast.Store())], both), *deeper]
        return [statement]

    def _store(
        self,
        function: str,
        holds: ast.expr,
        target: ast.Attribute,
        extra: tuple[ast.expr, ...],
        value: ast.expr,
    ) -> ast.stmt:
        owner, name = thunk(self._visited(target.value)), ast.Constant(target.attr)
        return ast.Expr(call(function, holds, owner, name, *extra, *self._both(value)))

    def _both(self, value: ast.expr) -> tuple[ast.expr, ast.expr]:
        """The value to compute ahead of the decision, and the value as the text has it."""
        peeked = _Peeking().visit(copy.deepcopy(value))
        return thunk(self._visited(peeked)), thunk(self._visited(value))

    def _visited(self, node: ast.expr) -> ast.expr:
        return self._visit(copy.deepcopy(node))


def _can_store(target: ast.Attribute) -> bool:
    return only_computes(target.value) and target.attr not in UNTOUCHED


def _can_peek(value: ast.expr) -> bool:
    return only_computes(_Peeking(marked=True).visit(copy.deepcopy(value)))


class _Peeking(ast.NodeTransformer):
    """``d.get(key, default)`` as a call that looks into a dictionary and does nothing else.

    ``marked``: as a mere name, to ask whether all around it only computes.
    """

    def __init__(self, marked: bool = False) -> None:
        self._marked = marked

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=dictionary, attr="get"), args=[key, default], keywords=[]
            ) if all(map(_is_plain, (dictionary, key, default))):
                if self._marked:
                    return ast.Name("found", ast.Load())
                return ast.copy_location(call(PEEK, dictionary, key, default), node)
        return node


def _is_plain(node: ast.expr) -> bool:
    return only_computes(node) or (isinstance(node, ast.Tuple) and not node.elts)
