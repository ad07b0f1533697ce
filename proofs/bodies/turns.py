"""What a loop keeps from one turn to the next: counters and sums (``numbers``), and nothing else.

A loop that remembers could do something else in its fourth turn than in its third, whatever the
three requests of a script have shown.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from types import FunctionType
from typing import Any

from proofs.bodies.numbers import Told, is_stored, told

Loop = ast.While | ast.For
MAKERS = (
    *(ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp),
    *(ast.Lambda, ast.FunctionDef, ast.Yield, ast.YieldFrom),
)
"""Code that makes something in which one turn could leave a note for the next."""


def carried(definition: ast.FunctionDef, besides: Collection[str]) -> list[Told]:
    """The names whose values a turn of some loop finds as an earlier turn left them."""
    return [each for loop in _loops(definition) for each in _Turn(loop, besides).told]


def notes(definition: ast.FunctionDef, known: Mapping[str, Any]) -> list[Told]:
    """Where a turn of a loop could leave a note for the next but in a name.

    For functions that bodies prove for any values: they may count, but not their turns.
    """
    loops = _loops(definition)
    given = {node.arg for node in ast.walk(definition.args) if isinstance(node, ast.arg)}
    made = [
        node
        for statement in (definition.body if loops else ())
        for node in ast.walk(statement)
        if isinstance(node, MAKERS)
        or (isinstance(node, ast.Call) and not _is_of_the_model(node.func, given, known))
    ]
    left = [
        node
        for loop in loops
        for node in ast.walk(loop)
        if is_stored(node) and isinstance(node, (ast.Attribute, ast.Subscript))
    ]
    return [told(node) for node in (*made, *left)]


def _loops(definition: ast.FunctionDef) -> list[Loop]:
    return [node for node in ast.walk(definition) if isinstance(node, Loop)]


def _is_of_the_model(called: ast.expr, given: Collection[str], known: Mapping[str, Any]) -> bool:
    """A function, or something that can be reached from what the function is given."""
    if isinstance(called, ast.Name):
        return called.id not in given and isinstance(known.get(called.id), FunctionType)
    while isinstance(called, ast.Attribute):
        called = called.value
    return isinstance(called, ast.Name) and called.id in given


class _Turn:
    """One turn of a loop: what it reads before it has set it itself.

    Args:
        loop: how it is written.
        besides: names that may be kept.
    """

    def __init__(self, loop: Loop, besides: Collection[str]) -> None:
        self.told: list[Told] = []
        inner = {part for node in ast.walk(loop) for part in _inner(node)}
        stores = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and is_stored(n)]
        self.kept = {node.id for node in stores if node not in inner} - set(besides)
        if isinstance(loop, ast.For):
            self._block(loop.body, _names(loop.target))
        else:
            self._read(loop.test, set())
            self._block(loop.body, set())

    def _block(self, statements: Iterable[ast.stmt], fresh: set[str]) -> None:
        for statement in statements:
            match statement:
                case ast.If(test=test, body=body, orelse=other):
                    self._read(test, fresh)
                case ast.While(test=test, body=body, orelse=other):
                    self._read(test, fresh)
                case ast.For(iter=source, body=body, orelse=other):
                    self._read(source, fresh)
                    self._block(other, fresh)
                    self._block(body, fresh | _names(statement.target))
                    continue
                case ast.Assign(targets=targets):
                    self._read(statement, fresh)
                    fresh = fresh.union(*map(_names, targets))
                    continue
                case _:
                    self._read(statement, fresh)
                    continue
            self._block(body, fresh)
            self._block(other, fresh)

    def _read(self, part: ast.AST, fresh: set[str]) -> None:
        updates = {node.target for node in ast.walk(part) if isinstance(node, ast.AugAssign)}
        for node in ast.walk(part):
            reads = node in updates or not is_stored(node)
            if isinstance(node, ast.Name) and reads and node.id in self.kept - fresh:
                self.told.append(told(node, f"a turn finds {node.id} as another left it"))


def _names(target: ast.expr) -> set[str]:
    """Names that are set; a name that only says where something is stored is none."""
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name) and is_stored(node)}


def _inner(node: ast.AST) -> list[ast.AST]:
    """Names of a comprehension: nobody else sees them."""
    return list(ast.walk(node.target)) if isinstance(node, ast.comprehension) else []
