"""``match`` as the comparisons it stands for: values, singletons, alternatives and names.

Python compares with ``==`` and ``is``, one pattern after the other, and so does what is made here;
everything that treats comparisons of symbolic values then treats these.  Patterns that ask an
object for its class, attributes, keys or length do not pass the gate; a tuple that is written out
may be matched by tuples of that length.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from proofs.source.walking import located, walk

REFUSED = "contains a match statement with a pattern other than values, names and tuples of these"


def refusals(node: ast.Match) -> Iterator[str]:
    """Why a statement is refused, if it is."""
    subject = node.subject
    size = len(subject.elts) if isinstance(subject, ast.Tuple) else None
    if size is not None and any(isinstance(e, ast.Starred) for e in walk(subject)):
        size = None
    if not all(_is_plain(case.pattern, size) for case in node.cases):
        yield REFUSED


def _is_plain(pattern: ast.pattern, size: int | None) -> bool:
    """Args: size: of the tuple that is matched; None: it is no tuple that is written out."""
    match pattern:
        case ast.MatchAs(pattern=None, name=name):
            return name is None or size is None
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return size is None and _is_plain(inner, size) and not _names(inner)
        case ast.MatchSequence(patterns=parts):
            return len(parts) == size and all(_is_plain(part, None) for part in parts)
        case ast.MatchOr(patterns=parts):
            return all(_is_plain(part, size) and not _names(part) for part in parts)
    return isinstance(pattern, ast.MatchValue | ast.MatchSingleton) and size is None


def _names(pattern: ast.pattern) -> list[str]:
    return [n.name for n in walk(pattern) if isinstance(n, ast.MatchAs) and n.name is not None]


class _Comparing(ast.NodeTransformer):
    """Puts comparisons in the place of each statement that passed the gate."""

    def __init__(self) -> None:
        self._count = 0

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        self._count += 1
        subject = node.subject
        parts = subject.elts if isinstance(subject, ast.Tuple) else [subject]
        names = [f"__subject{self._count}_{number}__" for number in range(len(parts))]
        made: list[ast.stmt] = [
            ast.Assign([ast.Name(name, ast.Store())], part)
            for name, part in zip(names, parts, strict=True)
        ]
        whole = isinstance(subject, ast.Tuple)
        for statement in made:
            ast.copy_location(statement, node)
        made += self._cases(node.cases, names, whole)
        return made

    def _cases(self, cases: list[ast.match_case], names: list[str], whole: bool) -> list[ast.stmt]:
        if not cases:
            return []
        case, *others = cases
        body = [s for part in case.body for s in _listed(self.visit(part))]
        bound = _bound(case.pattern, names, whole)
        tests = [_test(case.pattern, names, whole)]
        if case.guard is None:
            body = [ast.Assign([target], value) for target, value in bound] + body
        else:
            if bound:  # a list with something in it is true
                named: list[ast.expr] = [ast.NamedExpr(t, v) for t, v in bound]
                tests.append(ast.List(named, ast.Load()))
            tests.append(case.guard)
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        made = ast.If(test, body, self._cases(others, names, whole))
        return [ast.copy_location(made, case.pattern)]


def _bound(pattern: ast.pattern, names: list[str], whole: bool) -> list[tuple[ast.Name, ast.expr]]:
    """What a pattern gives a name to."""
    if isinstance(pattern, ast.MatchSequence) and whole:
        pairs = zip(pattern.patterns, names, strict=True)
        return [pair for part, name in pairs for pair in _bound(part, [name], False)]
    found = _names(pattern)
    return [(ast.Name(name, ast.Store()), _read(names[0])) for name in found]


def _test(pattern: ast.pattern, names: list[str], whole: bool) -> ast.expr:
    match pattern:
        case ast.MatchOr(patterns=parts):
            return ast.BoolOp(ast.Or(), [_test(part, names, whole) for part in parts])
        case ast.MatchSequence(patterns=parts):
            tests = [_test(p, [n], False) for p, n in zip(parts, names, strict=True)]
            return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return _test(inner, names, whole)
        case ast.MatchValue(value=value):
            return ast.Compare(_read(names[0]), [ast.Eq()], [value])
        case ast.MatchSingleton(value=single):
            return ast.Compare(_read(names[0]), [ast.Is()], [ast.Constant(single)])
    return ast.Constant(True)


def _read(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _listed(made: ast.stmt | list[ast.stmt]) -> list[ast.stmt]:
    return made if isinstance(made, list) else [made]


def compared(tree: ast.Module) -> ast.Module:
    """The tree with comparisons in the place of match statements; it is changed."""
    if not any(isinstance(node, ast.Match) for node in walk(tree)):
        return tree
    made: ast.Module = _Comparing().visit(tree)
    return located(made)
