"""The tokens a runner returns: each may be the one that stops its request."""

from __future__ import annotations

from typing import Any

from proofs.source.stubs import SealedMeta

TOKEN = 1
"""Every token is this one: no decision but a stop depends on which token it is."""


class Token(int, metaclass=SealedMeta):
    """A token the runner returned."""

    stops__: Any
    """Whether it meets its request's stop condition: a free answer, the same whoever asks."""

    def __new__(cls, stops: Any) -> Token:
        token = super().__new__(cls, TOKEN)
        token.stops__ = stops
        return token


def others_among(tokens: Any) -> Any:
    """How many of these (one, or a list of them) no runner returned."""
    if not isinstance(tokens, list):
        return int(type(tokens) is not Token)
    element = getattr(tokens, "element", None)
    if element is None:
        return sum(1 for token in tokens if type(token) is not Token)
    return 0 if type(element) is Token else getattr(tokens, "length", 0)
