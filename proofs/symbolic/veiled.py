"""`Veiled`: a value of a known type that may be handed on, and must not be looked at.

Some values matter to nobody but their reader: what a number looks like in a message, the time of
day.  The code under test may store one, add it to another, put it into a text.  Whoever compares
it, counts it or looks something up by it would learn what is not known: the path is undecided.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from proofs.symbolic.active import ACTIVE
from proofs.symbolic.errors import Unsupported
from proofs.symbolic.telling import told


def refused(reason: str) -> NoReturn:
    """Leave the path undecided; outside a run there is none to leave."""
    trail = ACTIVE.get()
    if trail is None:
        raise Unsupported(reason)
    trail.unsupported(reason)


def _looked_at(use: str) -> Callable[..., Any]:
    """The method of a use that asks for the value."""

    def refuse(self: Veiled, *others: object) -> NoReturn:
        self.refuse__(use)

    return refuse


def _combined(operator: str) -> Callable[[Veiled, Any], Any]:
    """The method of an operator whose result nobody has seen either."""
    return lambda self, other: self.combined__(operator, other)


class Veiled:
    """A value of type ``kind``; ``what`` it is, in words.

    It is no subclass of `str`: C code reads the letters of one without asking.  What it refuses
    with a `TypeError` instead is looked at by `caught`.
    """

    __slots__ = ("kind__", "what__")  # two underscores: no text under proof gets at them

    def __init__(self, kind: type, what: str) -> None:
        self.kind__, self.what__ = kind, what

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance(x, str) answers as for the real thing
        return self.kind__

    def refuse__(self, use: str) -> NoReturn:
        """Leave the path undecided: it depends on the value."""
        refused(f"{use} of {self.what__}, which is not known")

    def combined__(self, operator: str, other: Any) -> Any:
        """``self operator other``, where that is sure to be a value."""
        if self.kind__ is str:
            fits = isinstance(other, str) if operator == "+" else isinstance(other, int)
            fits = fits and operator in "+*"
        else:
            fits = isinstance(other, int | float)
            if operator in ("/", "//", "%") and fits and (type(other) not in _NUMBERS or not other):
                self.refuse__("the quotient by a number that may be 0")
        if not fits:
            return NotImplemented
        whole = operator != "/" and self.kind__ is not float and not isinstance(other, float)
        return Veiled(str if self.kind__ is str else int if whole else float, self.what__)

    __add__ = __radd__ = _combined("+")
    __sub__ = __rsub__ = _combined("-")
    __mul__ = __rmul__ = _combined("*")
    __truediv__, __floordiv__, __mod__ = _combined("/"), _combined("//"), _combined("%")
    __rtruediv__ = __rfloordiv__ = __rmod__ = __divmod__ = __rdivmod__ = _looked_at("a quotient")
    __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _looked_at(
        "a power or a bitwise operation"
    )
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __invert__ = __pow__
    __neg__ = __pos__ = __abs__ = _looked_at("the sign")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _looked_at("a comparison")
    __hash__ = _looked_at("hash()")
    __bool__ = _looked_at("the truth value")
    __len__ = _looked_at("the length")
    __iter__ = __reversed__ = _looked_at("iteration")
    __contains__ = __getitem__ = _looked_at("a part")
    __int__ = __index__ = __float__ = __complex__ = _looked_at("the number")
    __round__ = __trunc__ = __floor__ = __ceil__ = _looked_at("the number")
    __bytes__ = __reduce__ = _looked_at("the bytes")

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(self.kind__, name):
            self.refuse__(f"the attribute {name!r}")
        kind = self.kind__.__name__
        raise AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=self)

    def another__(self) -> Veiled:
        """What a list that holds it throughout gives to each who reads an element."""
        return self

    def shown__(self) -> str:
        """What it is, for a message of ours."""
        return f"<{self.what__}>"

    def __copy__(self) -> Veiled:
        return self

    def __deepcopy__(self, memo: object) -> Veiled:
        return self

    def __format__(self, spec: str) -> str:
        return told(f"<{self.what__}>")

    def __repr__(self) -> str:
        return told(f"<{self.what__}>")


_NUMBERS = (int, float)
