"""A loop's test and the breaks that follow it at once, as one question.

``while t: x = e; if c: break; if d: break; ...`` asks three times where all three lead to the same
place.  Under symbolic values it is asked once whether the loop is left; on integers the text runs
as it stands, so that a replay sees the line that left it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence

from proofs.source.objects.merging import LEAVES, NOT
from proofs.source.syntax.computing import Reads, call, only_computes, thunk

ANSWER = "leaves__"
"""Variable that holds the answer; a text cannot use two underscores."""

Visit = Callable[[ast.expr], ast.expr]
Statements = Callable[[Sequence[ast.stmt]], list[ast.stmt]]


def leaving_at_once(
    loop: ast.While, reads: Reads, truth: Visit, statements: Statements
) -> tuple[list[ast.stmt], Sequence[ast.stmt]] | None:
    """What replaces a loop's test and its first breaks, under ``while True``, and the rest.

    Args:
        loop: the loop as it stands in the text.
        reads: who reads which name in the function.
        truth: what merges inside an expression of which only the truth matters.
        statements: what merges inside statements.
    """
    end, tests = _first_breaks(loop, reads)
    if not tests or loop.orelse or not only_computes(loop.test):
        return None
    held = _Values()
    asked: list[ast.expr] = [thunk(truth(copy.deepcopy(loop.test)))]
    exits = ast.copy_location(call(NOT, truth(copy.deepcopy(loop.test))), loop.test)
    original: list[ast.stmt] = [ast.copy_location(ast.If(exits, [_leave(loop.test)], []), loop)]
    stayed: list[ast.stmt] = []
    for statement in loop.body[:end]:
        original += statements([copy.deepcopy(statement)])
        if isinstance(statement, ast.If) and statement in tests:
            asked.append(thunk(truth(held.put_into(statement.test))))
        else:
            held.set_by(statement)
            stayed += statements([copy.deepcopy(statement)])
    answer = ast.Name(ANSWER, ast.Load())
    as_it_stands = ast.Compare(answer, [ast.Is()], [ast.Constant(None)])
    decided = [ast.If(answer, [_leave(loop.test)], []), *stayed]
    question: list[ast.stmt] = [
        ast.Assign([ast.Name(ANSWER, ast.Store())], call(LEAVES, *asked)),
        ast.If(as_it_stands, original, decided),
    ]
    return [ast.copy_location(new, loop.test) for new in question], loop.body[end:]


class _Values(ast.NodeTransformer):
    """What the names hold that are set on the way to a test, put in their place.

    A test is asked before anything is set: where the loop is left, nobody reads the names.
    """

    def __init__(self) -> None:
        self._held: dict[str, ast.expr] = {}

    def put_into(self, value: ast.expr) -> ast.expr:
        """The expression with the values in the place of the names."""
        put: ast.expr = self.visit(copy.deepcopy(value))
        return put

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self._held.get(node.id, node))

    def set_by(self, statement: ast.stmt) -> None:
        """What a statement sets; on one side of a test, what was held before remains."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._held[name] = self.put_into(value)
            case ast.If(test=test, body=body):
                before, asked = dict(self._held), self.put_into(test)
                for inner in body:
                    self.set_by(inner)
                for name, value in self._held.items():
                    old = before.get(name, ast.Name(name, ast.Load()))
                    if value is not old:
                        chosen = ast.IfExp(copy.deepcopy(asked), value, copy.deepcopy(old))
                        self._held[name] = ast.copy_location(chosen, test)


def _leave(at: ast.AST) -> ast.stmt:
    return ast.copy_location(ast.Break(), at)


def _first_breaks(loop: ast.While, reads: Reads) -> tuple[int, list[ast.If]]:
    """Where the breaks at the loop's beginning end, and those breaks.

    Between them stand assignments of names that only the loop reads: what they hold once the loop
    is left makes no difference.
    """
    end, tests = 0, []
    for position, statement in enumerate(loop.body):
        match statement:
            case ast.If(test=test, body=[ast.Break()], orelse=[]) if only_computes(test):
                end = position + 1
                tests.append(statement)
            case _ if not _only_names(statement, loop, reads):
                break
    return end, tests


def _only_names(statement: ast.stmt, loop: ast.While, reads: Reads) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return only_computes(value) and reads.are_within(name, loop.body, loop, once=False)
        case ast.If(test=test, body=inner, orelse=[]):
            return only_computes(test) and all(_only_names(s, loop, reads) for s in inner)
    return False
