"""The numbers of a loop: what it counts its turns with, and what it adds up.

A *counter* begins at 0 and goes up by 1.  A *sum* grows by whatever is added, and is handed back;
nobody looks at it before.
"""

from __future__ import annotations

import ast

SUMS = (ast.Add, ast.BitOr, ast.BitAnd)
Told = tuple[int, str]
"""A line, and what is not allowed there."""


def counters(definition: ast.FunctionDef) -> set[str]:
    """Names, and the index of a step, that begin at 0 and go up by 1, and are nothing else."""
    every = list(ast.walk(definition))
    stored = [ast.unparse(node) for node in every if is_stored(node)]
    begins, goes_up = list[str](), list[str]()
    for node in every:
        match node:
            case ast.Assign(targets=[target], value=ast.Constant(value=0)):
                begins.append(ast.unparse(target))
            case ast.AugAssign(target=target, op=ast.Add(), value=ast.Constant(value=1)):
                goes_up.append(ast.unparse(target))
    return {
        name
        for name in goes_up
        if stored.count(name) == begins.count(name) + goes_up.count(name)
        and (name.isidentifier() or name.endswith(".index"))
    }


def sums(definition: ast.FunctionDef) -> set[str]:
    """Names that begin at 0, False or True, to which more is added, and that are handed back."""
    every = list(ast.walk(definition))
    begins, grows, back = list[str](), list[str](), list[str]()
    for node in every:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=0 | 1)):
                begins.append(name)
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=same), op=op)
            ) if name == same and isinstance(op, SUMS):
                grows.append(name)
            case ast.Return(value=ast.Name(id=name)):
                back.append(name)
    uses = [node.id for node in every if isinstance(node, ast.Name)]
    return {
        name
        for name in grows
        if uses.count(name) == begins.count(name) + 2 * grows.count(name) + back.count(name)
    }


def told(node: ast.AST, what: str = "") -> Told:
    """Something that is not allowed; as a rule the code says it."""
    return getattr(node, "lineno", 0), what or ast.unparse(node).splitlines()[0][:60]


def is_stored(node: ast.AST) -> bool:
    """Whether a name, or a part of something, is given a value here, or loses it."""
    return isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
