"""Texts made of values: `str`, formatting and joining as the code under test has to do them.

C code that formats drops whatever subclass of `str` an object speaks in.  So the front end puts
these functions in the place of ``str(x)``, ``f"{x}"``, ``"%s" % x`` and ``", ".join(...)``: a text
that a symbolic value went into comes out `Veiled`, any other as Python makes it.  The C functions
are called by `heard` and by nobody else.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from proofs.symbolic.telling import heard
from proofs.symbolic.veiled import Veiled

WHAT = "a text made of symbolic values"
_CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


def spoken(kind: Any, value: Any) -> Any:
    """``kind(value)``, where ``kind`` is what the code under test calls ``str``."""
    return _said(str, value) if kind is str else kind(value)


def formatted(value: Any, conversion: int, spec: Any) -> Any:
    """``f"{value!conversion:spec}"``; a conversion of -1 is none."""
    if conversion in _CONVERSIONS:
        value = _said(_CONVERSIONS[conversion], value)
    return _veiled() if isinstance(spec, Veiled) else _said(format, value, spec)


def joined(*parts: Any) -> Any:
    """The parts of a formatted string."""
    return _veiled() if _is_veiled(parts) else "".join(parts)


def joined_by(separator: Any, items: Any) -> Any:
    """``separator.join(items)``."""
    if type(separator) is not str and not isinstance(separator, Veiled):
        return separator.join(items)
    parts = list(items)
    return _veiled() if _is_veiled((separator, *parts)) else separator.join(parts)


def remainder(left: Any, right: Any) -> Any:
    """``left % right``, which formats where the left side is a text."""
    if isinstance(left, Veiled) and isinstance(left, str):
        return _veiled()
    return _said(operator.mod, left, right) if type(left) is str else left % right


def _said(say: Callable[..., str], *given: Any) -> Any:
    """What a C function says; veiled if it asked a symbolic value."""
    text, symbolic = heard(say, *given)
    return _veiled() if symbolic else text


def _is_veiled(parts: tuple[Any, ...]) -> bool:
    return any(isinstance(part, Veiled) for part in parts)


def _veiled() -> Veiled:
    return Veiled(str, WHAT)
