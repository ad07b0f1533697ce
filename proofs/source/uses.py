"""What a text does with a name tells what a row for it may say: so the row that is proposed fits.

A row that says None of what is called, counted or walked would only trade one gap for another.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

CALLED, OPENED, SCOPE, DECORATES, KIND = "called", "opened", "scope", "decorates", "kind"
"""Shapes of what no literal is; any other shape is the literal that fits."""
_RANKS = (CALLED, OPENED, SCOPE, DECORATES, KIND)
_KINDS = {OPENED: "object |", SCOPE: "", DECORATES: "same |", KIND: ""}
_CALLS = {
    OPENED: "make | {made}",
    CALLED: "",
    SCOPE: "scope |",
    DECORATES: "same | made",
    KIND: "",
}
"""Shape of a value, and of what a call returns → kind and value of the row; empty: none fits."""
_WHY = "why this choice is sound"
_WALKS = frozenset({"len", "list", "tuple", "set", "sorted", "sum", "any", "all", "enumerate"})
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_NUMERIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv)


_Table = dict[str, set[str]]


@dataclass
class Uses:
    """Shapes of each name, attribute, and answer, as the texts use them."""

    names: _Table = field(default_factory=dict)
    attributes: _Table = field(default_factory=dict)
    of_names: _Table = field(default_factory=dict)
    """Name that is called → shapes of what it returns."""
    of_attributes: _Table = field(default_factory=dict)

    @classmethod
    def of(cls, nodes: Iterable[ast.AST]) -> Uses:
        """What syntax trees do."""
        found, nodes = cls(), list(nodes)
        for node in nodes:
            for value, shape in _shapes(node):
                found._note(value, shape)
        for node in nodes:  # what is kept under a name is used as that name is
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                for shape in found._known(node.targets[0]):
                    found._note(node.value, shape)
        return found

    def _note(self, value: ast.expr, shape: str) -> None:
        place = self._place(value)
        if place is not None:
            table, name = place
            table.setdefault(name, set()).add(shape)

    def _known(self, value: ast.expr) -> set[str]:
        place = self._place(value)
        return set() if place is None else set(place[0].get(place[1], ()))

    def _place(self, value: ast.expr) -> tuple[_Table, str] | None:
        match value:
            case ast.Name(id=name):
                return self.names, name
            case ast.Attribute(attr=name):
                return self.attributes, name
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
                return self.attributes, name
            case ast.Call(func=ast.Name(id=name)):
                return self.of_names, name
            case ast.Call(func=ast.Attribute(attr=name)):
                return self.of_attributes, name
        return None

    # -- rows ----------------------------------------------------------------------------------

    def row(self, path: str) -> str:
        """The row a user would add for an unknown attribute; empty: there is none."""
        name = path.removesuffix("()").rpartition(".")[2]
        shape = _best(self.attributes, name)
        if shape == CALLED or path.endswith("()"):
            answer = _best(self.of_attributes, name, but=CALLED)
            return _row(path.removesuffix("()") + "()", name, CALLED, answer)
        return _row(path, "", shape, "")

    def import_row(self, name: str, shape: str = "") -> str:
        """The row for an imported name; empty: there is none.

        Args:
            shape: how it is used where it is met; empty: as elsewhere.
        """
        usual = _best(self.names, name)
        shape = usual if usual == DECORATES else shape or usual
        return _row(f"import {name}", name, shape, _best(self.of_names, name, but=CALLED))


def _row(path: str, made: str, shape: str, answer: str) -> str:
    """Args: made: how an object is called that a call returns; answer: the shape of that."""
    if shape == CALLED:
        said = _CALLS.get(answer, f"call | {answer}")
    else:
        said = _KINDS.get(shape, f"const | {shape}")
    return f"{path} | {said.replace('{made}', made)} | | | {_WHY}" if said else ""


def _best(table: _Table, name: str, but: str = "") -> str:
    """The shape that supposes most, but that one only where there is no other."""
    shapes = table.get(name, set())
    return min((shapes - {but}) or shapes, key=_rank, default="None")


def _rank(shape: str) -> tuple[int, str]:
    if shape in _RANKS:
        return _RANKS.index(shape), ""
    return len(_RANKS) + (shape == "0"), shape


def _shapes(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Each value a node uses, and the shape that use supposes."""
    match node:
        case ast.Attribute(value=value):
            yield value, OPENED
        case ast.Call(func=function, args=given):
            yield function, CALLED
            if isinstance(function, ast.Name) and function.id in _WALKS and given:
                yield given[0], "()"
            elif isinstance(function, ast.Name) and function.id == "issubclass":
                yield from ((value, KIND) for value in given)
        case ast.For(iter=value) | ast.comprehension(iter=value) | ast.Starred(value=value):
            yield value, "()"
        case ast.withitem(context_expr=value):
            yield value, SCOPE
        case ast.FunctionDef(decorator_list=values) | ast.ClassDef(decorator_list=values):
            yield from ((value, DECORATES) for value in values)
        case ast.Subscript(value=value, slice=part):
            yield value, _subscripted(part)
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value):
            yield value, repr((None,) * len(parts))
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [left, *others]
            for op, one, two in zip(ops, sides, others, strict=False):
                if isinstance(op, ast.In | ast.NotIn):
                    yield two, "()"
                elif isinstance(op, _ORDER):
                    yield one, "0"
                    yield two, "0"
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _NUMERIC):
            yield left, "0"
            yield right, "0"
        case ast.AugAssign(op=op, value=value) if isinstance(op, _NUMERIC):
            yield value, "0"


def _subscripted(part: ast.expr) -> str:
    match part:
        case ast.Slice():
            return "()"
        case ast.Constant(value=int() | str() as key) if "|" not in str(key):
            return f"{{{key!r}: None}}"
    return "{}"
