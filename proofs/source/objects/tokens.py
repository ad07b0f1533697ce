"""Tokens: those a runner returns, each of which may end its request, and all others.

Which token it is no decision may depend on: whoever looks at one is undecided.  What ends a request
is asked of the world.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from proofs.symbolic import Veiled


class Unseen(Veiled):
    """A token of which nothing is known: of a prompt, drafted, or returned in an earlier step."""

    __slots__ = ()

    def __init__(self, what: str = "a token") -> None:
        super().__init__(int, what)

    def __eq__(self, other: object) -> Any:
        if type(other) is StopToken:
            return other.ends__(self)
        return self.refuse__("a comparison")

    def __ne__(self, other: object) -> Any:
        return not self.__eq__(other)

    def __hash__(self) -> NoReturn:  # noqa: PLE0309
        self.refuse__("hash()")

    def another__(self) -> Unseen:
        """It stands for tokens that may differ: each is an object of its own."""
        return Unseen()


class Token(Unseen):
    """A token the runner returned."""

    __slots__ = ("stops__",)

    def __init__(self, stops: Any) -> None:
        super().__init__()
        self.stops__ = stops
        """Whether it meets its request's stop condition: a free answer, the same whoever asks."""

    def another__(self) -> Token:
        """Itself: the same token again."""
        return self


class StopToken(Veiled):
    """Compares equal to a token if the client's stop condition is met by it."""

    __slots__ = ("ends__",)

    def __init__(self, ends: Callable[[Any], bool]) -> None:
        super().__init__(int, "a stop token")
        self.ends__ = ends

    def __eq__(self, other: object) -> Any:
        return self.ends__(other)

    def __ne__(self, other: object) -> Any:
        return not self.ends__(other)

    def __hash__(self) -> NoReturn:  # noqa: PLE0309
        self.refuse__("hash()")


UNSEEN = Unseen()
PLACEHOLDER = -1
"""What vLLM's asynchronous scheduler writes where a draft is not known yet; no token is this."""


def others_among(tokens: Any) -> Any:
    """How many of these (one, or a list of them) no runner returned."""
    if not isinstance(tokens, list):
        return int(type(tokens) is not Token)
    element = getattr(tokens, "element", None)
    if element is None:
        return sum(1 for token in tokens if type(token) is not Token)
    return 0 if type(element) is Token else getattr(tokens, "length", 0)
