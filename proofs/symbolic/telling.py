"""The text of a symbolic value: for people, and for nobody who branches on it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from proofs.symbolic.active import ACTIVE


def told(text: str) -> str:
    """What ``repr`` and the like of a symbolic value say: called by these, with the text.

    Outside a run a person reads it.  In a run the code under test might, and a formula is not the
    number it stands for: the path is undecided, unless it is `heard` that asks.
    """
    trail = ACTIVE.get()
    if trail is not None:
        if sys._getframe(2).f_code is not heard.__code__:
            trail.unsupported(f"the text of the symbolic value {text}")
        trail.heard = True
    return text


def heard(say: Callable[..., str], *given: Any) -> tuple[str, bool]:
    """What a C function says, and whether it asked a symbolic value for that."""
    trail = ACTIVE.get()
    if trail is None:
        return say(*given), False
    before, trail.heard = trail.heard, False
    try:
        return say(*given), trail.heard
    finally:
        trail.heard = before


def shown(value: Any) -> str:
    """The text of any value for a message of ours."""
    kind = type(value)
    show = getattr(kind, "shown", None) or getattr(kind, "shown__", None)
    return repr(value) if show is None else str(show(value))
