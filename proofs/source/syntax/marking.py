"""Which statements of a text some run has executed: marks in what is compiled.

A mark stands where something may be left out: at the beginning of a block, behind a statement that
holds blocks (it may have left them), and in what is evaluated later (a lambda, of which the blocks
that `merger` computes ahead are made).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

MARK = "_mark__"
Place = tuple[str, int, int]
"""A file, and the line and column where something in it begins."""


class Marks:
    """The marks of one text."""

    def __init__(self) -> None:
        self._passed: set[int] = set()
        self._places: list[list[Place]] = []
        """Of each mark: all that is executed where it is passed."""

    @property
    def function(self) -> Callable[[int], None]:
        """What the text calls `MARK`."""
        return self._passed.add

    def put_into(self, tree: ast.Module, file: str) -> ast.Module:
        """The tree to compile, with marks in its functions."""
        marked: ast.Module = _Marking(self, file).visit(tree)
        return ast.fix_missing_locations(marked)

    def new(self) -> tuple[ast.expr, list[Place]]:
        """A further mark, and where to note what it stands for."""
        self._places.append([])
        mark = ast.Constant(len(self._places) - 1)
        return ast.Call(ast.Name(MARK, ast.Load()), [mark], []), self._places[-1]

    def passed(self) -> frozenset[Place]:
        """Where everything begins that was executed."""
        return frozenset(place for mark in self._passed for place in self._places[mark])


class _Marking(ast.NodeTransformer):
    def __init__(self, marks: Marks, file: str) -> None:
        self._marks, self._file = marks, file

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = self._block(node.body, [(self._file, node.lineno, node.col_offset)])
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        mark, places = self._marks.new()
        places += self._inside(node.body)
        body = self.visit(node.body)
        node.body = ast.copy_location(ast.BoolOp(ast.Or(), [mark, body]), body)  # a mark says None
        return node

    def _block(
        self, statements: Iterable[ast.stmt], places: Iterable[Place] = ()
    ) -> list[ast.stmt]:
        """A block with its marks.

        Args:
            places: what else is executed where the block is.
        """
        made: list[ast.stmt] = []
        noted: list[Place] | None = None
        for statement in statements:
            if noted is None:
                mark, noted = self._marks.new()
                made.append(ast.copy_location(ast.Expr(mark), statement))
                noted += places
            noted += self._told(statement)
            made.append(self._deeper(statement))
            if isinstance(statement, ast.If | ast.For | ast.While | ast.With | ast.Try):
                noted = None
        return made

    def _deeper(self, node: ast.stmt) -> ast.stmt:
        """A statement with marks in its own blocks and in its lambdas."""
        match node:
            case ast.If() | ast.While():
                node.test = self.visit(node.test)
            case ast.For():
                node.iter = self.visit(node.iter)
            case ast.With():
                node.items = [self.visit(item) for item in node.items]
            case ast.Try():
                node.finalbody = self._block(node.finalbody)
                for handler in node.handlers:
                    handler.body = self._block(handler.body)
            case _:
                return self.visit(node)  # type: ignore[no-any-return]
        node.body = self._block(node.body)
        if not isinstance(node, ast.With):
            node.orelse = self._block(node.orelse)
        return node

    def _told(self, node: ast.stmt) -> Iterator[Place]:
        """What of a statement is executed wherever it stands, blocks and lambdas left out."""
        match node:
            case ast.If() | ast.While():
                yield from self._inside(node.test)
            case ast.For():
                yield from self._inside(node.iter)
            case ast.With():
                for item in node.items:
                    yield from self._inside(item.context_expr)
            case ast.Try() | ast.FunctionDef():
                pass
            case _:
                yield from self._inside(node)

    def _inside(self, node: ast.AST) -> Iterator[Place]:
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, ast.expr | ast.stmt):
            yield self._file, node.lineno, node.col_offset
        for inner in ast.iter_child_nodes(node):
            yield from self._inside(inner)
