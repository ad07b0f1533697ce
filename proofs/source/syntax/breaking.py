"""An ``if`` that only sets names, and may break out of its loop: nothing but the break is decided.

``if c: x = e; if d: break; y = f`` asks for ``c`` and then for ``d``, and all that follows runs for
each answer.  Here the names get merged values and stay open; asked is only whether the loop is
left, which is where the ways part.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from proofs.source.objects.merging import ALL, MERGE, TRUTH
from proofs.source.objects.storing import AHEAD
from proofs.source.syntax.computing import Loop, Reads, call, only_computes, thunk
from proofs.source.syntax.guarding import HOLDS
from proofs.source.walking import walk

Visit = Callable[[ast.expr], ast.expr]


@dataclass(frozen=True, slots=True)
class Breaking:
    """Rewrites such a statement.

    Args:
        loop: the innermost loop around it.
        reads: who reads which name in the function.
        bound: names that hold something in front of it, and whose values may be merged.
        visit: what merges inside an expression.
        truth: the same, where only the truth of the expression matters.
    """

    loop: Loop
    reads: Reads
    bound: Collection[str]
    visit: Visit
    truth: Visit

    def instead_of(self, node: ast.If) -> list[ast.stmt] | None:
        """What replaces it; None where it does more."""
        leaves = any(isinstance(inner, ast.Break) for inner in walk(node))
        if not leaves or node.orelse or not only_computes(node.test):
            return None
        if not self._fit(node, node.body):
            return None
        asked = call(TRUTH, self.truth(copy.deepcopy(node.test)))
        return [_set(node, _holds(0), asked), *self._under(0, node.body)]

    def _fit(self, node: ast.If, body: Iterable[ast.stmt]) -> bool:
        return all(self._fits(node, statement) for statement in body)

    def _fits(self, node: ast.If, statement: ast.stmt) -> bool:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                own = self.reads.are_within(name, node.body, self.loop, once=True)
                return only_computes(value) and (name in self.bound or own)
            case ast.If(test=test, body=[ast.Break()], orelse=[]):
                return only_computes(test)
            case ast.If(test=test, body=body, orelse=[]):
                return only_computes(test) and self._fit(node, body)
        return False

    def _under(self, level: int, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Statements that run where the condition of this level holds."""
        made: list[ast.stmt] = []
        for statement in body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    new = self._value(_loaded(_holds(level)), name, value)
                    made.append(_set(statement, name, new))
                case ast.If(test=test, body=inner):
                    both = self._both(level, test)
                    if isinstance(inner[0], ast.Break):
                        made.append(ast.copy_location(ast.If(both, inner, []), statement))
                    else:
                        made.append(_set(statement, _holds(level + 1), both))
                        made += self._under(level + 1, inner)
        return made

    def _value(self, holds: ast.expr, name: str, value: ast.expr) -> ast.expr:
        """What a name holds afterwards; one that nobody else reads, whatever the condition."""
        new = thunk(self.visit(copy.deepcopy(value)))
        if name in self.bound:
            return call(MERGE, holds, new, thunk(ast.copy_location(_loaded(name), value)))
        return call(AHEAD, holds, new, copy.deepcopy(new))

    def _both(self, level: int, test: ast.expr) -> ast.expr:
        return call(ALL, _loaded(_holds(level)), thunk(self.truth(copy.deepcopy(test))))


def _holds(level: int) -> str:
    return HOLDS.format(level)


def _loaded(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _set(at: ast.stmt, name: str, value: ast.expr) -> ast.stmt:
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), at)
