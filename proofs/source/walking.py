"""Walks over syntax trees that take a fifth of the time of Python's own."""

from __future__ import annotations

import ast
from functools import cache
from typing import TypeVar

T = TypeVar("T", bound=ast.AST)
_PLAIN = frozenset(
    {"arg", "asname", "attr", "conversion", "id", "is_async", "kind", "level", "module", "simple"}
    | {"type_comment", "ctx"}
)
"""Fields that never hold a node, and the context of a name, of which there is one for all."""


def walk(tree: ast.AST) -> list[ast.AST]:
    """A node and all below it in the order of `ast.walk`, but for contexts (`Load`, `Store`)."""
    found = [tree]
    for node in found:
        held, kind = node.__dict__, type(node)
        for name in _fields(kind):  # type: ignore[arg-type]  # mypy takes a class for its objects
            value = held.get(name)
            if type(value) is list:
                found += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def located(tree: T) -> T:
    """The tree, its nodes without a place of their own at that of the one above.

    As `ast.fix_missing_locations`.
    """
    open_: list[tuple[ast.AST, tuple[int, int, int, int]]] = [(tree, (1, 0, 1, 0))]
    while open_:
        node, at = open_.pop()
        held, kind = node.__dict__, type(node)
        if node._attributes:
            own = tuple(map(held.get, _PLACE))
            if None in own:
                own = tuple(o if mine is None else mine for mine, o in zip(own, at, strict=True))
                held.update(zip(_PLACE, own, strict=True))
            at = own  # type: ignore[assignment]
        for name in _fields(kind):  # type: ignore[arg-type]
            value = held.get(name)
            if type(value) is list:
                open_ += [(part, at) for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST):
                open_.append((value, at))
    return tree


_PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")


@cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node that may hold nodes."""
    known = () if kind is ast.Constant else kind._fields
    return tuple(name for name in known if name not in _PLAIN)
