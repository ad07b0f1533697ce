"""An exception of the model as a broken promise: where it was raised, with the numbers of the day.

A failed ``assert a == b`` is read back from the source line and both sides are evaluated in the
frame that raised it, so that a report can say ``rows = 1 != 2`` and not only *AssertionError*.
"""

from __future__ import annotations

import ast
import linecache
import traceback
from pathlib import Path
from types import FrameType

from model.request import Request
from proofs.trace import Violation
from spec.claims import NEGATED

INVARIANT = "no-reachable-assert"
SYMBOLS = {ast.LtE: "<=", ast.Lt: "<", ast.GtE: ">=", ast.Gt: ">", ast.Eq: "=="}


def violation_of(error: Exception) -> Violation:
    """What an exception of the model breaks, and on which numbers."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    where = traceback.extract_tb(error.__traceback__)[-1]
    file = "/".join(Path(where.filename).parts[-2:])
    what = f"{type(error).__name__} in {where.name} ({file}:{where.lineno}): {error}"
    request = _request(frames)
    sides = _sides(where.filename, where.lineno or 0, frames[-1])
    if sides is None:
        return Violation(INVARIANT, 1, "==", 0, {"exceptions": 1}, what, request, ("exceptions",))
    (left_name, left), relation, (right_name, right) = sides
    numbers = f"{_named(left_name, left)} {NEGATED[relation]} {_named(right_name, right, True)}"
    terms = {left_name: left} | ({right_name: right} if right_name != left_name else {})
    sentence = f"{numbers}: {what}"
    return Violation(INVARIANT, left, relation, right, terms, sentence, request, (left_name,))


def _request(frames: list[FrameType]) -> str:
    """The request the innermost frame that has one was looking at."""
    for frame in reversed(frames):
        found = frame.f_locals.get("request")
        if isinstance(found, Request):
            return found.request_id
    return ""


def _sides(
    file: str, line: int, frame: FrameType
) -> tuple[tuple[str, int], str, tuple[str, int]] | None:
    """Both sides of the comparison an assertion on one line makes, if they are whole numbers."""
    try:
        (statement,) = ast.parse(linecache.getline(file, line).strip()).body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(statement, ast.Assert) or not isinstance(statement.test, ast.Compare):
        return None
    test = statement.test
    relation = SYMBOLS.get(type(test.ops[0]))
    if relation is None or len(test.ops) != 1:
        return None
    values = []
    for side in (test.left, test.comparators[0]):
        name = ast.unparse(side)
        # The text is the model's own: evaluating a side again changes nothing.
        value = eval(name, frame.f_globals, frame.f_locals)
        if not isinstance(value, int):
            return None
        values.append((name.replace("config.", ""), int(value)))
    return values[0], relation, values[1]


def _named(name: str, value: int, mirrored: bool = False) -> str:
    """``rows = 1``, or ``2 = 1 + num_spec_tokens`` on the right; a number needs no name."""
    if name.lstrip("-").isdigit():
        return name
    return f"{value} = {name}" if mirrored else f"{name} = {value}"
