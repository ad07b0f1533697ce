"""What the code of the model may import and name: nothing that tells one run from another.

The clock, chance, an address and whatever hangs on an object that no body knows are no part of the
state that a body starts from.  Each can be had in more ways than anybody lists, so this lists what
is allowed, as it is written in the files of the model; code that needs more leaves all undecided.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

from proofs.identity import TELLS_APART, asks_identity
from proofs.known_fields import KNOWN
from proofs.memory import APART, MODEL, modules

IMPORTS: dict[str, frozenset[str]] = {
    "__future__": frozenset({"annotations"}),
    "bisect": frozenset({"bisect_left", "bisect_right"}),
    "collections": frozenset({"deque"}),
    "collections.abc": frozenset(
        {"Callable", "Collection", "Iterable", "Iterator", "Mapping", "Sequence"}
    ),
    "dataclasses": frozenset({"dataclass", "field", "fields", "replace"}),
    "enum": frozenset({"Enum"}),
    "operator": frozenset({"eq", "ge", "gt", "le", "lt"}),
    "typing": frozenset({"Any", "Protocol"}),
}
"""Modules, and what of them answers from its arguments alone and holds nothing."""
NAMED = frozenset(
    {"abs", "all", "any", "bool", "classmethod", "dict", "enumerate", "frozenset", "int", "len"}
    | {"list", "max", "min", "object", "property", "range", "reversed", "set", "sorted", "sum"}
    | {"isinstance", "staticmethod", "str", "tuple", "zip", "AssertionError", "ValueError"}
)
"""Of what is built in."""
NAMED_BY_SPEC = frozenset({"getattr", "iter", "next", "type"})
"""The same, only for what is promised: it reads the fields of records and of functions."""
HOOKS = frozenset({"__sym_ite__", "__sym_len__", "__sym_max__", "__sym_min__"})
"""Attributes with two underscores: what a prover's number offers."""
READ_BY_SPEC = frozenset({"__annotations__", "__name__"})
WITHIN = re.compile(r"__|(gi|cr|ag|f|tb|co|func)_|format(_map)?$|mro$")
"""Attributes of the interpreter's own; and a text could spell an address."""
SET = frozenset().union(*KNOWN.values())
"""Attributes that are set: bodies know them."""
NOT_OURS = frozenset({"config", "environment", "observer", "policy", "record", "world"})
"""What a scheduler is handed and does not change."""


def asks_outside(*packages: str) -> list[str]:
    """What the modules of some packages use that is not on the list."""
    return [
        f"{module.__name__} uses {used}"
        for module in modules(packages or MODEL)
        if getattr(module, "__file__", None)
        for used in _asked(module, Path(str(module.__file__)).stat().st_mtime_ns)
    ]


@cache
def _asked(module: ModuleType, at: int) -> tuple[str, ...]:
    """``at``: when its file was changed last."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    found = [*_strange(tree, by_spec=module.__name__.partition(".")[0] == "spec")]
    if module.__name__ != TELLS_APART:
        found += asks_identity(tree, vars(module))
    return tuple(dict.fromkeys(found))


def _strange(tree: ast.Module, by_spec: bool) -> Iterator[str]:
    named = NAMED | NAMED_BY_SPEC if by_spec else NAMED
    read = HOOKS | READ_BY_SPEC if by_spec else HOOKS
    fine = {id(part) for node in ast.walk(tree) for part in _as_text(node, by_spec)}
    known = {name for node in tree.body for name in _global_names(node)}
    for node in ast.walk(tree):
        if id(node) not in fine:
            yield from (*_imported(node), *_named(node, named, read), *_set(node, known))


def _imported(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):  # a module is an object on which anything can be hung
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str() as module, names=names, level=0):
            if module not in IMPORTS and module.partition(".")[0] not in MODEL:
                yield module
                return
            for path in (f"{module}.{alias.name}" for alias in names):
                name = path.rpartition(".")[2]
                allowed = IMPORTS.get(module, {name} - {"*"})
                if name not in allowed or name.startswith("__") or path.startswith(APART):
                    yield path
        case ast.ImportFrom():
            yield "a relative import"


def _named(node: ast.AST, named: Collection[str], read: Collection[str]) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Load()) if name not in named:
            if hasattr(builtins, name) or name.startswith("__"):
                yield name
        case ast.Attribute(attr=name) if WITHIN.match(name) and name not in read:
            yield f".{name}"
        case ast.JoinedStr() | ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod()):
            yield "a text made of values"
        case ast.Call(func=ast.Name(id="str")):
            yield "a text made of values"


def _set(node: ast.AST, known: Collection[str]) -> Iterator[str]:
    """An attribute that is set where no body knows it."""
    if not isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Load):
        return
    owner: ast.expr = node.value
    through = []
    while isinstance(owner, ast.Attribute):
        through.append(owner.attr)
        owner = owner.value
    whose = owner.id if isinstance(owner, ast.Name) else ""
    strange = node.attr not in SET or not whose or whose in known
    if strange or NOT_OURS.intersection([*through, whose]):
        yield ast.unparse(node)


def _global_names(node: ast.stmt) -> Sequence[str]:
    """What a statement of a module names."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name for alias in names]
        case _:
            named = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
            return [part.id for part in named if isinstance(part.ctx, ast.Store)]


def _as_text(node: ast.AST, by_spec: bool) -> Iterator[ast.AST]:
    """What is only said to people; and how enumerations are hashed, which is told by no order."""
    match node:
        case ast.FunctionDef(name="__repr__") | ast.Raise() | ast.Assert(msg=ast.expr()):
            told = node.msg if isinstance(node, ast.Assert) else node
            texts = ast.walk(told) if told is not None else ()
            yield from (part for part in texts if isinstance(part, ast.JoinedStr))
        case ast.Assign(targets=[ast.Name(id="__hash__" as name)], value=value):
            yield from [node.targets[0]]
            if ast.unparse(value) == f"object.{name}":
                yield value
        case ast.JoinedStr() | ast.Call(func=ast.Name(id="str")) if by_spec:
            yield node
