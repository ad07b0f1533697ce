"""An exception of the text as a broken promise, with the numbers of the day.

A failed ``assert rows == 1 + K`` is read back from the syntax tree, and both sides are computed
from the variables of the frame that raised, so that a report can say ``rows = 2 != 4 = 1 + K`` and
not only *AssertionError*.  Only names, attributes, whole numbers and arithmetic are computed:
nothing of the text is called.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FrameType, TracebackType

from proofs.source.errors import clean, said
from proofs.source.loader import Loaded
from proofs.source.objects.host import RanOn, is_plain_dict
from proofs.source.objects.requests import Request, length_of
from proofs.source.proving.sites import Site
from proofs.source.syntax.rewrite import read
from proofs.source.walking import walk
from proofs.trace import Violation
from spec.claims import NEGATED, RELATIONS

INVARIANT = "no-reachable-assert"
REQUEST = "request"
"""What a scheduler calls the request it looks at."""
LARGEST = 2**53
"""Largest number a trace carries."""

_SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.LtE: "<=",
    ast.Lt: "<",
    ast.GtE: ">=",
    ast.Gt: ">",
    ast.Eq: "==",
}
_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: int.__add__,
    ast.Sub: int.__sub__,
    ast.Mult: int.__mul__,
}
FLIPPED = {"<=": ">", "<": ">=", ">=": "<", ">": "<="}
"""Relation → what ``not`` makes of it."""


class _Unreadable(Exception):
    """An expression that is not whole numbers and arithmetic."""


def violation_of(loaded: Loaded, error: Exception, site: Site) -> Violation:
    """What an exception of the text breaks, and on which numbers."""
    frames = _frames(loaded, error)
    what = f"{type(error).__name__} in {site.function or site.file} ({site.file}:{site.line})"
    message = said(error)
    what += f": {message}" if message else ""
    request = request_at(loaded, error)
    sides = _sides(loaded, error, site, frames[-1][0]) if frames else None
    if sides is None:
        return Violation(INVARIANT, 1, "==", 0, {"exceptions": 1}, what, request, ("exceptions",))
    return compared(*sides, what, request)


def compared(
    left: tuple[str, int], relation: str, right: tuple[str, int], what: str, request: str
) -> Violation:
    """An assertion that failed on two numbers, each with its name."""
    sentence = f"{_named(*left)} {NEGATED[relation]} {_named(*right, mirrored=True)}: {what}"
    terms = {left[0]: left[1]} | ({right[0]: right[1]} if right[0] != left[0] else {})
    return Violation(INVARIANT, left[1], relation, right[1], terms, sentence, request, (left[0],))


def request_at(loaded: Loaded, error: Exception) -> str:
    """The request that the innermost frame of the text which knows one was looking at.

    A variable that a loop has left behind says nothing about a line after the loop.
    """
    for frame, line in reversed(_frames(loaded, error)):
        found = frame.f_locals.get(REQUEST)
        tree = loaded.trees[frame.f_code.co_filename]
        if isinstance(found, Request) and _looks_at_one(tree, frame.f_code.co_name, line):
            return found.request_id
    return ""


def _looks_at_one(tree: ast.Module, function: str, line: int) -> bool:
    """Whether a line of a function is about one request: in a loop, or the request was given."""
    for node in walk(tree):
        if not isinstance(node, ast.FunctionDef) or node.name != function:
            continue
        if node.lineno <= line <= (node.end_lineno or 0):
            loops = (n for n in walk(node) if isinstance(n, ast.For | ast.While))
            inside = any(n.lineno <= line <= (n.end_lineno or 0) for n in loops)
            return inside or any(argument.arg == REQUEST for argument in node.args.args)
    return False


def given_at(loaded: Loaded, error: Exception) -> tuple[dict[str, int], dict[str, int]]:
    """Rows and drafts the step had given out when it raised, by request: the text's own record.

    It is found by the names the fields of ``SchedulerOutput`` have; where a text calls its
    variables otherwise, nothing is known.
    """
    for frame, _ in _frames(loaded, error):
        rows = frame.f_locals.get("num_scheduled_tokens")
        drafts = frame.f_locals.get("scheduled_spec_decode_tokens", {})
        if is_plain_dict(rows) and is_plain_dict(drafts):
            given = {k: n for k, n in rows.items() if type(k) is str and type(n) is int}
            attached = {k: d for k, d in drafts.items() if type(k) is str and type(d) is list}
            return given, {name: len(tokens) for name, tokens in attached.items()}
    return {}, {}


# -- the frames of the text ------------------------------------------------------------------------


def _frames(loaded: Loaded, error: BaseException) -> list[tuple[FrameType, int]]:
    """The frames of the text in an exception's traceback and their lines, innermost last."""
    found: list[tuple[FrameType, int]] = []
    step: TracebackType | None = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename in loaded.host.files:
            found.append((step.tb_frame, step.tb_lineno))
        step = step.tb_next
    return found


