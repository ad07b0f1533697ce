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
    function, statement = _statements(loaded.trees[file]).get(line, ("", f"line {line}"))
    kind = type(error).__name__
    says_so = statement.startswith(("assert ", f"raise {kind}"))
    if not says_so or (statement.startswith("assert ") and kind != AssertionError.__name__):
        statement = f"{kind} in {statement}"
    return Site(f"{function}: {statement}".removeprefix(": "), file, line, function)


@cache
def _statements(tree: ast.Module) -> dict[int, tuple[str, str]]:
    """Line → the innermost function around it, and the statement it belongs to.

    Statements that read the same within one function are numbered, so that one of them cannot
    stand for the other.
    """
    starts: dict[tuple[int, str], list[str]] = {}
    owner: dict[int, int] = {}
    for statement, function in _walk(tree, ""):
        first, last = statement.lineno, _last_line(statement)
        starts.setdefault((first, function), []).append(_words(statement))
        for line in range(first, last + 1):
            owner[line] = max(first, owner.get(line, 0))
    named: dict[int, tuple[str, str]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for (first, function), several in sorted(starts.items()):
        words = "; ".join(several)
        words = words if len(words) <= LONGEST else words[: LONGEST - 3] + "..."
        seen[function, words] += 1
        number = seen[function, words]
        named[first] = (function, words if number == 1 else f"{words} #{number}")
    return {line: named[first] for line, first in owner.items()}


def _walk(node: ast.AST, function: str) -> Iterator[tuple[ast.stmt, str]]:
    """Every statement with the qualified name of the function it stands in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield from _walk(child, f"{function}.{child.name}".removeprefix("."))
            continue
        if isinstance(child, ast.stmt):
            yield child, function
        yield from _walk(child, function)


def _last_line(statement: ast.stmt) -> int:
    """The last line of a simple statement, or of the head of one with a body."""
    body = getattr(statement, "body", None)
    if body:
        return max(statement.lineno, int(body[0].lineno) - 1)
    return statement.end_lineno or statement.lineno


def _words(statement: ast.stmt) -> str:
    """The statement on one line: an assertion without its message, a loop without its body."""
    if isinstance(statement, ast.Assert):
        statement = ast.Assert(test=statement.test, msg=None)
    return ast.unparse(statement).split("\n", 1)[0]
