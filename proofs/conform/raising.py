"""An exception of the engine as data: where, about which request, and on which numbers.

Run by the engine's interpreter, beside ``child.py``; imports nothing of the project.  The numbers
are those an assertion compares: names, attributes and arithmetic are computed again in the frame
that raised; of calls, ``len`` only.
"""

from __future__ import annotations

import ast
import linecache
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

PLAIN = (ast.Name, ast.Attribute, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)

SYMBOLS = {ast.LtE: "<=", ast.Lt: "<", ast.GtE: ">=", ast.Gt: ">", ast.Eq: "=="}


def seen(error: Exception) -> dict[str, Any]:
    """What is compared of an exception."""
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    said = traceback.extract_tb(error.__traceback__)[-1]
    return {
        "raised": type(error).__name__,
        "why": str(error),
        "where": f"{Path(said.filename).name}:{said.lineno} in {said.name}: {said.line}",
        "rows": _given(frames, "num_scheduled_tokens", int),
        "drafts": _given(frames, "scheduled_spec_decode_tokens", len),
        "about": next(filter(None, (_request(frame) for frame, _ in reversed(frames))), ""),
        "compared": list(_comparisons(*frames[-1])) if isinstance(error, AssertionError) else [],
    }


def _given(frames: list[Any], field: str, number: Any) -> dict[str, int]:
    """What the step had given out by then: a variable called as the field of its output."""
    known = (frame.f_locals.get(field) for frame, _ in reversed(frames))
    found = next((given for given in known if isinstance(given, dict)), {})
    return {name: number(given) for name, given in found.items()}


def _request(frame: FrameType) -> str:
    """The request a frame was looking at."""
    return getattr(frame.f_locals.get("request"), "request_id", "")


def _comparisons(frame: FrameType, line: int) -> Iterator[list[Any]]:
    """The comparisons of whole numbers in an assertion: both sides by name and value."""
    text = "".join(linecache.getlines(frame.f_code.co_filename))
    for statement in ast.walk(ast.parse(text)):
        if isinstance(statement, ast.Assert) and _covers(statement, line):
            for part in ast.walk(statement.test):
                if isinstance(part, ast.Compare) and len(part.ops) == 1:
                    left, right = _side(part.left, frame), _side(part.comparators[0], frame)
                    if left and right:
                        yield [left, SYMBOLS.get(type(part.ops[0]), ""), right]


def _side(side: ast.expr, frame: FrameType) -> list[Any]:
    """Name and value; nothing where it is no whole number."""
    if not all(map(_is_plain, ast.walk(side))):
        return []
    name, value = ast.unparse(side), None
    with suppress(Exception):  # a comparison that was not reached need not make sense
        value = eval(name, frame.f_globals, frame.f_locals)
    return [name.replace("self.", ""), int(value)] if isinstance(value, int) else []


def _covers(statement: ast.stmt, line: int) -> bool:
    return statement.lineno <= line <= (statement.end_lineno or 0)


def _is_plain(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    return isinstance(node, (*PLAIN, ast.expr_context))
