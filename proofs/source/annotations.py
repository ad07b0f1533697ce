"""Annotations: Python may evaluate one where it is written, and a check never does.

So one may name types and do no more.  Names, attributes and subscripts of what is imported, built
in or a class, literals, and ``|`` between such: to look these up changes nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

WHY = "contains an annotation that does more than name a type"
_ACTS = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def refusals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and reason of each annotation that may act where Python evaluates it."""
    deferred = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in tree.body
    )
    own = _Own(frozenset(_values(tree)), frozenset(_classes(tree)))
    for annotation, is_evaluated in _annotations(tree, False):
        acts = any(isinstance(part, _ACTS) for part in ast.walk(annotation))
        if acts or (is_evaluated and not deferred and not _names_a_type(annotation, own)):
            yield annotation.lineno, WHY


@dataclass(frozen=True, slots=True)
class _Own:
    """What a text calls by names of its own."""

    values: frozenset[str]
    classes: frozenset[str]


def _values(tree: ast.Module) -> Iterator[str]:
    """Names the text gives to values."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.ExceptHandler(name=str(name)):
                yield name


def _classes(tree: ast.Module) -> Iterator[str]:
    return (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def _annotations(node: ast.AST, in_function: bool) -> Iterator[tuple[ast.expr, bool]]:
    """Each annotation, and whether it is evaluated if nothing defers it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.AnnAssign):
            yield child.annotation, not in_function
        elif isinstance(child, ast.arg) and child.annotation is not None:
            yield child.annotation, True
        elif isinstance(child, ast.FunctionDef) and child.returns is not None:
            yield child.returns, True
        inside = isinstance(child, ast.FunctionDef) or (
            in_function and not isinstance(child, ast.ClassDef)
        )
        yield from _annotations(child, inside)


def _names_a_type(node: ast.expr, own: _Own) -> bool:
    """Whether evaluating an annotation looks up types and does no more."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=value):
            return _is_found(value, own)
        case ast.Subscript(value=value, slice=part):
            return _is_found(value, own) and _names_a_type(part, own)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _names_a_type(left, own) and _names_a_type(right, own)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(_names_a_type(part, own) for part in parts)
        case ast.Starred(value=value) | ast.UnaryOp(op=ast.USub(), operand=value):
            return _names_a_type(value, own)
    return False


def _is_found(node: ast.expr, own: _Own) -> bool:
    """Whether it is a class, or something imported or built in, or a part of that."""
    match node:
        case ast.Name(id=name):
            return name not in own.values
        case ast.Attribute(value=value):  # what a class of the text holds may be anything
            return _is_found(value, _Own(own.values | own.classes, own.classes))
    return False
