"""The syntax transformation behind ``merging``: where merging versions can stand in.

A variable that picks an element of a list is left alone: which element is no value to merge.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from proofs.source.objects.merging import ALL, AND, ANY, LEAST, MERGE, NOT, OR
from proofs.source.objects.storing import FRESH, GROWN
from proofs.source.syntax.breaking import Breaking
from proofs.source.syntax.computing import Loop, Reads, call, only_computes, thunk
from proofs.source.syntax.guarding import Guarding
from proofs.source.syntax.leaving import leaving_at_once
from proofs.source.syntax.reporting import FILLS, report_filled, summed
from proofs.source.walking import walk


class Merger(ast.NodeTransformer):
    """Rewrites the conditions and assignments that can be merged."""

    def __init__(self, sinks: Collection[str], sets: Collection[str] = ()) -> None:
        self._sinks, self._sets = sinks, sets
        self._bound: set[str] = set()
        self._picks: set[str] = set()
        """Variables of the function that stand in a subscript or a range."""
        self._reads: Reads | None = None
        self._function: ast.FunctionDef | None = None
        self._around: Loop | None = None
        """The innermost loop of the function around a statement."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer, self._bound = self._bound, {argument.arg for argument in node.args.args}
        picks, self._picks = self._picks, _picking(node)
        reads, self._reads = self._reads, Reads(node)
        function, self._function = self._function, node
        around, self._around = self._around, None
        node.body = [s for part in node.body for s in _listed(self.visit(part))]
        self._bound, self._picks, self._reads = outer, picks, reads
        self._function, self._around = function, around
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = self.visit(node.iter)
        node.body, node.orelse = self._loop(node, node.body), self._statements(node.orelse)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        picks = any(isinstance(t, ast.Name) and t.id in self._picks for t in node.targets)
        if picks and isinstance(node.value, ast.IfExp):
            value = node.value
            value.test = self._truth(value.test)
            value.body, value.orelse = self.visit(value.body), self.visit(value.orelse)
        else:
            self.generic_visit(node)
        match node:  # nobody else holds a list that was just made
            case ast.Assign(targets=[ast.Attribute()], value=ast.List(elts=[])):
                node.value = ast.copy_location(call(FRESH), node.value)
        self._bound |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and node.value is not None:
            self._bound.add(node.target.id)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        computes = all(map(only_computes, node.comparators))
        self.generic_visit(node)
        if len(node.ops) == 1 or not computes:
            return node
        operands = [node.left, *node.comparators]
        pairs: list[ast.expr] = [
            ast.Compare(left=left, ops=[op], comparators=[right])
            for left, op, right in zip(operands, node.ops, operands[1:], strict=False)
        ]
        return ast.copy_location(_joined(AND, pairs), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``min(x for x in items if c)`` with a default, where ``c`` only computes; some sums."""
        computes = _tests_only_compute(node)
        self.generic_visit(node)
        sum_of_free = summed(node, self._sets)
        if sum_of_free is not None:
            return sum_of_free
        match node:
            case ast.Call(
                func=ast.Name(id="min"),
                args=[
                    ast.GeneratorExp(
                        elt=ast.Name(id=item),
                        generators=[
                            ast.comprehension(
                                target=ast.Name(id=target), iter=items, ifs=[wanted], is_async=0
                            )
                        ],
                    )
                ],
                keywords=[ast.keyword(arg="default", value=default)],
            ) if item == target and computes:
                test = ast.Lambda(
                    args=ast.arguments(
                        posonlyargs=[],
                        args=[ast.arg(item)],
                        kwonlyargs=[],
                        kw_defaults=[],
                        defaults=[],
                    ),
                    body=wanted,
                )
                return ast.copy_location(call(LEAST, items, test, default), node)
        return node

    def _truth(self, test: ast.expr) -> ast.expr:
        """A test of which only the truth matters."""
        if isinstance(test, ast.BoolOp) and all(only_computes(v) for v in test.values):
            name = ALL if isinstance(test.op, ast.And) else ANY
            return ast.copy_location(_joined(name, [self._truth(v) for v in test.values]), test)
        visited: ast.expr = self.visit(test)
        return visited

    def visit_While(self, node: ast.While) -> ast.AST:
        asked = None
        if self._reads is not None:
            asked = leaving_at_once(node, self._reads, self._truth, self._statements)
        if asked is None:
            node.test = self._truth(node.test)
            node.body, node.orelse = self._loop(node, node.body), self._statements(node.orelse)
        else:
            first, rest = asked
            node.test = ast.copy_location(ast.Constant(True), node.test)
            node.body = [*first, *self._loop(node, rest)]
        return node

    def _loop(self, loop: Loop, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        if self._reads is None:
            return self._statements(body)
        first, rest = self._guarding(self._reads).tail_of(loop, body)
        around, self._around = self._around, loop
        made = [*self._statements(first), *rest]
        self._around = around
        return made

    def _guarding(self, reads: Reads) -> Guarding:
        return Guarding(reads, self.visit, self._truth)

    def _statements(self, statements: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Statements of a block: what is bound in it may not be bound behind it."""
        bound = set(self._bound)
        made = [s for part in statements for s in _listed(self.visit(part))]
        self._bound = bound
        return made

    def visit_Try(self, node: ast.Try) -> ast.AST:
        bound = set(self._bound)
        self.generic_visit(node)
        self._bound = bound
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Only methods: a lambda does not see the names of a class."""
        node.body = [
            self.visit(part) if isinstance(part, ast.FunctionDef) else part for part in node.body
        ]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        computes = all(only_computes(operand) for operand in node.values)
        self.generic_visit(node)
        if not computes:
            return node
        name = AND if isinstance(node.op, ast.And) else OR
        return ast.copy_location(_joined(name, node.values), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return ast.copy_location(call(NOT, node.operand), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        computes = only_computes(node.body) and only_computes(node.orelse)
        node.test = self._truth(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        if not computes:
            return node
        return ast.copy_location(call(MERGE, node.test, thunk(node.body), thunk(node.orelse)), node)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        filled = report_filled(node, self._sets, self._function)
        if filled is not None:
            return filled
        if not node.orelse and only_computes(node.test):
            if all(self._fills_sink(statement) for statement in node.body):
                return ast.copy_location(ast.Pass(), node)
            merged = self._one_assignment(node)
            if merged is not None:
                return merged
            guarded = None if self._reads is None else self._guarding(self._reads).body_of(node)
            if guarded is not None:
                return guarded
            broken = self._breaking(node)
            if broken is not None:
                return broken
        node.test = self._truth(node.test)
        node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
        return node

    def _breaking(self, node: ast.If) -> list[ast.stmt] | None:
        if self._reads is None or self._around is None:
            return None
        bound = self._bound - self._picks
        return Breaking(self._around, self._reads, bound, self.visit, self._truth).instead_of(node)

    def _one_assignment(self, node: ast.If) -> ast.AST | None:
        """``if c: x = e`` with ``x`` bound before, as ``x = e if c else x``."""
        if len(node.body) != 1:
            return None
        (statement,) = node.body
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add | ast.Sub):
            target, value = statement.target, statement.value
        else:
            return None
        if not isinstance(target, ast.Name) or target.id not in self._bound - self._picks:
            return None
        if not only_computes(value):
            return None
        old = ast.Name(target.id, ast.Load())
        test, value = self._truth(node.test), self.visit(value)
        if isinstance(statement, ast.AugAssign):
            symbol = ast.Constant("+" if isinstance(statement.op, ast.Add) else "-")
            grown = call(GROWN, test, symbol, thunk(old), thunk(value))
            return ast.copy_location(ast.Assign([ast.Name(target.id, ast.Store())], grown), node)
        merged = ast.Assign([target], call(MERGE, test, thunk(value), thunk(old)))
        return ast.copy_location(merged, statement)

    def _fills_sink(self, statement: ast.stmt) -> bool:
        """``self.<sink>.add(...)`` or another call on a set that feeds nothing."""
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            return False
        function, arguments = statement.value.func, statement.value.args
        return (
            isinstance(function, ast.Attribute)
            and function.attr in FILLS
            and not statement.value.keywords
            and all(map(only_computes, arguments))
            and isinstance(function.value, ast.Attribute)
            and isinstance(function.value.value, ast.Name)
            and function.value.value.id == "self"
            and function.value.attr in self._sinks
        )


def _picking(function: ast.FunctionDef) -> set[str]:
    """Names that stand in a subscript or a range somewhere in a function."""
    found: set[str] = set()
    for node in walk(function):
        places: list[ast.expr] = []
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            places = [node.slice]
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "range"
        ):
            places = list(node.args)
        found |= {n.id for place in places for n in walk(place) if isinstance(n, ast.Name)}
    return found


def _tests_only_compute(call: ast.Call) -> bool:
    """Whether the generators among the arguments leave out items by computing alone."""
    generators = [part for part in call.args if isinstance(part, ast.GeneratorExp)]
    tests = [test for made in generators for part in made.generators for test in part.ifs]
    return all(map(only_computes, tests))


def _listed(made: Any) -> list[ast.stmt]:
    return made if isinstance(made, list) else [made]


def _joined(name: str, operands: list[ast.expr]) -> ast.expr:
    result = operands[-1]
    for operand in reversed(operands[:-1]):
        result = ast.copy_location(call(name, operand, thunk(result)), operand)
    return result