# -- the comparison that failed --------------------------------------------------------------------


def _sides(
    loaded: Loaded, error: Exception, site: Site, frame: FrameType
) -> tuple[tuple[str, int], str, tuple[str, int]] | None:
    """Both sides of the comparison an assertion failed on, if they are whole numbers."""
    if not isinstance(error, AssertionError):
        return None
    for node in walk(loaded.trees[site.file]):
        if isinstance(node, ast.Assert) and node.lineno <= site.line <= (node.end_lineno or 0):
            try:
                return _failed(node.test, True, frame)
            except (Exception, RanOn):
                return None
    return None


def _failed(
    test: ast.expr, wanted: bool, frame: FrameType
) -> tuple[tuple[str, int], str, tuple[str, int]]:
    """The comparison because of which a test is not ``wanted``, read as it was promised."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _failed(test.operand, not wanted, frame)
    if isinstance(test, ast.BoolOp):
        failing = [part for part in test.values if bool(_value(part, frame)) is not wanted]
        for part in reversed(failing):
            try:
                return _failed(part, wanted, frame)
            except _Unreadable:
                continue
        raise _Unreadable
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        raise _Unreadable
    relation = _SYMBOLS.get(type(test.ops[0]), "")
    relation = relation if wanted else FLIPPED.get(relation, "")
    if not relation:
        raise _Unreadable
    return _number(test.left, frame), relation, _number(test.comparators[0], frame)


def _number(node: ast.expr, frame: FrameType) -> tuple[str, int]:
    value = _value(node, frame)
    if not isinstance(value, int) or abs(value) > LARGEST:
        raise _Unreadable
    return clean(ast.unparse(node).replace("self.", "")), int(value)


def _value(node: ast.expr, frame: FrameType) -> object:
    """What an expression is worth in a frame; nothing is called but ``len``."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            if name in frame.f_locals:
                return frame.f_locals[name]
            return frame.f_globals[name]
        case ast.Attribute(value=inner, attr=name):
            return read(_value(inner, frame), name)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_whole(inner, frame)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not _value(inner, frame)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](_whole(left, frame), _whole(right, frame))
        case ast.Call(func=ast.Name(id="len"), args=[inner], keywords=[]):
            return length_of(_value(inner, frame))
        case ast.BoolOp(op=op, values=parts):
            truths = [bool(_value(part, frame)) for part in parts]
            return all(truths) if isinstance(op, ast.And) else any(truths)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _SYMBOLS:
            return RELATIONS[_SYMBOLS[type(op)]](_whole(left, frame), _whole(right, frame))
    raise _Unreadable


def _whole(node: ast.expr, frame: FrameType) -> int:
    value = _value(node, frame)
    if not isinstance(value, int):
        raise _Unreadable
    return int(value)


# -- in words --------------------------------------------------------------------------------------


def _named(name: str, value: int, mirrored: bool = False) -> str:
    """``rows = 1``, or ``2 = 1 + num_spec_tokens`` on the right; a number needs no name."""
    if name.lstrip("-").isdigit():
        return name
    return f"{value} = {name}" if mirrored else f"{name} = {value}"
