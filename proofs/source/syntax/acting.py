"""What in a text acts where it looks like a mere computation.

Merging computes conditions and values ahead of the decision whether the text would.  That is
harmless as long as names, attributes, comparisons, ``len`` and ``bool`` only compute.  A property
may do more, and so may the methods by which a class of the text answers to operators.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence

from proofs.source.syntax.computing import call, only_computes
from proofs.source.walking import walk

READ = "_read__"
_PROPERTIES = ("property", "cached_property")
_OPERATORS = frozenset({"__bool__", "__len__", "__lt__"})
_BUILTINS = frozenset({"len", "bool", "min"})
"""What `only_computes` and the merger take for the builtins they are called."""


def acting_properties(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names of properties that do more than compute, or rest on one that does.

    One that is remembered does: it keeps what it computed.  What any other decorator makes may be
    a property that does.
    """
    bodies: dict[str, list[ast.expr | None]] = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and not all(map(_is_method, node.decorator_list)):
            plain = all(map(_is_property, node.decorator_list))
            bodies.setdefault(node.name, []).append(_computed(node) if plain else None)
    acting: set[str] = set()
    while True:
        more = {
            name
            for name, values in bodies.items()
            if any(value is None or _mentions(value, acting) for value in values)
        }
        if more <= acting:
            return frozenset(acting)
        acting |= more


def may_compute_ahead(nodes: Iterable[ast.AST]) -> bool:
    """Whether operators, builtins and properties mean in these texts what they mean elsewhere."""
    nodes = list(nodes)
    decorators = {
        id(part)
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        for part in walk(decorator)
    }
    return not any(_redefines(node, id(node) in decorators) for node in nodes)


def _redefines(node: ast.AST, decorates: bool) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _PROPERTIES:
            return not decorates  # a property under a name that nobody follows
        case ast.alias(name=name, asname=str()) if name in _PROPERTIES:
            return True
        case ast.FunctionDef(name=name) if name in _OPERATORS:
            return _computed(node) is None
    return bound_by(node) in _BUILTINS


def bound_by(node: ast.AST) -> str | None:
    """The name a node binds, if it binds one."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
            return name
        case ast.Name(id=name, ctx=ast.Store()):
            return name
        case ast.alias():
            return node.asname or node.name
    return None


def _is_property(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id == "property"


def _is_method(decorator: ast.expr) -> bool:
    """Whether what it makes is read like any method, so that reading it does nothing."""
    return isinstance(decorator, ast.Name) and decorator.id in ("staticmethod", "classmethod")


def _computed(function: ast.FunctionDef) -> ast.expr | None:
    """What a function of one statement returns, if that only computes."""
    body: Sequence[ast.stmt] = function.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    match body:
        case [ast.Return(value=ast.expr() as value)] if only_computes(value):
            return value
    return None


def _mentions(value: ast.expr, names: Iterable[str]) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr in names for n in walk(value))


class Acting(ast.NodeTransformer):
    """A property that acts is read by a call, for it is one."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr in self._names and isinstance(node.ctx, ast.Load):
            return ast.copy_location(call(READ, node.value, ast.Constant(node.attr)), node)
        return node
