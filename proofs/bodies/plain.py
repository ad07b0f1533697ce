"""How a loop may be written: all it can do so, it does to few requests as to many.

What a loop does with three requests says what it does with any number if it cannot tell how many
there are.  So it has ``numbers`` that say which request is meant, and are compared with the length
of a queue, and others that are added up and handed back.  Lengths are compared with those and with
0 and 1.  All else is handed on.

This is what is allowed, word by word (``words``).  Whatever else is written is told, with its line.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import EnumMeta
from types import FunctionType
from typing import Any

from proofs.bodies.numbers import Told, counters, is_stored, sums, told
from proofs.bodies.words import ASKED, CALLED, CHANGES, COUNTS_A_QUEUE, PICKS, QUEUES, READ

ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
MOST = 30
"""Parts of a function, a call or a row."""
IDENTITY = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


class Plain:
    """One function, read word by word.

    Args:
        definition: how it is written.
        known: the names of its module.
    """

    def __init__(self, definition: ast.FunctionDef, known: Mapping[str, Any]) -> None:
        self.known = known
        self.told: list[Told] = []
        self.helpers: list[Any] = []
        """Functions of its module that it calls."""
        every = list(ast.walk(definition))
        self.given = {node.arg for node in every if isinstance(node, ast.arg)}
        self.taken = {name for node in every for name in _taken(node)}
        """What the loops take from queues."""
        self.local = self.given | {n.id for n in every if isinstance(n, ast.Name) and is_stored(n)}
        self.counters = counters(definition) - self.given
        self.sums = sums(definition) - self.given
        self.rows = {n.id: each for n, each in _assigned(every) if isinstance(each, ast.Tuple)}
        """What is several values in a row."""
        self._depth = 0
        for wrapper in map(ast.unparse, definition.decorator_list):
            if wrapper != "property":
                self._tell(definition, f"is wrapped by {wrapper}")
        self._few_of(definition, [node for node in every if isinstance(node, ast.stmt)])
        self._block(definition.body)

    def _tell(self, node: ast.AST, what: str = "") -> None:
        self.told.append(told(node, what))

    # -- statements ---------------------------------------------------------------------------

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass() | ast.Break():
                pass
            case ast.Return(value=None) | ast.Continue():
                pass
            case ast.Return(value=ast.Name(id=name)) if name in self.sums:
                pass
            case ast.Return(value=ast.expr() as value) | ast.Expr(value=ast.Call() as value):
                self._value(value)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                self._assign(target, value)
            case ast.AugAssign(target=target) if ast.unparse(target) in self.counters:
                pass
            case ast.If(test=test, body=body, orelse=other):
                self._value(test)
                self._block([*body, *other])
            case ast.While(test=test, body=body, orelse=[]):
                self._value(test)
                self._turns(body)
            case ast.For(target=target, iter=source, body=body, orelse=[]):
                self._names(target)
                self._walked(source)
                self._turns(body)
            case _:
                self._tell(node)

    def _turns(self, body: list[ast.stmt]) -> None:
        self._depth += 1
        self._block(body)
        self._depth -= 1

    def _names(self, target: ast.expr) -> None:
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        for part in parts:
            if not isinstance(part, ast.Name):
                self._tell(part)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case _, _ if ast.unparse(target) in self.counters:
                pass
            case ast.Name(id=name), ast.Constant() if name in self.sums:
                pass
            case ast.Name(id=name), ast.BinOp(right=more) if name in self.sums:
                self._value(more)
            case ast.Attribute(value=owner, attr="status"), _:
                self._values([owner, value])
            case _:
                self._names(target)
                self._value(value)

    # -- values that are handed on ------------------------------------------------------------

    def _value(self, node: ast.expr) -> None:
        match node:
            case ast.Constant(value=value) if type(value) in (bool, int, type(None)):
                if value not in (None, 0, 1):
                    self._tell(node)
            case ast.Name(id=name):
                self._name(node, name)
            case ast.Attribute(value=owner, attr=name) if name in READ:
                self._value(owner)
            case ast.BoolOp(values=parts) | ast.Tuple(elts=parts):
                self._few_of(node, parts)
                self._values(parts)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                self._value(part)
            case ast.IfExp(test=test, body=one, orelse=other):
                self._values([test, one, other])
            case ast.Compare(left=one, ops=[op], comparators=[other]):
                self._compared(node, one, op, other)
            case ast.Subscript(value=queue, slice=position):
                self._queue(queue)
                self._position(position)
            case (
                ast.GeneratorExp(elt=each, generators=loops)
                | ast.ListComp(elt=each, generators=loops)
            ):
                for loop in loops:
                    self._names(loop.target)
                    self._walked(loop.iter)
                    self._depth += 1
                    self._values(loop.ifs)
                self._value(each)
                self._depth -= len(loops)
            case ast.Call():
                self._call(node)
            case _:
                self._tell(node)

    def _few_of(self, node: ast.AST, parts: Sequence[ast.AST]) -> None:
        """Parts that are written one by one are fewer than the scripts have requests."""
        if len(parts) > MOST:
            self._tell(node, f"has {len(parts)} parts")

    def _values(self, nodes: Iterable[ast.expr]) -> None:
        for node in nodes:
            self._value(node)

    def _name(self, node: ast.expr, name: str) -> None:
        if name in self.local:
            if name in self.counters | self.sums:
                self._tell(node, f"looks at {name}")
            return
        value = self.known.get(name, getattr(builtins, name, self))
        if isinstance(value, FunctionType):
            self.helpers.append(value)
        elif not isinstance(value, (str, bool, frozenset, EnumMeta)) and value is not list:
            self._tell(node, f"names {name}")

    # -- numbers ------------------------------------------------------------------------------

    def _compared(self, node: ast.expr, one: ast.expr, op: ast.cmpop, other: ast.expr) -> None:
        if isinstance(op, IDENTITY):
            self._values([one, other])
        elif not isinstance(op, ORDERS):
            self._tell(node)
        elif ast.unparse(one) in self.counters:
            self._length(other)
        else:
            self._length(one)
            self._few(other)

    def _length(self, node: ast.expr) -> None:
        match node:
            case ast.Call(func=ast.Name(id="len" | "size"), args=[_], keywords=[]):
                self._call(node)
            case _:
                self._tell(node)

    def _few(self, node: ast.expr) -> None:
        """A number of requests that the scripts have."""
        match node:
            case ast.IfExp(test=test, body=one, orelse=other):
                self._value(test)
                self._few(one)
                self._few(other)
            case ast.Constant(value=int()) | ast.Attribute(attr="max_in_flight"):
                self._value(node)
            case _:
                self._tell(node)

    def _position(self, node: ast.expr) -> None:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
                pass
            case ast.Constant(value=0) | ast.Call(func=ast.Name(id="bisect_right")):
                self._value(node)
            case _ if ast.unparse(node) not in self.counters:
                self._tell(node, f"picks {ast.unparse(node)}")

    # -- queues -------------------------------------------------------------------------------

    def _queue(self, node: ast.expr) -> None:
        match node:
            case ast.Attribute(value=owner, attr=name) if name in QUEUES:
                self._value(owner)
            case ast.Name(id=name) if name in self.given | self.taken:
                pass
            case _:
                self._tell(node)

    def _walked(self, node: ast.expr) -> None:
        row = self.rows.get(node.id, node) if isinstance(node, ast.Name) else node
        match row:
            case ast.Tuple(elts=parts):  # so many turns: few, and each for a queue of its own
                if self._depth or len({*map(ast.unparse, parts)}) < len(parts):
                    self._tell(node)
                for part in parts:
                    self._queue(part)
            case ast.Call(func=ast.Attribute(attr="items")):
                self._call(row)
            case _:
                self._queue(row)

    # -- calls --------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> None:
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        self._few_of(node, arguments)
        match node:
            case ast.Call(func=ast.Name(id=name), args=[queue, *_]) if name in COUNTS_A_QUEUE:
                self._helper(node, name)
                if any(keyword.arg != "key" for keyword in node.keywords):
                    self._tell(node)
                self._queue(queue)
                arguments = arguments[1:]
            case ast.Call(func=ast.Name(id=name)):
                self._helper(node, name)
            case ast.Call(func=ast.Attribute(value=queue, attr=name)) if name in CHANGES:
                self._queue(queue)
            case ast.Call(func=ast.Attribute(value=queue, attr=name)) if name in PICKS:
                self._queue(queue)
                for position in arguments[:1]:
                    self._position(position)
                arguments = arguments[1:]
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in ASKED:
                self._value(owner)
            case _:
                self._tell(node)
        for each in arguments:
            self._value(each.value if isinstance(each, ast.Starred) else each)

    def _helper(self, node: ast.Call, name: str) -> None:
        held = self.known.get(name, getattr(builtins, name, None))
        if name in self.local:
            self._tell(node)
        elif isinstance(held, FunctionType):
            self.helpers.append(held)
        elif held not in CALLED:
            self._tell(node)


def _taken(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.For, ast.comprehension)):
        parts = ast.walk(node.target)
        yield from (part.id for part in parts if isinstance(part, ast.Name))


def _assigned(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.Name, ast.expr]]:
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name() as target], value=value):
                yield target, value
