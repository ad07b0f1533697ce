"""The syntax gate: what a text may contain before a single statement of it runs.

A pull request's file is hostile input.  It is parsed, never imported; a text that could reach
outside its own data is refused as a whole, with the line and the reason.  The rules are an
allow-list where that is possible and a deny-list of introspection where it is not:

* an import binds a stub (``stubs``) and loads nothing; modules that exist to reach the operating
  system or the interpreter are refused by name, so that a reader of the report learns it;
* names and attributes with two underscores are refused but for the few a scheduler uses;
* the attributes through which Python objects lead to frames, code and modules are refused, and so
  is ``str.format``, which reads attributes named in a string;
* an annotation names a type and does no more (``annotations``): a check does not evaluate it;
* size, number of nodes and nesting are bounded.

Loops are bounded at run time (``rewrite`` counts iterations, ``sandbox`` counts seconds).
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Collection, Iterator

from proofs.source.errors import Rejected
from proofs.source.names import FORBIDDEN_MODULES, FORBIDDEN_NAMES, UNREAD, is_forbidden
from proofs.source.syntax import matching
from proofs.source.syntax.annotations import refusals as of_annotations
from proofs.source.walking import walk

MAX_BYTES = 2_000_000
MAX_NODES = 400_000
MAX_DEPTH = 80
MAX_LITERAL = 2**64

DUNDER_NAMES = frozenset({"__name__"})
DUNDER_ATTRIBUTES = frozenset({"__init__", "__name__"})
DUNDER_METHODS = frozenset(
    {"__init__", "__post_init__", "__len__", "__bool__", "__iter__", "__contains__", "__lt__"}
    | {"__repr__", "__str__", "__enter__", "__exit__"}
)

_REFUSED_NODES: dict[type[ast.AST], str] = {
    ast.AsyncFunctionDef: "a coroutine",
    ast.AsyncFor: "an asynchronous loop",
    ast.AsyncWith: "an asynchronous context",
    ast.Await: "await",
    ast.Global: "a global statement: state that survives between two runs",
    ast.TryStar: "except*",
}


def parse(text: str, file: str) -> ast.Module:
    """The syntax tree of a text that passed the gate.

    Raises:
        Rejected: the text is refused; the message names the first line and the reason.
    """
    tree = tree_of(text, file)
    _bounded(tree, file)
    listing = set(_listing(tree))
    refusals = [
        (getattr(node, "lineno", 1), why) for node in walk(tree) for why in _refusals(node, listing)
    ]
    refusals = sorted([*refusals, *of_annotations(tree)])
    if refusals:
        raise Rejected(file, *refusals[0])
    _compiles(tree, file)
    return tree


def _compiles(tree: ast.Module, file: str) -> None:
    """Errors the grammar lets through: ``return`` outside a function, two parameters of one name.

    Raises:
        Rejected: the tree does not compile.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(tree, UNREAD, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise Rejected(file, error.lineno or 1, f"does not compile: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Rejected(file, 1, f"does not compile: {type(error).__name__}") from None


def tree_of(text: str, file: str) -> ast.Module:
    """The syntax tree of any text, ungated.

    Raises:
        Rejected: the text does not parse, or is too large to try.
    """
    if len(text) > MAX_BYTES:
        raise Rejected(file, 1, f"larger than {MAX_BYTES} characters")
    _in_utf8(text, file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, UNREAD)
    except SyntaxError as error:
        raise Rejected(file, error.lineno or 1, f"does not parse: {error.msg}") from None
    except ValueError as error:
        raise Rejected(file, 1, f"does not parse: {error}") from None
    except (RecursionError, MemoryError):
        raise Rejected(file, 1, "nested too deeply to parse") from None
    return tree


def _in_utf8(text: str, file: str) -> None:
    """Python reads a file in the encoding that its first two lines name: there is but one here."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").encode(errors="replace")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(lines).readline)
    except SyntaxError as error:
        raise Rejected(file, 1, f"does not parse: {error.msg}") from None
    if encoding != "utf-8":
        raise Rejected(file, 1, f"says that it is written in {encoding}, not in UTF-8")


def _bounded(tree: ast.AST, file: str) -> None:
    """Depth and number of nodes, without recursion."""
    count, stack = 0, [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        count += 1
        line = getattr(node, "lineno", 1)
        if depth > MAX_DEPTH:
            raise Rejected(file, line, f"nested deeper than {MAX_DEPTH} levels")
        if count > MAX_NODES:
            raise Rejected(file, line, f"more than {MAX_NODES} syntax nodes")
        stack.extend((child, depth + 1) for child in ast.iter_child_nodes(node))


def _refusals(node: ast.AST, listing: Collection[ast.AST]) -> Iterator[str]:
    """Why a node is refused, if it is.

    Args:
        listing: names that a text may set though they have two underscores.
    """
    refused = _REFUSED_NODES.get(type(node))
    if refused is not None:
        yield f"contains {refused}"
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from _import(node)
    elif isinstance(node, ast.Name):
        if node not in listing:
            yield from _name(node.id, isinstance(node.ctx, ast.Load))
    elif isinstance(node, ast.Attribute):
        yield from _attribute(node.attr, isinstance(node.ctx, ast.Load))
    elif isinstance(node, ast.arg):
        yield from _name(node.arg)
    elif isinstance(node, ast.keyword):
        if node.arg is not None and "__" in node.arg:
            yield f"uses the keyword {node.arg}"
    elif isinstance(node, ast.FunctionDef):
        if "__" in node.name and node.name not in DUNDER_METHODS:
            yield f"defines {node.name}"
    elif isinstance(node, ast.ClassDef):
        yield from _class(node)
    elif isinstance(node, ast.ExceptHandler):
        if node.type is None or "BaseException" in ast.unparse(node.type):
            yield "catches every exception, even the checker's own"
        if node.name is not None:
            yield from _name(node.name)
    elif isinstance(node, ast.Match):
        yield from matching.refusals(node)
    elif isinstance(node, ast.MatchAs):
        yield from _name(node.name or "")
    elif isinstance(node, ast.With):
        yield from _suspended(node)
    elif isinstance(node, ast.Try):
        yield from _suspended(node)
        last = (inner for statement in node.finalbody for inner in walk(statement))
        if any(isinstance(inner, ast.Return | ast.Break | ast.Continue) for inner in last):
            yield "leaves a finally block: that would swallow the checker's own exceptions"
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, int) and abs(node.value) > MAX_LITERAL:
            yield "contains an enormous number"
    elif isinstance(node, ast.Call):
        yield from _call(node)


def _listing(tree: ast.Module) -> Iterator[ast.AST]:
    """``__all__`` of a module and ``__slots__`` of a class, where they are lists of plain names."""
    for scope in walk(tree):
        if isinstance(scope, ast.Module | ast.ClassDef):
            wanted = "__slots__" if isinstance(scope, ast.ClassDef) else "__all__"
            for statement in scope.body:
                match statement:
                    case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                        if name == wanted and _lists_names(value):
                            yield target


def _lists_names(value: ast.expr) -> bool:
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
    return all(
        isinstance(part, ast.Constant) and isinstance(part.value, str) and "__" not in part.value
        for part in parts
    )


def _suspended(node: ast.With | ast.Try) -> Iterator[str]:
    """A generator that is dropped where it waits in such a block acts when that happens."""
    open_: list[ast.AST] = list(node.body)
    if isinstance(node, ast.Try):
        open_ += [*node.handlers, *node.orelse, *node.finalbody]
    while open_:
        part = open_.pop()
        if isinstance(part, ast.Yield | ast.YieldFrom):
            yield "yields inside a try or with block: that ends whenever the generator is dropped"
        elif not isinstance(part, ast.FunctionDef | ast.Lambda):
            open_ += ast.iter_child_nodes(part)


def _import(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    modules = (
        [alias.name for alias in node.names]
        if isinstance(node, ast.Import)
        else [node.module or ""] * (not node.level)
    )
    for module in modules:
        if module.split(".")[0] in FORBIDDEN_MODULES:
            yield f"imports {module}"
    for alias in node.names:
        if alias.name == "*":
            yield "imports everything (*) of a module"
        for name in (*alias.name.split("."), alias.asname or ""):
            if "__" in name:
                yield f"imports {name}"


def _name(name: str, is_read: bool = False) -> Iterator[str]:
    if name in FORBIDDEN_NAMES:
        yield f"uses {name}"
    elif "__" in name and not (is_read and name in DUNDER_NAMES):
        yield f"uses the name {name}"


def _attribute(name: str, is_read: bool) -> Iterator[str]:
    usual = is_read and name in DUNDER_ATTRIBUTES
    if is_forbidden(name) and not usual:
        yield f"uses the attribute {name}"


def _class(node: ast.ClassDef) -> Iterator[str]:
    if "__" in node.name:
        yield f"defines {node.name}"
    if node.keywords:
        yield "gives a class keywords (a metaclass)"


def _call(node: ast.Call) -> Iterator[str]:
    """``getattr`` and ``hasattr`` only with a plain attribute name in the text."""
    if not isinstance(node.func, ast.Name):
        return
    if node.func.id in ("getattr", "hasattr"):
        name = node.args[1] if len(node.args) > 1 else None
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            yield f"calls {node.func.id} with a computed name"
        elif is_forbidden(name.value):
            yield f"calls {node.func.id} for {name.value}"
    elif node.func.id == "super" and node.args:
        yield "calls super with arguments"
