"""The text of a function as it runs: its syntax, if the text says what the function does.

A rule about how code is written holds of what runs only where the two belong together.  So the
text is compiled again, and the function must have that code.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType

Place = tuple[str, int]
"""A name, and the first line of what it names."""


def definition(function: FunctionType) -> ast.FunctionDef | None:
    """How a function is written; None where nobody can tell."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    written, compiled = _read(text)
    place = code.co_name, code.co_firstlineno
    return written[place] if code in compiled.get(place, ()) else None


@lru_cache(maxsize=64)
def _read(text: str) -> tuple[dict[Place, ast.FunctionDef], dict[Place, list[CodeType]]]:
    """The functions of a text, and their code."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return {}, {}
    written: dict[Place, ast.FunctionDef] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(wrapper.lineno for wrapper in node.decorator_list)])
            written[node.name, first] = node
    compiled: dict[Place, list[CodeType]] = {}
    for code in _codes(compile(text, "<read again>", "exec", dont_inherit=True)):
        compiled.setdefault((code.co_name, code.co_firstlineno), []).append(code)
    return written, {place: codes for place, codes in compiled.items() if place in written}


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)
