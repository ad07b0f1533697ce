"""Which statement of a text raised, under a name that survives a shift of its lines.

A scheduler has many assertions.  One that is known must not hide one that is new, so each place
that can raise is an obligation of its own, called ``Class.method: statement``: the same after
lines were added above it, another one as soon as the statement itself says something else.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from proofs.source.loader import Loaded

LONGEST = 300
"""Characters of a statement that a name quotes."""


@dataclass(frozen=True, slots=True)
class Site:
    """A statement that raised."""

    name: str
    file: str
    line: int
    function: str
    """``Class.method``; empty for a statement outside of any."""


def site_of(loaded: Loaded, error: BaseException) -> Site | None:
    """The statement of the text an exception comes from, if the text raised it."""
    frames = loaded.host.frames(error)
    if not frames or frames[-1][0] not in loaded.trees:
        return None
    file, line = frames[-1]
    function, statement = _named(loaded.trees[file], line)
    kind = type(error).__name__
    says_so = statement.startswith(("assert ", f"raise {kind}"))
    if not says_so or (statement.startswith("assert ") and kind != AssertionError.__name__):
        statement = f"{kind} in {statement}"
    return Site(f"{function}: {statement}".removeprefix(": "), file, line, function)


@cache
def _named(tree: ast.Module, line: int) -> tuple[str, str]:
    """The innermost function around a line, and the statement it belongs to.

    Statements that read the same within one function are numbered, so that one of them cannot
    stand for the other.
    """
    function, inside = _function(tree, line)
    starts: dict[int, list[ast.stmt]] = {}
    first = 0
    for statement in inside:
        starts.setdefault(statement.lineno, []).append(statement)
        if statement.lineno <= line <= _last_line(statement):
            first = max(first, statement.lineno)
    if not first:
        return function, f"line {line}"
    seen: Counter[str] = Counter()
    for start in sorted(starts):
        words = "; ".join(map(_words, starts[start]))
        words = words if len(words) <= LONGEST else words[: LONGEST - 3] + "..."
        seen[words] += 1
        if start == first:
            break
    return function, words if seen[words] == 1 else f"{words} #{seen[words]}"


def _function(tree: ast.Module, line: int) -> tuple[str, list[ast.stmt]]:
    """The qualified name of the innermost function around a line, and its own statements."""
    name: list[str] = []
    scope: ast.AST = tree
    while True:
        inner = [
            node
            for node in _within(scope)
            if isinstance(node, _SCOPES) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        if not inner:
            return ".".join(name), [node for node in _within(scope) if isinstance(node, ast.stmt)]
        (scope,) = inner
        name.append(scope.name)


_SCOPES = (ast.FunctionDef, ast.ClassDef)


def _within(scope: ast.AST) -> Iterator[ast.AST]:
    """What lies in a scope, without the insides of the functions and classes in it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, _SCOPES):
            yield from _within(child)


def _last_line(statement: ast.stmt) -> int:
    """The last line of a simple statement, or of the head of one with a body."""
    body = getattr(statement, "body", None)
    if body:
        return max(statement.lineno, int(body[0].lineno) - 1)
    return statement.end_lineno or statement.lineno


def _words(statement: ast.stmt) -> str:
    """The statement on one line: an assertion without its message, a loop without its body."""
    if isinstance(statement, _SCOPES):
        return f"{statement.name}:"
    if isinstance(statement, ast.Assert):
        statement = ast.Assert(test=statement.test, msg=None)
    return ast.unparse(statement).split("\n", 1)[0]
