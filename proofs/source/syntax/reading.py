"""What the syntax trees of a text say before any of it is run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import TypeGuard

from proofs.source.entries import ABORTS
from proofs.source.names import MUTATORS
from proofs.source.walking import walk


def arities(nodes: Iterable[ast.AST]) -> dict[str, int]:
    """Method name → the number of values its answer is unpacked into somewhere."""
    return {
        node.value.func.attr: len(node.targets[0].elts)
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and isinstance(node.targets[0], ast.Tuple)
    }


def mentions(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Every attribute name, the parameters of every ``schedule``, and what a client calls."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.FunctionDef) and node.name == "schedule":
            found.update(argument.arg for argument in node.args.args)
        elif isinstance(node, ast.FunctionDef) and node.name == ABORTS:
            found.add(node.name)
    return frozenset(found)


def state(nodes: Mapping[str, list[ast.AST]]) -> dict[str, tuple[str, int]]:
    """Attributes of ``self`` that some method other than ``__init__`` changes."""
    found: dict[str, tuple[str, int]] = {}
    for file, inside in nodes.items():
        for function in inside:
            if isinstance(function, ast.FunctionDef) and function.name != "__init__":
                for node in walk(function):
                    for attribute in _changed(node):
                        found.setdefault(attribute.attr, (file, attribute.lineno))
    return found


def _changed(node: ast.AST) -> Iterable[ast.Attribute]:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        for target in node.targets:
            targets += target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets.append(node.target)
    elif isinstance(node, ast.Delete):
        targets += node.targets
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in MUTATORS
    ):
        targets.append(node.func.value)
    for target in targets:
        while isinstance(target, ast.Subscript | ast.Starred):
            target = target.value
        if (
            isinstance(target, ast.Attribute)
            and isinstance(target.value, ast.Name)
            and target.value.id == "self"
        ):
            yield target


def mentioned(trees: Mapping[str, ast.Module], name: str) -> tuple[str, int]:
    """Where an attribute or a global is named outside of ``__init__``, or else where it is made."""
    made = ("?", 0)
    for file, tree in trees.items():
        for function in walk(tree):
            if isinstance(function, ast.FunctionDef):
                named = [n.lineno for n in walk(function) if _names(n, name)]
                if named and function.name != "__init__":
                    return file, min(named)
        lines = [node.lineno for node in walk(tree) if _names(node, name)]
        if lines and not made[1]:
            made = file, min(lines)
    return made


def _names(node: ast.AST, name: str) -> TypeGuard[ast.Attribute | ast.Name | ast.FunctionDef]:
    match node:
        case ast.Attribute(attr=found) | ast.Name(id=found) | ast.FunctionDef(name=found):
            return found == name
    return False
