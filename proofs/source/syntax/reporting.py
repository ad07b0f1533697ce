"""Reading a set that an earlier step left, without a fork where nothing depends on the answer.

Two shapes: ``if x in s: report[x] = value`` where ``report`` is only handed on, and
``sum(f(x) for x in s)``.  Everything else that asks such a set is left as it is, and forks.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from proofs.source.syntax.computing import call, only_computes, thunk
from proofs.source.walking import walk

HAS, PERHAPS, TOTAL = "_has__", "_perhaps__", "_total__"


def is_of(node: ast.AST, names: Collection[str]) -> bool:
    """``self.<one of the names>``."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=attr):
            return attr in names
    return False


def reports(function: ast.FunctionDef) -> set[str]:
    """Names that hold one new dictionary, are stored into, and are handed on when it returns."""
    uses: dict[str, list[ast.Name]] = {}
    for node in walk(function):
        if isinstance(node, ast.Name):
            uses.setdefault(node.id, []).append(node)
    fine: dict[str, list[ast.Name]] = {}
    made: list[str] = []
    for node in walk(function):
        match node:
            case (
                ast.Assign(targets=[ast.Name() as name], value=ast.Dict(keys=[]))
                | ast.AnnAssign(target=ast.Name() as name, value=ast.Dict(keys=[]))
            ):
                made.append(name.id)
                fine.setdefault(name.id, []).append(name)
            case ast.Subscript(value=ast.Name() as name, ctx=ast.Store()):
                fine.setdefault(name.id, []).append(name)
            case ast.Return(value=ast.Call(keywords=keywords)):
                for keyword in keywords:
                    if isinstance(keyword.value, ast.Name):
                        fine.setdefault(keyword.value.id, []).append(keyword.value)
    return {
        name
        for name in made
        if made.count(name) == 1 and len(fine.get(name, ())) == len(uses[name])
    }


def report_filled(
    node: ast.If, sets: Collection[str], function: ast.FunctionDef | None
) -> ast.stmt | None:
    """``if x in self.<set>: report[key] = value``, without a fork; None if it is something else."""
    if function is None:
        return None
    match node:
        case ast.If(
            test=ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[items]),
            body=[
                ast.Assign(
                    targets=[ast.Subscript(value=ast.Name(id=report), slice=key)], value=value
                )
            ],
            orelse=[],
        ) if is_of(items, sets) and only_computes(left) and only_computes(key):
            owner: ast.expr = ast.Constant(None)
            match value:
                case ast.Call(func=ast.Attribute(value=copied, attr="copy"), args=[], keywords=[]):
                    owner = copied
            if not only_computes(value if isinstance(owner, ast.Constant) else owner):
                return None
            if report not in reports(function):
                return None
            holds: ast.expr = call(HAS, left, items)
            if isinstance(op, ast.NotIn):
                holds = call("_not__", holds)
            given = owner if isinstance(owner, ast.Constant) else thunk(owner)
            name = ast.Name(report, ast.Load())
            filled = call(PERHAPS, holds, name, thunk(key), thunk(value), given)
            return ast.copy_location(ast.Assign([ast.Name(report, ast.Store())], filled), node)
    return None


def summed(node: ast.Call, sets: Collection[str]) -> ast.expr | None:
    """``sum(f(x) for x in self.<set>)`` as a call; None if it is something else."""
    match node:
        case ast.Call(
            func=ast.Name(id="sum"),
            args=[
                ast.GeneratorExp(
                    elt=number,
                    generators=[
                        ast.comprehension(
                            target=ast.Name(id=variable), iter=items, ifs=[], is_async=0
                        )
                    ],
                )
            ],
            keywords=[],
        ) if is_of(items, sets):
            taken = ast.arguments(
                posonlyargs=[],
                args=[ast.arg(variable)],
                kwonlyargs=[],
                kw_defaults=[],
                defaults=[],
            )
            of_each = ast.copy_location(ast.Lambda(args=taken, body=number), number)
            return ast.copy_location(call(TOTAL, items, of_each), node)
    return None


def only_taken(texts: Iterable[list[ast.AST]], names: Collection[str]) -> frozenset[str]:
    """Those of the attributes that the texts fill and sum over, and read nowhere else.

    Args:
        texts: the nodes of each.
    """
    read: set[str] = set()
    for nodes in texts:
        allowed: set[int] = set()
        for node in nodes:
            match node:
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=filled, attr=attr))) if (
                    attr in FILLS
                ):
                    allowed.add(id(filled))
                case ast.Call() if summed(node, names) is not None:
                    (elements,) = node.args
                    assert isinstance(elements, ast.GeneratorExp)
                    allowed.add(id(elements.generators[0].iter))
        for node in nodes:
            match node:
                case ast.Attribute(attr=name, ctx=ast.Load()) if id(node) not in allowed:
                    read.add(name)
                case ast.Constant(value=str(name)):  # the name in a call of getattr
                    read.add(name)
    return frozenset(names) - read


FILLS = ("add", "discard", "update", "clear")
"""Methods that fill or empty a set and answer nothing."""
