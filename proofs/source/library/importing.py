"""Imports stay where they stand: each binds its names when, where and if Python would bind them.

An import of a module nobody has cannot succeed, and whether somebody has it is not known here.
What stands at the top of a file must be there for the file to load; one under a condition, or where
its failure can be caught, is undecided as soon as it is reached.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from proofs.source.library.homes import SIBLINGS, is_at_home
from proofs.source.library.standard import PACKAGES, YOUNG, is_standard, standard
from proofs.source.library.vocabulary import LANGUAGE
from proofs.source.objects.host import Host
from proofs.source.objects.ofhost import OfAHost
from proofs.source.objects.stubs import resolve
from proofs.source.objects.unknowns import UnknownMeta, unknown
from proofs.source.syntax.computing import call
from proofs.source.syntax.rewrite import UNDECIDED

BOUND = "_bound__"
PERHAPS_NOT = (
    "an import under a condition, or whose failure may be caught: nobody knows if it succeeds; put"
    " it at the top of the file, in a `try` of its own if it may fail"
)
MISSING = "_missing__"
"""What is called where an unknown name is imported in a function or a class."""
_VARYING = frozenset({"free", "knob", "passed-on", "world"})
"""Kinds of rows that say something else in each run."""

Import = ast.Import | ast.ImportFrom


@dataclass(frozen=True, slots=True)
class Wanted:
    """One name of an import statement."""

    module: str
    """Where it is looked for; empty: it is a module itself."""
    name: str
    bound: str
    """What the text calls it."""


def wanted(node: Import) -> list[Wanted]:
    """What an import statement binds."""
    found = []
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            if node.module != "__future__":
                module = "." * node.level + (node.module or "")
                found.append(Wanted(module, alias.name, alias.asname or alias.name))
        elif alias.asname is None:  # `import a.b` binds `a`
            first = alias.name.split(".")[0]
            found.append(Wanted("", first, first))
        else:
            found.append(Wanted("", alias.name, alias.asname))
    return found


@dataclass(frozen=True, slots=True)
class _Module:
    """A text that has been loaded."""

    stem: str
    is_base: bool
    names: Mapping[str, Any]


@dataclass
class Imports:
    """What the texts that are loaded together import."""

    host: Host
    _modules: list[_Module] = field(default_factory=list)
    _made: dict[tuple[str, str], Any] = field(default_factory=dict)

    def loaded(self, file: str, is_base: bool, names: Mapping[str, Any]) -> None:
        """A text was loaded; later ones may import what it defines."""
        self._modules.append(_Module(PurePosixPath(file).stem, is_base, names))

    def knows(self, what: Wanted) -> bool:
        """Whether a text, the profile or the standard library says what that is."""
        text = self._text_of(what)
        if text is not None:
            return type(text[what.name]) is not UnknownMeta
        return self._row_of(what) is not None or _is_standard(what)

    def missing(self, name: str) -> None:
        """A name that nobody knows is imported where the failure may be caught."""
        row = self.host.uses.import_row(name)
        self.host.unprofiled(f"import {name} (in a function or a class)", row)

    def is_certain(self, node: Import) -> bool:
        """Whether whoever runs the text has all that a statement imports, in every release."""
        return all(map(self._is_there, wanted(node)))

    def _is_there(self, what: Wanted) -> bool:
        path = self._row_of(what) or ""
        row = self.host.row(path)
        young = (what.module, what.name) in YOUNG or (row is not None and (row.since or row.until))
        # A row that is added may just as well say what stands there if the import fails.
        return self.knows(what) and not young and path not in self.host.profile.added

    def value(self, what: Wanted) -> Any:
        """What an import binds."""
        text = self._text_of(what)
        if text is not None:
            return text[what.name]
        key = (what.module, what.name)
        if key not in self._made:
            made = self._from_profile(what)
            row = self.host.row(f"import {what.name}")
            if row is not None and row.kind in _VARYING:
                return made
            self._made[key] = made
        return self._made[key]

    def _text_of(self, what: Wanted) -> Mapping[str, Any] | None:
        """The names of the text that defines it, if one of the texts does."""
        stem = what.module.rpartition(".")[2]
        at_home = is_at_home(what.module, what.name) or _is_standard(what)
        if not stem or (at_home and not _is_sibling(what.module)):
            return None
        found = [m for m in self._modules if m.stem == stem and what.name in m.names]
        of_vllm = what.module.startswith("vllm.")
        meant = [m for m in found if m.is_base is of_vllm] or found
        return meant[-1].names if meant else None

    def _row_of(self, what: Wanted) -> str | None:
        """The row that says what it is."""
        last = what.name if what.module else what.name.rpartition(".")[2]
        path = f"import {last}"
        if path in self.host.profile.added and self.host.row(path) is not None:
            return path
        if not is_at_home(what.module, what.name):
            return None
        stem = what.module.rpartition(".")[2]
        if _is_sibling(what.module) and any(m.stem == stem for m in self._modules):
            return None  # that text is here, and does not define it
        return path if path in LANGUAGE or self.host.row(path) is not None else None

    def _standard(self, what: Wanted) -> Any:
        if is_standard(what.module, what.name):
            return standard(self.host, what.module, what.name)
        return Module(self, _module_of(what))

    def _from_profile(self, what: Wanted) -> Any:
        path = self._row_of(what)
        if path is None and _is_standard(what):
            return self._standard(what)
        if path is None:
            return unknown(self.host, what.name.rpartition(".")[2])
        row = self.host.row(path)
        made = LANGUAGE.get(path) if row is None or row.kind == "python" else None
        return resolve(self.host, path) if made is None else made(self.host)


def _is_standard(what: Wanted) -> bool:
    """Whether it is a module of the standard library that is listed, or something in one."""
    if is_standard(what.module, what.name):
        return True
    return _module_of(what) in PACKAGES


def _module_of(what: Wanted) -> str:
    return f"{what.module}.{what.name}" if what.module else what.name


def _is_sibling(module: str) -> bool:
    return module.rpartition(".")[0] == SIBLINGS


class Module(OfAHost):
    """A module of the standard library: what is in it is what an import from it binds."""

    __slots__ = ("imports__", "name__")

    def __init__(self, imports: Imports, name: str) -> None:
        super().__init__(imports.host)
        object.__setattr__(self, "imports__", imports)
        object.__setattr__(self, "name__", name)

    @property
    def called__(self) -> str:  # type: ignore[override]
        """How a report calls it."""
        return str(object.__getattribute__(self, "name__"))

    def __getattr__(self, name: str) -> Any:
        imports: Imports = object.__getattribute__(self, "imports__")
        module: str = object.__getattribute__(self, "name__")
        what = Wanted(module, name, name)
        if imports.knows(what):
            return imports.value(what)
        return resolve(imports.host, f"import {module}.{name}")


class Binding(ast.NodeTransformer):
    """Puts assignments in the place of imports; ``bound`` is what the namespace calls `BOUND`."""

    def __init__(self, imports: Imports) -> None:
        self._imports = imports
        self._wanted: list[Wanted] = []
        self._doubtful = self._is_below = False

    def bound(self, number: int) -> Any:
        """The value of an import, by its number."""
        return self._imports.value(self._wanted[number])

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        outer, self._is_below = self._is_below, True
        self.generic_visit(node)
        self._is_below = outer
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer = self._doubtful, self._is_below
        self._doubtful, self._is_below = False, True
        self.generic_visit(node)
        self._doubtful, self._is_below = outer
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        before = self._doubtful
        node.body = self._statements(node.body, True)
        node.orelse = self._statements(node.orelse, before or not _is_type_checking(node.test))
        return node

    def _within(self, node: ast.AST) -> ast.AST:
        before, self._doubtful = self._doubtful, True
        self.generic_visit(node)
        self._doubtful = before
        return node

    visit_Try = visit_With = _within

    def _statements(self, statements: list[ast.stmt], doubtful: bool) -> list[ast.stmt]:
        before, self._doubtful = self._doubtful, doubtful
        made: list[ast.stmt] = []
        for statement in statements:
            visited = self.visit(statement)
            made += visited if isinstance(visited, list) else [visited]
        self._doubtful = before
        return made

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        return self._bind(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        return self._bind(node)

    def _bind(self, node: Import) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        names = wanted(node)
        if names and self._doubtful:
            made.append(_doubt(PERHAPS_NOT))
        elif self._is_below and not all(map(self._imports.knows, names)):
            made += [_missing(what) for what in names if not self._imports.knows(what)]
        for what in names:
            value = call(BOUND, ast.Constant(len(self._wanted)))
            self._wanted.append(what)
            made.append(ast.Assign([ast.Name(what.bound, ast.Store())], value))
        return [ast.copy_location(statement, node) for statement in made or [ast.Pass()]]


def _missing(what: Wanted) -> ast.stmt:
    return ast.Expr(call(MISSING, ast.Constant(what.name.rpartition(".")[2])))


def _doubt(reason: str) -> ast.stmt:
    return ast.Expr(call(UNDECIDED, ast.Constant(reason)))


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
