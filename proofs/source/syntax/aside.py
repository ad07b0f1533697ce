"""What a text only logs: a count may decide whether something is said, and what.

``if len(self.running) > 100: logger.warning(...)`` depends on how many there are, and nothing
depends on it.  The test of such a block, and what a logger is given, are computed aside, where
nobody asks how far they count (``objects.counting``).
"""

from __future__ import annotations

import ast

from proofs.source.objects.counting import ASIDE
from proofs.source.syntax.computing import call, only_computes, thunk
from proofs.source.walking import walk

_MADE_BY = {"vllm.logger": "init_logger", "logging": "getLogger"}
"""Module → what makes a logger in it."""


def only_logged(tree: ast.Module) -> frozenset[ast.AST]:
    """Calls of loggers in a text, and conditions on which nothing else is done."""
    loggers = _loggers(tree)
    return frozenset(
        node
        for node in walk(tree)
        if (isinstance(node, ast.Call) and _is_of(node, loggers))
        or (isinstance(node, ast.If) and _only_logs(node, loggers))
    )


def _only_logs(node: ast.If, loggers: set[str]) -> bool:
    says = all(_logs(statement, loggers) for statement in node.body)
    return says and not node.orelse and only_computes(node.test)


def _logs(statement: ast.stmt, loggers: set[str]) -> bool:
    match statement:
        case ast.Expr(value=ast.Call() as said):
            return _is_of(said, loggers) and all(map(only_computes, said.args))
    return False


def _is_of(node: ast.Call, loggers: set[str]) -> bool:
    """Whether a logger is called."""
    match node.func:
        case ast.Attribute(value=ast.Name(id=name)):
            return name in loggers
    return False


def _loggers(tree: ast.Module) -> set[str]:
    """Names that are bound once: to what a module of loggers makes."""
    imported = {
        part.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for part in node.names
        if _MADE_BY.get(node.module or "") == part.name and part.asname is None
    }
    bound = [n.id for n in walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    bound += [n.arg for n in walk(tree) if isinstance(n, ast.arg)]
    bound += [n.name for n in walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    made = set()
    for statement in tree.body:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=maker))
            ) if maker in imported and maker not in bound and bound.count(name) == 1:
                made.add(name)
    return made


def _can_wait(node: ast.expr) -> bool:
    """Whether an expression is the same in a function of its own."""
    inside = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await, ast.Starred)
    return not any(isinstance(part, inside) for part in walk(node))


def aside(node: ast.expr) -> ast.expr:
    """The expression, computed where nobody asks how far it counts, if it can wait."""
    return ast.copy_location(call(ASIDE, thunk(node)), node) if _can_wait(node) else node
