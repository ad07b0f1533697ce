"""Request ids: names that tell requests apart, and of whose letters nobody knows anything.

A proof calls its requests R and W; a client calls them what it likes.  A text may compare the id of
one with that of another, look something up by it, hand it on, put it into a message.  Whoever asks
what it says, how long it is, or which comes first is undecided.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

from proofs.symbolic import Veiled
from proofs.symbolic.active import ACTIVE
from proofs.symbolic.telling import heard


class RequestId(Veiled):
    """The id of a request; there is one object for each."""

    __slots__ = ("hash__", "name__")

    def __init__(self, name: str) -> None:
        super().__init__(str, "a request id")
        self.name__, self.hash__ = name, hash(name)

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        if type(other) is RequestId or not isinstance(other, str):
            return False
        if ACTIVE.get() is None:
            return self.name__ == other
        return self.refuse__("a comparison")

    def __ne__(self, other: object) -> Any:
        return not self.__eq__(other)

    def __hash__(self) -> int:  # that of the name: sets go in the order Python would go
        return self.hash__

    def __bool__(self) -> bool:  # no request has an empty id
        return True

    def __format__(self, spec: str) -> str:
        return self.said__(format(self.name__, spec))

    def __repr__(self) -> str:
        return self.said__(repr(self.name__))

    def __str__(self) -> str:
        return self.said__(self.name__)

    def said__(self, text: str) -> str:
        """The prover may put a name into words; what a text makes of it is `heard`, or unknown."""
        trail, asks = ACTIVE.get(), sys._getframe(2)
        if trail is not None:
            if asks.f_code is heard.__code__:
                trail.heard = True
            elif asks.f_builtins is not _BUILTINS:
                self.refuse__("the text")
        return text


_BUILTINS = builtins.__dict__
"""What the prover's own frames see; a text sees a table of the loader's."""
_KNOWN: dict[str, RequestId] = {}


def id_of(name: str) -> Any:
    """The id of a request a run calls so; on plain numbers it is the name."""
    if ACTIVE.get() is None:
        return name
    known = _KNOWN.get(name)
    if known is None:
        known = _KNOWN[name] = RequestId(name)
    return known
