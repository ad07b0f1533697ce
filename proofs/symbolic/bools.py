"""`SymBool`: a propositional formula over linear atoms, interned and negation-free.

Every formula is a *node* with a polarity, so negation is a flip and `or` is the
negation of `and`.  The inequalities ``t >= b + 1`` and ``not t <= b`` are one
literal by construction: structural equality is object identity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from proofs.symbolic.atoms import Valuation
from proofs.symbolic.telling import told

if TYPE_CHECKING:
    from proofs.symbolic.ints import SymInt
    from proofs.symbolic.pool import Pool

T = TypeVar("T")


class AtMost:
    """``form <= bound``, where ``form`` is primitive: no constant, gcd 1, leading sign +."""

    __slots__ = ("bound", "form")

    def __init__(self, form: SymInt, bound: int) -> None:
        self.form, self.bound = form, bound

    def holds_at(self, at: Valuation) -> bool:
        """The truth value under an assignment."""
        return at.integer(self.form) <= self.bound


class Equals:
    """``form == value``, where ``form`` is primitive."""

    __slots__ = ("form", "value")

    def __init__(self, form: SymInt, value: int) -> None:
        self.form, self.value = form, value

    def holds_at(self, at: Valuation) -> bool:
        """The truth value under an assignment."""
        return at.integer(self.form) == self.value


class All:
    """A conjunction of at least two distinct literals, none of them a positive `All`."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[SymBool, ...]) -> None:
        self.parts = parts

    def holds_at(self, at: Valuation) -> bool:
        """The truth value under an assignment."""
        return all(part.holds_at(at) for part in self.parts)


Node = AtMost | Equals | All


def _arithmetic(method: str) -> Callable[[SymBool, Any], Any]:
    """The operator of that name, applied to the 0/1 value."""
    return lambda self, other: getattr(self.as_int(), method)(other)


class SymBool:
    """A symbolic truth value.  ``bool()`` of it forks the exploration."""

    __slots__ = ("index", "negation", "node", "pool", "positive")

    negation: SymBool

    def __init__(self, pool: Pool, node: Node, positive: bool, index: int) -> None:
        self.pool, self.node, self.positive, self.index = pool, node, positive, index

    def holds_at(self, at: Valuation) -> bool:
        """The truth value under an assignment."""
        return self.node.holds_at(at) is self.positive

    # -- branching ---------------------------------------------------------------

    def __bool__(self) -> bool:
        return self.pool.decide(self)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance(x, bool) answers as for the real thing
        return bool

    # -- connectives -------------------------------------------------------------

    def __invert__(self) -> SymBool:
        """Logical negation: ``~`` on a Python bool is arithmetic, on a `SymBool` it is not."""
        return self.negation

    def __and__(self, other: object) -> Any:
        if type(other) is SymBool:
            return self.pool.both(self, other)
        if type(other) is bool:
            return self if other else False
        return self.as_int() & other

    def __or__(self, other: object) -> Any:
        if type(other) is SymBool:
            both = self.pool.both(self.negation, other.negation)
            return both.negation if type(both) is SymBool else not both
        if type(other) is bool:
            return True if other else self
        return self.as_int() | other

    def __xor__(self, other: object) -> Any:
        if type(other) is SymBool:
            return (self & other.negation) | (self.negation & other)
        if type(other) is bool:
            return self.negation if other else self
        return self.as_int() ^ other

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __eq__(self, other: object) -> Any:
        if type(other) is SymBool:
            return self is other or (self ^ other.negation)
        if type(other) is bool:
            return self if other else self.negation
        return self.as_int() == other

    def __ne__(self, other: object) -> Any:
        if type(other) is SymBool:
            return self is not other and self ^ other
        if type(other) is bool:
            return self.negation if other else self
        return self.as_int() != other

    def __sym_ite__(self, then: T, other: T) -> Any:
        """``then if self else other`` without forking where both are numbers."""
        return self.pool.conditional(self, then, other)

    # -- a bool is an int --------------------------------------------------------

    def as_int(self) -> SymInt:
        """The integer 1 where the formula holds, else 0."""
        value: SymInt = self.pool.conditional(self, 1, 0)
        return value

    __add__ = __radd__ = _arithmetic("__add__")
    __mul__ = __rmul__ = _arithmetic("__mul__")
    __sub__, __rsub__ = _arithmetic("__sub__"), _arithmetic("__rsub__")
    __floordiv__, __rfloordiv__ = _arithmetic("__floordiv__"), _arithmetic("__rfloordiv__")
    __mod__, __rmod__ = _arithmetic("__mod__"), _arithmetic("__rmod__")
    __divmod__, __rdivmod__ = _arithmetic("__divmod__"), _arithmetic("__rdivmod__")
    __pow__, __rpow__ = _arithmetic("__pow__"), _arithmetic("__rpow__")
    __truediv__, __rtruediv__ = _arithmetic("__truediv__"), _arithmetic("__rtruediv__")
    __lt__, __le__ = _arithmetic("__lt__"), _arithmetic("__le__")
    __gt__, __ge__ = _arithmetic("__gt__"), _arithmetic("__ge__")

    def __neg__(self) -> Any:
        return -self.as_int()

    def __pos__(self) -> Any:
        return self.as_int()

    __abs__ = __pos__

    # -- what has no symbolic meaning ----------------------------------------------

    def _refuse(self, what: str) -> NoReturn:
        self.pool.refuse(f"{what} of the symbolic truth value {self.shown()}")

    def __hash__(self) -> NoReturn:  # noqa: PLE0309
        self._refuse("hash()")

    def __int__(self) -> NoReturn:
        self._refuse("int()")

    def __index__(self) -> NoReturn:  # noqa: PLE0305
        self._refuse("use as an index or range")

    def __float__(self) -> NoReturn:
        self._refuse("float()")

    def __reduce__(self) -> NoReturn:
        self._refuse("pickling")

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(bool, name) and not name.startswith("__"):
            self._refuse(f"the attribute {name!r}")
        raise AttributeError(f"'bool' object has no attribute {name!r}", name=name, obj=self)

    def __copy__(self) -> SymBool:
        return self

    def __deepcopy__(self, memo: object) -> SymBool:
        return self

    def __format__(self, spec: str) -> str:
        return told(self.shown())

    def __repr__(self) -> str:
        return told(self.shown())

    def shown(self) -> str:
        """The formula as text."""
        node, positive = self.node, self.positive
        if isinstance(node, All):
            join = " and " if positive else " or "
            parts = (part if positive else part.negation for part in node.parts)
            return f"({join.join(part.shown() for part in parts)})"
        form = node.form
        if isinstance(node, Equals):
            return form.relate("==" if positive else "!=", node.value)
        if form.is_flag:
            return form.shown() if not positive else f"not {form.shown()}"
        if positive:
            return form.relate("<=", node.bound)
        return form.relate(">=", node.bound + 1)
