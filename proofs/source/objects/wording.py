"""The text of a named tuple or a dataclass, as Python words it, of values that may be symbolic.

Python's own would ask each value from within, where nobody hears that a symbolic one answers.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from proofs.symbolic.telling import heard, told


def _worded(called: str, fields: dict[str, Any]) -> tuple[str, bool]:
    """The text, and whether a symbolic value went into it."""
    texts = {name: heard(repr, value) for name, value in fields.items()}
    said = ", ".join(f"{name}={text}" for name, (text, _) in texts.items())
    return f"{called}({said})", any(symbolic for _, symbolic in texts.values())


def _of_tuple(value: Any) -> str:
    text, symbolic = _worded(type(value).__name__, dict(zip(value._fields, value, strict=True)))
    return told(text) if symbolic else text


def _of_dataclass(value: Any) -> str:
    names = [field.name for field in dataclasses.fields(value) if field.repr]
    text, symbolic = _worded(type(value).__qualname__, {n: getattr(value, n) for n in names})
    return told(text) if symbolic else text


def word(made: type) -> None:
    """Let the objects of a class that Python has completed speak so; one of the text's does not."""
    type.__setattr__(made, "__repr__", _of_tuple if issubclass(made, tuple) else _of_dataclass)
