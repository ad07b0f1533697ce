"""Annotations: Python may evaluate one where it is written, and a check never does.

So one may name types and do no more.  Names, attributes and subscripts of what is imported, built
in or a class, literals, and ``|`` between such: to look these up changes nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from proofs.source.names import listed
from proofs.source.walking import walk

WHY = "contains an annotation that does more than name a type"
MAY_FAIL = "contains an annotation that may fail while a function runs"
_ACTS = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def refusals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and reason of each annotation that may act where Python evaluates it."""
    deferred = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in tree.body
    )
    own = _own(tree)
    for annotation, when in _annotations(tree, _LOADING):
        if any(isinstance(part, _ACTS) for part in walk(annotation)):
            yield annotation.lineno, WHY
        elif when != _NEVER and not deferred:
            if not _names_a_type(annotation, own):
                yield annotation.lineno, WHY
            elif when == _RUNNING and not _cannot_fail(annotation, own):
                yield annotation.lineno, MAY_FAIL


_NEVER, _LOADING, _RUNNING = range(3)
"""When an annotation is evaluated, if nothing defers it."""


@dataclass(frozen=True, slots=True)
class _Own:
    """What a text calls by names of its own."""

    values: frozenset[str]
    classes: frozenset[str]
    bound: frozenset[str]
    """Classes and imports at the top of the file: they are there once it is loaded."""


def _own(tree: ast.Module) -> _Own:
    return _Own(frozenset(_values(tree)), frozenset(_classes(tree)), frozenset(_bound(tree)))


def cannot_fail(node: ast.expr, tree: ast.Module) -> bool:
    """Whether an expression names a type wherever it stands in a text, and does no more."""
    own = _own(tree)
    names = {part.id for part in walk(node) if isinstance(part, ast.Name)}
    return not names & own.values and _names_a_type(node, own) and _cannot_fail(node, own)


def _values(tree: ast.Module) -> Iterator[str]:
    """Names the text gives to values."""
    for node in walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.ExceptHandler(name=str(name)):
                yield name


def _classes(tree: ast.Module) -> Iterator[str]:
    return (node.name for node in walk(tree) if isinstance(node, ast.ClassDef))


def _bound(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)


def _annotations(node: ast.AST, scope: int) -> Iterator[tuple[ast.expr, int]]:
    """Each annotation, and when it is evaluated.

    Args:
        scope: when what stands in this place is run; below a function nothing is for its variables.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            arguments = [a for a in walk(child.args) if isinstance(a, ast.arg)]
            given = (*(a.annotation for a in arguments), child.returns)
            when = _LOADING if scope == _LOADING else _RUNNING
            yield from ((annotation, when) for annotation in given if annotation is not None)
            yield from _annotations(child, _NEVER)
        elif isinstance(child, ast.ClassDef):
            yield from _annotations(child, _LOADING if scope == _LOADING else _RUNNING)
        else:
            if isinstance(child, ast.AnnAssign):
                yield child.annotation, scope
            yield from _annotations(child, scope)


def _names_a_type(node: ast.expr, own: _Own) -> bool:
    """Whether evaluating an annotation looks up types and does no more."""
    match node:
        case ast.Name() | ast.Constant() | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return True
        case ast.Attribute(value=value):
            return _is_found(value, own)
        case ast.Subscript(value=value, slice=part):
            return _is_found(value, own) and _names_a_type(part, own)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _names_a_type(left, own) and _names_a_type(right, own)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(_names_a_type(part, own) for part in parts)
    return False


def _is_found(node: ast.expr, own: _Own) -> bool:
    """Whether it is a class, or something imported or built in, or a part of that."""
    match node:
        case ast.Name(id=name):
            return name not in own.values
        case ast.Attribute(value=value):  # what a class of the text holds may be anything
            return _is_found(value, replace(own, values=own.values | own.classes))
    return False


def _cannot_fail(node: ast.expr, own: _Own) -> bool:
    """Whether evaluating it in a function raises nothing: somebody might catch that."""
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name in own.bound or name in _TYPES
        case ast.Subscript(value=ast.Name(id=name), slice=part):
            return name in _GENERIC and name not in own.values and _cannot_fail(part, own)
        case ast.BinOp(left=left, right=right):
            plain = not any(isinstance(side, ast.Constant) and side.value for side in (left, right))
            return plain and _cannot_fail(left, own) and _cannot_fail(right, own)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(_cannot_fail(part, own) for part in parts)
    return False


_GENERIC = listed("list dict set frozenset tuple")
_TYPES = _GENERIC | listed("int float bool str bytes object")
