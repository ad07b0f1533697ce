"""What two texts define otherwise, statement by statement; and what of it no run has executed.

Words that no run executes are not compared by running them.  Comments, annotations and what a
function says of itself are no matter.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain

from proofs.source.differences import NotExecuted
from proofs.source.syntax.marking import Place

Trees = Mapping[str, ast.Module]


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement, or the head of one that holds others."""

    words: str
    line: int
    place: Place | None = None
    """What is executed if it is; None: nothing by which that could be told."""


def not_executed(
    old: Trees, new: Trees, ran_old: Collection[Place], ran_new: Collection[Place]
) -> tuple[NotExecuted, ...]:
    """What the texts define otherwise and no run of either has executed.

    Args:
        ran_old: where what begins that some run of the old text has executed.
        ran_new: the same of the new text.
    """
    before, after = dict(_functions(old)), dict(_functions(new))
    found = (
        _unseen(name, _Side(before.get(name), ran_old), _Side(after.get(name), ran_new))
        for name in dict.fromkeys((*before, *after))
    )
    return tuple(one for one in found if one is not None)


@dataclass(frozen=True, slots=True)
class _Side:
    """A function as one text has it, if it does."""

    function: _Function | None
    ran: Collection[Place]

    @property
    def is_run(self) -> bool:
        """Whether anything of it was executed."""
        return self.function is not None and self.function.head in self.ran

    @property
    def statements(self) -> list[_Statement]:
        """All of it, in order."""
        return [] if self.function is None else list(self.function.statements())

    def unseen(self, changed: Iterable[_Statement]) -> set[int]:
        """The lines of those statements that were not executed."""
        return {s.line for s in changed if s.place is not None and s.place not in self.ran}


def _unseen(name: str, old: _Side, new: _Side) -> NotExecuted | None:
    """One function of either text; None where runs have executed all that differs."""
    one, two = old.function, new.function
    if one is not None and two is not None and ast.dump(one.node) == ast.dump(two.node):
        return None
    changed = _changed(old.statements, new.statements)
    lines = [side.unseen(part) for side, part in zip((old, new), changed, strict=True)]
    shown = two if lines[1] else one
    if shown is None or not any(lines):
        return None
    whole = not (old.is_run or new.is_run)
    if whole:
        lines[shown is two].add(shown.node.lineno)
    before, after = (tuple(sorted(side)) for side in lines)
    what = "added" if one is None else "removed" if two is None else "changed"
    return NotExecuted(name, what, shown.file, whole, before, after)


def _changed(
    old: list[_Statement], new: list[_Statement]
) -> tuple[list[_Statement], list[_Statement]]:
    """The statements of either that the other does not have in the same place."""
    one, two = ([statement.words for statement in side] for side in (old, new))
    blocks = SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    apart = [block for block in blocks if block[0] != "equal"]
    return (
        list(chain.from_iterable(old[a:b] for _, a, b, _, _ in apart)),
        list(chain.from_iterable(new[a:b] for _, _, _, a, b in apart)),
    )


@dataclass(frozen=True, slots=True)
class _Function:
    """A function or method of a text."""

    file: str
    node: ast.FunctionDef

    @property
    def head(self) -> Place:
        """What is executed if any of it is."""
        return self.file, self.node.lineno, self.node.col_offset

    def statements(self) -> Iterator[_Statement]:
        """All of it, in order."""
        return self._of_function(self.node, 0)

    def _of_function(self, node: ast.FunctionDef, depth: int) -> Iterator[_Statement]:
        names = [[argument.arg for argument in group] for group in _parameters(node.args)]
        parts = [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]
        words = f"{depth} {node.name} {names} {_said(*parts)}"
        yield _Statement(words, node.lineno, (self.file, node.lineno, node.col_offset))
        yield from self._of_block(node.body, depth + 1)

    def _of_block(self, statements: list[ast.stmt], depth: int) -> Iterator[_Statement]:
        for statement in statements:
            yield from self._of(statement, depth)

    def _of(self, node: ast.stmt, depth: int) -> Iterator[_Statement]:
        match node:
            case ast.FunctionDef():
                yield from self._of_function(node, depth)
            case ast.If(test=decides) | ast.While(test=decides) | ast.For(iter=decides):
                target = node.target if isinstance(node, ast.For) else None
                words = f"{depth} {type(node).__name__} {_said(target, decides)}"
                yield self._at(words, decides)
                yield from self._of_block(node.body, depth + 1)
                if node.orelse:
                    yield _Statement(f"{depth} else", node.orelse[0].lineno)
                    yield from self._of_block(node.orelse, depth + 1)
            case ast.With():
                words = f"{depth} with {_said(*node.items)}"
                yield self._at(words, node.items[0].context_expr)
                yield from self._of_block(node.body, depth + 1)
            case ast.Try():
                yield _Statement(f"{depth} try", node.lineno)
                yield from self._of_block(node.body, depth + 1)
                for handler in node.handlers:
                    words = f"{depth} except {handler.name} {_said(handler.type)}"
                    yield _Statement(words, handler.lineno)
                    yield from self._of_block(handler.body, depth + 1)
                for word, block in (("else", node.orelse), ("finally", node.finalbody)):
                    if block:
                        yield _Statement(f"{depth} {word}", block[0].lineno)
                        yield from self._of_block(block, depth + 1)
            case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.AnnAssign(value=None):
                return
            case ast.Break() | ast.Continue():
                yield _Statement(f"{depth} {type(node).__name__}", node.lineno)
            case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.AnnAssign(value=value):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                operator = node.op if isinstance(node, ast.AugAssign) else None
                words = f"{depth} {_said(*targets)} {_said(operator)} {_said(value)}"
                is_empty = isinstance(value, ast.List) and not value.elts  # replaced: see `storing`
                yield self._at(words, node if is_empty or value is None else value)
            case _:
                yield self._at(f"{depth} {_said(node)}", node)

    def _at(self, words: str, node: ast.expr | ast.stmt) -> _Statement:
        return _Statement(words, node.lineno, (self.file, node.lineno, node.col_offset))


def _functions(trees: Trees) -> Iterator[tuple[str, _Function]]:
    """Every function and method outside functions, by a name for it."""
    seen: dict[str, int] = {}
    for file, tree in trees.items():
        for name, node in _defined("", tree.body):
            count = seen[name] = seen.get(name, 0) + 1
            yield name if count == 1 else f"{name} #{count}", _Function(file, node)


def _defined(prefix: str, statements: list[ast.stmt]) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in statements:
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _defined(f"{prefix}{node.name}.", node.body)


def _parameters(arguments: ast.arguments) -> list[list[ast.arg]]:
    several = [[one] if one else [] for one in (arguments.vararg, arguments.kwarg)]
    return [arguments.posonlyargs, arguments.args, arguments.kwonlyargs, *several]


def _said(*nodes: ast.AST | None) -> str:
    return " ".join("" if node is None else ast.dump(node) for node in nodes)
