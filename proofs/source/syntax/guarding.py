"""Statements under a condition nobody has decided: each is guarded, none branches.

``merger`` merges one assignment of a name.  Here whole blocks are merged that only compute and
store: the body of an ``if``, and the tail of a loop's body behind ``if c: continue``, where a loop
that skips some items and moves counters of the others would fork once per item.  A statement whose
value cannot be merged decides the condition as the text would have.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Sequence

from proofs.source.names import UNSTORABLE
from proofs.source.objects.merging import ALL, NOT, TRUTH
from proofs.source.objects.storing import AHEAD, AUGMENT, FRESH, PEEK, PUT
from proofs.source.syntax.computing import Loop, Reads, call, only_computes, thunk

OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.BitOr: "|"}
HOLDS = "holds{}__"
"""Variable for the condition at the n-th level; a text cannot use two underscores."""

Visit = Callable[[ast.expr], ast.expr]


class Guarding:
    """Guards statements of one function.

    Args:
        reads: who reads which name in the function.
        visit: what merges inside an expression.
        truth: the same, where only the truth of the expression matters.
    """

    def __init__(self, reads: Reads, visit: Visit, truth: Visit) -> None:
        self._reads, self._visit, self._truth = reads, visit, truth

    def tail_of(
        self, loop: Loop, body: Sequence[ast.stmt]
    ) -> tuple[Sequence[ast.stmt], list[ast.stmt]]:
        """What of a loop's body comes first, unchanged, and the guarded tail of it."""
        for position, statement in enumerate(body):
            match statement:
                case ast.If(test=test, body=[ast.Continue()], orelse=[]) if only_computes(test):
                    tail = body[position + 1 :]
                    if tail and self._can_guard(tail, tail, loop):
                        goes_on = call(NOT, self._truth(copy.deepcopy(test)))
                        return body[:position], self._guarded(statement, goes_on, tail)
        return body, []

    def body_of(self, node: ast.If) -> list[ast.stmt] | None:
        """An ``if`` that stores attributes and has no other side, guarded; None if it does more."""
        if node.orelse or not only_computes(node.test) or not self._can_guard(node.body):
            return None
        return self._guarded(node, self._truth(copy.deepcopy(node.test)), node.body)

    # -- what can be guarded -------------------------------------------------------------------

    def _can_guard(
        self,
        statements: Iterable[ast.stmt],
        tail: Sequence[ast.stmt] = (),
        loop: Loop | None = None,
    ) -> bool:
        """``tail`` of ``loop``: where a name may be set that nobody else reads."""
        return all(self._fits(statement, tail, loop) for statement in statements)

    def _fits(self, statement: ast.stmt, tail: Sequence[ast.stmt], loop: Loop | None) -> bool:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if loop is not None:
                return _can_peek(value) and self._reads.are_within(name, tail, loop, once=True)
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                return _can_store(target) and _can_peek(value)
            case ast.AugAssign(target=ast.Attribute() as target, op=op, value=value):
                return type(op) in OPERATORS and _can_store(target) and _can_peek(value)
            case ast.If(test=test, body=body, orelse=[]):
                return only_computes(test) and self._can_guard(body)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return True
        return False

    # -- guarding ------------------------------------------------------------------------------

    def _guarded(
        self, at: ast.stmt, condition: ast.expr, statements: Iterable[ast.stmt]
    ) -> list[ast.stmt]:
        holds = HOLDS.format(0)
        asked = ast.Assign([ast.Name(holds, ast.Store())], call(TRUTH, condition))
        return [ast.copy_location(asked, at), *self._under(holds, statements, 1)]

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
                inner = HOLDS.format(level)
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
        if isinstance(value, ast.List):
            return thunk(call(FRESH)), thunk(call(FRESH))
        peeked = _Peeking().visit(copy.deepcopy(value))
        return thunk(self._visited(peeked)), thunk(self._visited(value))

    def _visited(self, node: ast.expr) -> ast.expr:
        return self._visit(copy.deepcopy(node))


def _can_store(target: ast.Attribute) -> bool:
    return only_computes(target.value) and target.attr not in UNSTORABLE


def _can_peek(value: ast.expr) -> bool:
    if isinstance(value, ast.List) and not value.elts:
        return True
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
