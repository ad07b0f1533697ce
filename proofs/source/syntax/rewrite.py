"""What is changed in a scheduler's syntax tree before it is compiled, and why.

The text is run as it stands but for the following, none of which changes what it computes:

* annotations go: they name types of the engine, which is not installed (one that could do more
  does not pass the gate); what they make of the names of a class stays (``fieldkinds``);
* ``__name__``, ``x.__name__``, ``x.__init__``, what a handler or a ``with ... as`` names, and names
  that are imported and unknown go through `asking`; a ``try`` outside functions is undecided;
* every loop iteration, loop exit and call ticks a counter: nothing runs on, and a loop exit is a
  line a replay can see (CPython would compile it away);
* conditions and small assignments that only compute become one merged value instead of two paths
  (``a and b``, ``x < y < z``, ``a if c else b``, ``if c: x = e``): see ``merging``; so do blocks
  that only store (``guarding``), and a loop's test with the breaks behind it (``leaving``);
* an ``if`` that only fills a set the profile calls a sink (it feeds nothing), and that the text
  reads nowhere else, is dropped; what only reports a set's content forks no path (``reporting``);
* an empty dictionary display becomes a call: a replay notes which line scheduled a request;
* comparisons, quotients, slices and what adds one ask if a run knows so many: see ``counted``;
* what only a logger learns is computed aside: see ``aside``;
* ``is`` and ``~`` go by what a symbolic value stands for: see ``identity``;
* what makes a text of values (``str(x)``, ``f"{x}"``, ``"%s" % x``, ``", ".join(...)``) is called
  by a name of ours: of a symbolic value there is a text nobody may look into, see
  ``proofs.symbolic.speech``; a handler that catches a ``TypeError`` asks whose it is;
* attribute names that symbolic values use are read through a guard: no text takes one apart.

Inserted names contain two underscores, which the gate refuses in a text.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from itertools import pairwise
from typing import Any

from proofs.source.errors import Rejected
from proofs.source.names import INTERNALS, UNSTORABLE
from proofs.source.objects import identity
from proofs.source.objects.counting import CUT
from proofs.source.objects.identity import INVERT, IS, IS_NOT
from proofs.source.syntax import counted
from proofs.source.syntax.acting import READ, Acting, bound_by
from proofs.source.syntax.aside import aside, only_logged
from proofs.source.syntax.fieldkinds import Casts, Fields
from proofs.source.syntax.fields import ANNOTATED, annotated
from proofs.source.syntax.merger import Merger
from proofs.symbolic import SymBool, SymInt, SymSeq, speech

TICK, ROWS = "_tick__", "_rows__"
NAME_OF, MODULE, INIT = "_name_of__", "_module__", "_init__"
MENTIONED, HANDLED, OPENED = "_mentioned__", "_handled__", "_opened__"
UNDECIDED = "_undecided__"
OUTSIDE = "a `{}` outside functions: what fails here need not fail in an engine"
SPOKEN, FORMATTED, JOINED = "_spoken__", "_formatted__", "_joined__"
JOINED_BY, REMAINDER, CAUGHT = "_joined_by__", "_remainder__", "_caught__"
_SYMBOLIC = (SymInt, SymBool, SymSeq)


def rewrite(
    tree: ast.Module,
    file: str,
    sinks: Collection[str] = (),
    acting: Collection[str] | None = (),
    sets: Collection[str] = (),
    unseen: Collection[str] = (),
) -> ast.Module:
    """The tree to compile.

    Args:
        tree: the text's own; it is changed.
        file: the text's name.
        sinks: attributes of ``self`` that feed no decision.
        sets: attributes of ``self`` that hold a set whose content is free.
        acting: properties that do more than compute; None: nothing may be computed ahead.
        unseen: names that an import binds to what nobody knows.

    Raises:
        Rejected: the text assigns an attribute that symbolic values use internally.
    """
    logged = only_logged(tree)
    if acting is not None:
        tree = Merger(sinks, sets).visit(Acting(acting).visit(tree) if acting else tree)
    asks = not any(bound_by(node) == "isinstance" for node in ast.walk(tree))
    changed: ast.Module = _Rewriter(tree, file, unseen, asks, logged).visit(tree)
    return ast.fix_missing_locations(changed)


class _Rewriter(ast.NodeTransformer):
    def __init__(
        self,
        tree: ast.Module,
        file: str,
        unseen: Collection[str],
        asks: bool,
        logged: Collection[ast.AST],
    ) -> None:
        self.file, self._unseen, self._asks, self._logged = file, unseen, asks, logged
        self._fields, self._casts = Fields(tree), Casts(tree)
        self._in_function = False

    # -- annotations ---------------------------------------------------------------------------

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:  # it makes a name local all the same
            if not self._in_function and isinstance(node.target, ast.Name):
                stored = ast.Assign([ast.Name(node.target.id, ast.Store())], ast.Constant(None))
                return ast.copy_location(ast.If(ast.Constant(False), [stored], []), node)
            node.annotation = ast.copy_location(ast.Constant(None), node.annotation)
            return self.generic_visit(node)
        made = ast.Assign(targets=[node.target], value=node.value)
        return self.generic_visit(ast.copy_location(made, node))

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.copy_location(ast.arg(node.arg), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        decorators, node.decorator_list = node.decorator_list, []
        outer, self._in_function = self._in_function, True
        self.generic_visit(node)
        self._in_function = outer
        node.decorator_list = [self._used(part) for part in decorators]
        self._tick(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        outer, self._in_function = self._in_function, False
        node.decorator_list = [self._used(part) for part in node.decorator_list]
        node.bases = [self._used(part) for part in node.bases]
        annotated = self._fields.of(node) if node.decorator_list or node.bases else None
        node.body = [s for part in node.body for s in _as_list(self.visit(part))]
        if annotated is not None:
            node.body.insert(0, ast.copy_location(annotated, node.body[0]))
        self._in_function = outer
        return node

    # -- what may fail here and not there ------------------------------------------------------

    def visit_Try(self, node: ast.Try) -> ast.AST:
        self.generic_visit(node)
        return self._outside(node, "try")

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        for item in node.items:
            opened = _call(OPENED, item.context_expr, ast.Constant(item.optional_vars is not None))
            item.context_expr = ast.copy_location(opened, item.context_expr)
        return self._outside(node, "with")

    def _outside(self, node: ast.Try | ast.With, what: str) -> ast.AST:
        if not self._in_function:
            doubt = ast.Expr(_call(UNDECIDED, ast.Constant(OUTSIDE.format(what))))
            node.body.insert(0, ast.copy_location(doubt, node))
        return node

    # -- loops ---------------------------------------------------------------------------------

    def _loop(self, node: ast.While | ast.For) -> ast.AST:
        self.generic_visit(node)
        self._tick(node.body)
        return node

    visit_While = visit_For = _loop

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.ifs.insert(0, ast.copy_location(_call(TICK), node.iter))
        return node

    def visit_Break(self, node: ast.Break) -> list[ast.stmt]:
        return [ast.copy_location(ast.Expr(_call(TICK)), node), node]

    def visit_Continue(self, node: ast.Continue) -> list[ast.stmt]:
        return [ast.copy_location(ast.Expr(_call(TICK)), node), node]

    def _tick(self, body: list[ast.stmt]) -> None:
        body.insert(0, ast.copy_location(ast.Expr(_call(TICK)), body[0]))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """``x is y``: a symbolic truth value is not the object it stands for."""
        self.generic_visit(node)
        operands = [node.left, *node.comparators]
        told = [any(map(_is_none, pair)) for pair in pairwise(operands)]
        kinds = [isinstance(op, ast.Is | ast.IsNot) for op in node.ops]
        if not any(kind and not none for kind, none in zip(kinds, told, strict=True)):
            return counted.compare(node)
        if len(node.ops) > 1:
            raise Rejected(self.file, node.lineno, "compares by `is` in a chain of comparisons")
        name = IS if isinstance(node.ops[0], ast.Is) else IS_NOT
        return ast.copy_location(_call(name, *operands), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Invert):
            return ast.copy_location(_call(INVERT, node.operand), node)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if node in self._logged:
            node.test = aside(node.test)
        return node

    # -- texts ---------------------------------------------------------------------------------

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(_call(JOINED, *node.values), node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        self.generic_visit(node)
        spec = node.format_spec or ast.Constant("")
        made = _call(FORMATTED, node.value, ast.Constant(node.conversion), spec)
        return ast.copy_location(made, node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod):
            return ast.copy_location(_call(REMAINDER, node.left, node.right), node)
        return counted.count(counted.divide(node))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        return counted.add(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        made = counted.up(node)
        self.generic_visit(made)
        return made

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        self.generic_visit(node)
        return counted.bounds(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if self._casts.names_a_type(node):
            node.args[0] = ast.copy_location(ast.Constant(None), node.args[0])
        node.func = self._used(node.func)
        asks = self._asks and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        of = self._used if asks else self.visit
        node.args = [*map(self.visit, node.args[:1]), *map(of, node.args[1:])]
        if node in self._logged:
            node.args = [*map(aside, node.args)]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
            if keyword.arg == "maxlen":
                keyword.value = _call(CUT, keyword.value)
        match node:
            case ast.Call(func=ast.Name(id="str"), args=[value], keywords=[]):
                made = _call(SPOKEN, node.func, value)
            case ast.Call(func=ast.Attribute(value=separator, attr="join"), args=[items]):
                made = _call(JOINED_BY, separator, items)
            case _:
                return counted.count(node)
        if node.keywords or isinstance(node.args[0], ast.Starred):
            return node
        return ast.copy_location(made, node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        node.body = [s for part in node.body for s in _as_list(self.visit(part))]
        if node.type is not None:
            node.type = ast.copy_location(_call(HANDLED, node.type), node.type)
        node.body.insert(0, ast.copy_location(ast.Expr(_call(CAUGHT)), node.body[0]))
        return node

    # -- values --------------------------------------------------------------------------------

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        return node if node.keys else ast.copy_location(_call(ROWS), node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load):
            if node.id == "__name__":
                return ast.copy_location(_call(MODULE), node)
            if node.id in self._unseen:
                return ast.copy_location(_call(MENTIONED, node), node)
        return node

    def _used(self, node: ast.expr) -> ast.expr:
        """Where a name is called, read from or derived from, what is unknown says so itself."""
        if isinstance(node, ast.Name) and node.id in self._unseen:
            return node
        return self.visit(node)  # type: ignore[no-any-return]

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        node.value, node.slice = self._used(node.value), self.visit(node.slice)
        return counted.look_up(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.value = self._used(node.value)
        if isinstance(node.ctx, ast.Load):
            if node.attr in _GUARDED:
                return ast.copy_location(_call(_GUARDED[node.attr], node.value), node)
            if node.attr not in INTERNALS:
                return node
            read = _call(READ, node.value, ast.Constant(node.attr))
            return ast.copy_location(read, node)
        if node.attr in UNSTORABLE:
            raise Rejected(self.file, node.lineno, f"assigns the attribute {node.attr}")
        return node


_GUARDED = {"__name__": NAME_OF, "__init__": INIT}


def _as_list(made: Any) -> list[ast.stmt]:
    return made if isinstance(made, list) else [made]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(func=ast.Name(name, ast.Load()), args=list(arguments), keywords=[])


def read(value: object, name: str) -> object:
    """``value.name``, where a symbolic value answers as what it stands for."""
    if type(value) in _SYMBOLIC and (name in INTERNALS or "__" in name):
        stands_for = {SymInt: "int", SymBool: "bool", SymSeq: "list"}[type(value)]
        raise AttributeError(f"{stands_for!r} object has no attribute {name!r}")
    return getattr(value, name)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    ANNOTATED: annotated,
    READ: read,
    JOINED: speech.joined,
    JOINED_BY: speech.joined_by,
    **identity.FUNCTIONS,
}
"""Name in a rewritten text → what it calls there, whatever text it is."""
