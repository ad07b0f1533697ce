"""``try: import x`` at the top of a file, ``except ImportError: x = None``: which of the two?

If all that is imported is known to be there, the import succeeds.  If a handler only raises, it
must, for the file to load.  Otherwise each name that either side binds is one that nobody knows,
until a row says what it is: it is undecided where it is used, and nothing else is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TypeGuard

from proofs.source.walking import walk

MODULE = "an optional import"
"""Where such names come from; no module is called that."""
_Import = ast.Import | ast.ImportFrom


def settled(tree: ast.Module, is_certain: Callable[[_Import], bool]) -> ast.Module:
    """The tree with what is known of its optional imports; it is changed.

    Args:
        is_certain: whether all that a statement imports is known to be there.
    """
    made: list[ast.stmt] = []
    for node in tree.body:
        made += _statements(node, is_certain) if _is_optional(node) else [node]
    tree.body = made
    return ast.fix_missing_locations(tree)


def _statements(node: ast.Try, is_certain: Callable[[_Import], bool]) -> list[ast.stmt]:
    imports = [part for part in node.body if isinstance(part, _Import)]
    if all(map(is_certain, imports)) or all(_raises(handler) for handler in node.handlers):
        return [*node.body, *node.orelse]
    bodies = [node.body, *(handler.body for handler in node.handlers), node.orelse]
    names = dict.fromkeys(name for body in bodies for name in _bound(body))
    aliases = [ast.alias(name) for name in names]
    asked: ast.stmt = ast.ImportFrom(MODULE, aliases, 0) if aliases else ast.Pass()
    return [ast.copy_location(asked, node)]


def _is_optional(node: ast.stmt) -> TypeGuard[ast.Try]:
    """Whether it does nothing but import and bind names."""
    if not isinstance(node, ast.Try) or node.finalbody or not node.handlers:
        return False
    return (
        any(isinstance(part, _Import) for part in node.body)
        and all(map(_only_binds, [*node.body, *node.orelse]))
        and all(
            _catches(h) and (_raises(h) or all(map(_only_binds, h.body))) for h in node.handlers
        )
    )


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(isinstance(kind, ast.Name) for kind in kinds)


def _raises(handler: ast.ExceptHandler) -> bool:
    match handler.body:
        case [ast.Raise(exc=None)]:
            return True
        case [ast.Raise(exc=ast.Call(func=ast.Name(), args=given, keywords=[]))]:
            return all(isinstance(value, ast.Constant) for value in given)
    return False


def _only_binds(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(targets=targets, value=value):
            return all(map(_is_named, targets)) and _is_said(value)
        case ast.AnnAssign(target=ast.Name(), value=value):
            return value is None or _is_said(value)
        case ast.FunctionDef(decorator_list=[], args=given):
            return not given.defaults and not any(given.kw_defaults)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="logger")), args=args)):
            return all(isinstance(part, ast.Constant) for part in args)
    return False


def _is_named(target: ast.expr) -> bool:
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    return all(isinstance(name, ast.Name) for name in names)


def _is_said(value: ast.expr) -> bool:
    """Whether a value is written out, or a name."""
    values = (ast.Constant, ast.Name, ast.Attribute, ast.Tuple, ast.UnaryOp)
    parts = (*values, ast.USub, ast.Not, ast.expr_context)
    return all(isinstance(part, parts) for part in walk(value))


def _bound(body: Sequence[ast.stmt]) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                for alias in aliases:
                    yield alias.asname or alias.name.split(".")[0]
            case ast.Assign(targets=targets):
                walked = (part for target in targets for part in walk(target))
                yield from (part.id for part in walked if isinstance(part, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.FunctionDef(name=name):
                yield name
