"""Which names of a class are fields, and what ``cast`` names: annotations as they are written.

A dataclass takes each annotated name for a field, but for those annotated by ``ClassVar``,
``InitVar`` or ``KW_ONLY``.  An annotation that mentions one of these in any way but the usual one
may make of a name what nobody can tell.
"""

from __future__ import annotations

import ast

from proofs.source.names import listed
from proofs.source.syntax.annotations import cannot_fail
from proofs.source.syntax.fields import ANNOTATED, FIELD, OF_CLASS, STRANGE
from proofs.source.walking import walk

_WORDS = listed("ClassVar InitVar KW_ONLY")
_TYPING = listed("typing typing_extensions")


class _Names:
    """What a text calls ``typing`` and what is in it."""

    def __init__(self, tree: ast.Module) -> None:
        self.modules: set[str] = set()
        self.members: dict[str, str] = {}
        self.others: set[str] = set()
        """Names the text binds otherwise."""
        for node in walk(tree):
            match node:
                case ast.Import(names=aliases):
                    for alias in aliases:
                        named = alias.asname or alias.name
                        (self.modules if alias.name in _TYPING else self.others).add(named)
                case ast.ImportFrom(module=module, names=aliases, level=0) if module in _TYPING:
                    self.members |= {a.asname or a.name: a.name for a in aliases}
                case ast.ImportFrom(names=aliases):
                    self.others |= {a.asname or a.name for a in aliases}
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                    self.others.add(name)
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                    self.others.add(name)
                case ast.ExceptHandler(name=str(name)):
                    self.others.add(name)

    def is_member(self, node: ast.expr, name: str) -> bool:
        """Whether an expression is that name of ``typing`` and nothing else."""
        match node:
            case ast.Name(id=named):
                return self.members.get(named) == name and named not in self.others
            case ast.Attribute(value=ast.Name(id=module), attr=attribute):
                return attribute == name and module in self.modules - self.others
        return False


class Fields:
    """What annotations make of the names of a class."""

    def __init__(self, tree: ast.Module) -> None:
        self._names = _Names(tree)
        imported = (a for n in walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names)
        self._words = _WORDS | {a.asname for a in imported if a.name in _WORDS and a.asname}

    def of(self, node: ast.ClassDef) -> ast.stmt | None:
        """The statement that notes them for Python; None: there are none."""
        kinds: dict[str, str] = {}
        for statement in node.body:
            for part in _in_class(statement):
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                    direct = part is statement
                    kinds[part.target.id] = self._kind(part.annotation) if direct else STRANGE
        if not kinds:
            return None
        noted = ast.Dict(
            [ast.Constant(n) for n in kinds], [ast.Constant(k) for k in kinds.values()]
        )
        value = ast.Call(ast.Name(ANNOTATED, ast.Load()), [noted], [])
        return ast.Assign([ast.Name("__annotations__", ast.Store())], value)

    def _kind(self, annotation: ast.expr) -> str:
        if not any(map(self._mentions, walk(annotation))):
            return FIELD
        outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
        rest = annotation.slice if isinstance(annotation, ast.Subscript) else ast.Constant(None)
        usual = self._names.is_member(outer, "ClassVar")
        return OF_CLASS if usual and not any(map(self._mentions, walk(rest))) else STRANGE

    def _mentions(self, node: ast.AST) -> bool:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return name in self._words
            case ast.Constant(value=str(text)):
                return any(word in text for word in self._words)
        return False


def _in_class(statement: ast.stmt) -> list[ast.AST]:
    """A statement with all in it that runs in the class."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Lambda):
        return []
    return list(walk(statement))


class Casts:
    """``typing.cast``: its first argument names a type, and is only looked up."""

    def __init__(self, tree: ast.Module) -> None:
        self._names, self._tree = _Names(tree), tree

    def names_a_type(self, node: ast.Call) -> bool:
        """Whether a call is a cast to something that can do nothing."""
        return (
            len(node.args) == 2
            and not node.keywords
            and self._names.is_member(node.func, "cast")
            and cannot_fail(node.args[0], self._tree)
        )
