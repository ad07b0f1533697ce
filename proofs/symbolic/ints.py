"""`SymInt`: an integer as a polynomial in normal form.

A term is a sorted tuple of ``(atom, coefficient)`` pairs plus a constant.  Terms
are interned by their `Pool`, so equal polynomials are the same object, and every
operation is remembered: re-running a prefix costs one dictionary look-up per
operator.  A result without atoms is returned as a plain ``int``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from proofs.symbolic.atoms import Atom, Bound, Minimum, Variable
from proofs.symbolic.telling import shown, told

if TYPE_CHECKING:
    from proofs.symbolic.pool import Pool


class SymInt:
    """A symbolic integer.  Arithmetic is exact; comparisons give `SymBool`."""

    __slots__ = ("const", "hi", "index", "is_counted", "lo", "pool", "terms")

    lo: Bound
    hi: Bound

    def __init__(
        self, pool: Pool, terms: tuple[tuple[Atom, int], ...], const: int, index: int
    ) -> None:
        self.pool, self.terms, self.const, self.index = pool, terms, const, index
        lo: Bound = const
        hi: Bound = const
        self.is_counted = False
        for atom, coefficient in terms:
            self.is_counted = self.is_counted or atom.is_counted
            low, high = (atom.lo, atom.hi) if coefficient > 0 else (atom.hi, atom.lo)
            lo, hi = lo + coefficient * low, hi + coefficient * high
        self.lo, self.hi = lo, hi

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance(x, int) answers as for the real thing
        return int

    # -- arithmetic: the pool remembers, `calculate` computes ------------------------

    def __add__(self, other: Any) -> Any:
        return self.pool.apply("+", self, other)

    def __sub__(self, other: Any) -> Any:
        return self.pool.apply("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.pool.apply("r-", self, other)

    def __mul__(self, other: Any) -> Any:
        return self.pool.apply("*", self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return self.pool.apply("*", self, -1)

    def __pos__(self) -> SymInt:
        return self

    def __abs__(self) -> Any:
        return self.__sym_max__(-self)

    def __pow__(self, exponent: Any) -> Any:
        if type(exponent) is not int or not 0 <= exponent <= 4:
            self._refuse(f"the power {shown(exponent)}")
        result: Any = 1
        for _ in range(exponent):
            result = self * result
        return result

    def __floordiv__(self, other: Any) -> Any:
        return self.pool.divide(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self.pool.divide(other, self)

    def __mod__(self, other: Any) -> Any:
        return self - self // other * other

    def __rmod__(self, other: Any) -> Any:
        return other - other // self * self

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __sym_min__(self, other: Any) -> Any:
        """``min(self, other)`` without forking."""
        return self.pool.minimum(self, other)

    def __sym_max__(self, other: Any) -> Any:
        """``max(self, other)`` without forking."""
        return self.pool.maximum(self, other)

    # -- comparisons -----------------------------------------------------------------

    def __le__(self, other: Any) -> Any:
        return self.pool.apply("<=", self, other)

    def __lt__(self, other: Any) -> Any:
        return self.pool.apply("<", self, other)

    def __ge__(self, other: Any) -> Any:
        return self.pool.apply(">=", self, other)

    def __gt__(self, other: Any) -> Any:
        return self.pool.apply(">", self, other)

    def __eq__(self, other: object) -> Any:
        return self.pool.apply("==", self, other)

    def __ne__(self, other: object) -> Any:
        equal = self.pool.apply("==", self, other)
        if type(equal) is bool:
            return not equal
        return equal if equal is NotImplemented else equal.negation

    def __bool__(self) -> bool:
        return bool(self != 0)

    # -- what has no symbolic meaning --------------------------------------------------

    def _refuse(self, what: str) -> NoReturn:
        self.pool.refuse(f"{what} of the symbolic integer {self.shown()}")

    def __hash__(self) -> NoReturn:  # noqa: PLE0309
        self._refuse("hash()")

    def __int__(self) -> NoReturn:
        self._refuse("int()")

    def __index__(self) -> int:
        if not self.is_counted:
            self._refuse("use as an index or range")
        return self.pool.place(self)

    def __float__(self) -> NoReturn:
        self._refuse("float()")

    def __round__(self, digits: object = None) -> int:
        self._refuse("round()")

    def __trunc__(self) -> int:
        self._refuse("trunc()")

    def __truediv__(self, other: object) -> NoReturn:
        self._refuse("true division")

    def __and__(self, other: object) -> NoReturn:
        self._refuse("a bitwise operation")

    def __reduce__(self) -> NoReturn:
        self._refuse("pickling")

    __floor__ = __ceil__ = __trunc__
    __rtruediv__ = __rpow__ = __truediv__
    __or__ = __xor__ = __lshift__ = __rshift__ = __and__
    __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = __and__

    def __invert__(self) -> Any:
        return -self - 1

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(int, name) and not name.startswith("__"):
            self._refuse(f"the attribute {name!r}")
        raise AttributeError(f"'int' object has no attribute {name!r}", name=name, obj=self)

    def __copy__(self) -> SymInt:
        return self

    def __deepcopy__(self, memo: object) -> SymInt:
        return self

    # -- for people --------------------------------------------------------------------

    @property
    def is_flag(self) -> bool:
        """Whether this is exactly one declared boolean."""
        atom, coefficient = self.terms[0]
        return (
            len(self.terms) == 1
            and (coefficient, self.const) == (1, 0)
            and isinstance(atom, Variable)
            and atom.is_flag
        )

    def relate(self, relation: str, value: int) -> str:
        """``self relation value`` as text, with negative terms moved to the right."""
        left = [_monomial(a, c) for a, c in self.terms if c > 0]
        right = [_monomial(a, -c) for a, c in self.terms if c < 0]
        constant = value - self.const
        if constant < 0 and right:
            left.append(str(-constant))
        elif constant or not right:
            right.append(str(constant))
        return f"{' + '.join(left) or '0'} {relation} {' + '.join(right)}"

    def __format__(self, spec: str) -> str:
        try:
            return told(format(self.shown(), spec))
        except ValueError:
            return told(self.shown())

    def __repr__(self) -> str:
        return told(self.shown())

    def shown(self) -> str:
        """The polynomial as text."""
        text = ""
        for atom, coefficient in self.terms:
            maximum = isinstance(atom, Minimum) and coefficient < 0
            sign = "-" if coefficient < 0 and not maximum else "+"
            shown = _maximum(atom, -coefficient) if maximum else _monomial(atom, abs(coefficient))
            text += f" {sign} {shown}"
        if self.const:
            text += f" {'-' if self.const < 0 else '+'} {abs(self.const)}"
        return text[3:] if text.startswith(" + ") else "-" + text[3:]


def _monomial(atom: Atom, coefficient: int) -> str:
    return repr(atom) if coefficient == 1 else f"{coefficient}*{atom!r}"


def _maximum(atom: Atom, coefficient: int) -> str:
    assert isinstance(atom, Minimum)
    text = f"max({', '.join(shown(-a) for a in atom.args)})"
    return text if coefficient == 1 else f"{coefficient}*{text}"
