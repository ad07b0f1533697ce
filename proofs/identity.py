"""What answers otherwise of a prover's number than of the number it stands for.

Two numbers that are equal need not be one object, and a symbol never is another; ``~`` denies a
symbol's truth, and is arithmetic on ``True``; a class can say when its objects are equal, and two
members of an enumeration that have one value are one member.  Code of the model that asks such a
thing does one thing in a proof and another in an engine, so it leaves all undecided.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import pairwise
from typing import Any

from proofs.known_fields import KNOWN

OBJECTS = frozenset(kind.__name__ for kind in KNOWN)
"""Classes whose objects may be told apart by ``is``: a parameter so annotated is no number."""
QUEUES = frozenset({"running", "waiting", "kv_holding_waiting", "finished"})
"""Attributes of a scheduler that are lists."""
METHODS = frozenset({"__init__", "__post_init__", "__repr__"})
"""Of the interpreter's own, those a class may define: no comparison asks one."""
TELLS_APART = "spec.logic"
"""The module that brings symbols and numbers together."""


def asks_identity(tree: ast.Module, names: Mapping[str, Any]) -> Iterator[str]:
    """What a module asks or defines of this kind, as it is written.

    Args:
        tree: its text.
        names: what its names stand for.
    """
    yield from _aliases(names)
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) if name.startswith("__") and name not in METHODS:
                yield f"a {name} of its own"
            case ast.UnaryOp(op=ast.Invert()) | ast.MatchSingleton():
                yield ast.unparse(node)
    yield from _compared(tree, names, frozenset())


def _aliases(names: Mapping[str, Any]) -> Iterator[str]:
    """Members of an enumeration that are another one under a second name."""
    home = names.get("__name__")
    for name, kind in names.items():
        if isinstance(kind, type) and issubclass(kind, Enum) and kind.__module__ == home:
            for alias, member in kind.__members__.items():
                if alias != member.name:
                    yield f"{name}.{alias} for {name}.{member.name}"


def _compared(
    node: ast.AST, constants: Mapping[str, Any], objects: frozenset[str]
) -> Iterator[str]:
    """Comparisons by ``is`` of what may be two numbers."""
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        arguments = [n for n in ast.walk(node.args) if isinstance(n, ast.arg)]
        names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
        stored = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        own = {a.arg for a in arguments if a.annotation and ast.unparse(a.annotation) in OBJECTS}
        bound = stored.union(a.arg for a in arguments)
        objects = (objects - bound) | (own - stored)
        constants = {name: value for name, value in constants.items() if name not in bound}
    if isinstance(node, ast.Compare):
        sides = pairwise([node.left, *node.comparators])
        for op, (left, right) in zip(node.ops, sides, strict=True):
            if isinstance(op, ast.Is | ast.IsNot) and not (
                _is_object(left, constants, objects) or _is_object(right, constants, objects)
            ):
                yield ast.unparse(node)
    for child in ast.iter_child_nodes(node):
        yield from _compared(child, constants, objects)


def _is_object(side: ast.expr, constants: Mapping[str, Any], objects: frozenset[str]) -> bool:
    """Whether a side of a comparison is certainly no number."""
    match side:
        case ast.Constant(value=None):
            return True
        case ast.Attribute(value=ast.Name(id="self"), attr=attr) if attr in QUEUES:
            return True
        case ast.Attribute(value=ast.Name(id=owner), attr=attr):
            return isinstance(getattr(constants.get(owner), attr, None), Enum)
        case ast.Name(id=name):
            return name in objects or isinstance(constants.get(name), str)
    return False
