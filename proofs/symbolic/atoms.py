"""Atoms: the indeterminates of the polynomial normal form.

A declared variable is an atom, and so is every integer term that is not a
polynomial: a minimum, a conditional, a floor quotient, a product of atoms.  An
atom knows how to compute its own value from a `Valuation`, which makes Python
evaluation the reference semantics; the Z3 side (`lowering`) only approximates it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from proofs.symbolic.telling import shown

if TYPE_CHECKING:
    from proofs.symbolic.bools import SymBool
    from proofs.symbolic.ints import SymInt

Bound = float
"""An ``int``, or one of the two infinities."""

INF = math.inf


class Valuation(dict["Atom", int]):
    """An assignment to the declared variables; derived atoms are computed on demand.

    ``source`` supplies the value of a variable when it is first asked for, or
    ``None`` if it may be anything.
    """

    __slots__ = ("source",)

    def __init__(self, source: Callable[[Variable], int | None] = lambda _: None) -> None:
        super().__init__()
        self.source = source

    def __missing__(self, atom: Atom) -> int:
        value = self[atom] = atom.evaluate(self)
        return value

    def but_for(self, variable: Variable, value: int) -> Valuation:
        """The same assignment with another value of one variable."""
        made = Valuation(self.source)
        made.update((atom, known) for atom, known in self.items() if type(atom) is Variable)
        made[variable] = value
        return made

    def integer(self, term: SymInt | int) -> int:
        """The value of a term."""
        if type(term) is int:
            return term
        total: int = term.const  # type: ignore[union-attr]
        for atom, coefficient in term.terms:  # type: ignore[union-attr]
            total += coefficient * self[atom]
        return total


class Atom:
    """One indeterminate: interned, ordered by creation, with static bounds."""

    __slots__ = ("hi", "index", "is_counted", "lo", "term")

    index: int
    term: SymInt
    """The polynomial ``1 * atom``."""

    def __init__(self, lo: Bound, hi: Bound, is_counted: bool = False) -> None:
        self.lo, self.hi = lo, hi
        self.is_counted = is_counted
        """It rests on how many of something this run happens to have: see `counts`."""

    def evaluate(self, at: Valuation) -> int:
        """The value under an assignment."""
        raise NotImplementedError

    def parts(self) -> tuple[object, ...]:
        """The atoms, terms and formulas the value is computed from."""
        return ()


class Variable(Atom):
    """A declared input.  ``is_flag`` marks a boolean, held as 0 or 1."""

    __slots__ = ("is_flag", "name")

    def __init__(self, name: str, lo: Bound, hi: Bound, is_flag: bool = False) -> None:
        super().__init__(lo, hi)
        self.name, self.is_flag = name, is_flag

    def evaluate(self, at: Valuation) -> int:
        """What the source says; else, as nobody constrained it, the value nearest to zero."""
        value = at.source(self)
        return int(min(max(0, self.lo), self.hi)) if value is None else value

    def __repr__(self) -> str:
        return self.name


class Count(Atom):
    """How many of something a run has: known, and another number in another run."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        super().__init__(value, value, True)
        self.value = value

    def evaluate(self, at: Valuation) -> int:
        return self.value

    def __repr__(self) -> str:
        return str(self.value)


class Product(Atom):
    """A monomial of degree two or more, split as ``left * right`` for its lemmas."""

    __slots__ = ("factors", "left", "right")

    def __init__(self, factors: tuple[Atom, ...], right: Atom) -> None:
        self.factors, self.left, self.right = factors, factors[0], right
        corners = [_times(x, y) for x in (self.left.lo, self.left.hi) for y in (right.lo, right.hi)]
        square = factors[0] is right
        super().__init__(max(min(corners), 0) if square else min(corners), max(corners))

    def evaluate(self, at: Valuation) -> int:
        return at[self.left] * at[self.right]

    def parts(self) -> tuple[object, ...]:
        return self.factors

    def __repr__(self) -> str:
        return "*".join(map(repr, self.factors))


class Minimum(Atom):
    """The least of several terms (a maximum is the negated minimum of negations)."""

    __slots__ = ("args",)

    def __init__(self, args: tuple[SymInt | int, ...]) -> None:
        self.args = args
        lo, hi = min(lower(a) for a in args), min(upper(a) for a in args)
        super().__init__(lo, hi, any(map(_is_few, args)))

    def evaluate(self, at: Valuation) -> int:
        return min(at.integer(a) for a in self.args)

    def parts(self) -> tuple[object, ...]:
        return self.args

    def __repr__(self) -> str:
        return f"min({', '.join(map(shown, self.args))})"


class Conditional(Atom):
    """``then`` where the condition holds, else ``other``."""

    __slots__ = ("condition", "other", "then")

    def __init__(self, condition: SymBool, then: SymInt | int, other: SymInt | int) -> None:
        self.condition, self.then, self.other = condition, then, other
        lo, hi = min(lower(then), lower(other)), max(upper(then), upper(other))
        super().__init__(lo, hi, _is_few(then) or _is_few(other))

    def evaluate(self, at: Valuation) -> int:
        return at.integer(self.then if self.condition.holds_at(at) else self.other)

    def parts(self) -> tuple[object, ...]:
        return self.condition, self.then, self.other

    @property
    def is_indicator(self) -> bool:
        """Whether this is the 0/1 value of its condition."""
        return type(self.then) is int and type(self.other) is int

    def __repr__(self) -> str:
        if self.is_indicator:
            return f"[{shown(self.condition)}]"
        return f"({shown(self.then)} if {shown(self.condition)} else {shown(self.other)})"


class Quotient(Atom):
    """``dividend // divisor`` on paths where the divisor is positive."""

    __slots__ = ("dividend", "divisor")

    def __init__(self, dividend: SymInt | int, divisor: SymInt | int) -> None:
        self.dividend, self.divisor = dividend, divisor
        lo, hi = lower(dividend), upper(dividend)
        least, most = max(lower(divisor), 1), max(upper(divisor), 1)
        super().__init__(
            _floor(lo, most if lo >= 0 else least), _floor(hi, least if hi >= 0 else most)
        )

    def evaluate(self, at: Valuation) -> int:
        divisor = at.integer(self.divisor)
        return at.integer(self.dividend) // divisor if divisor > 0 else 0

    def parts(self) -> tuple[object, ...]:
        return self.dividend, self.divisor

    def __repr__(self) -> str:
        return f"({shown(self.dividend)}) // ({shown(self.divisor)})"


def lower(term: SymInt | int) -> Bound:
    """The static lower bound of a term."""
    return term if type(term) is int else term.lo  # type: ignore[union-attr]


def upper(term: SymInt | int) -> Bound:
    """The static upper bound of a term."""
    return term if type(term) is int else term.hi  # type: ignore[union-attr]


def counts(term: SymInt | int) -> bool:
    """Whether a term rests on how many of something this run happens to have."""
    return type(term) is not int and term.is_counted  # type: ignore[union-attr]


def _is_few(term: SymInt | int) -> bool:
    """Whether a term is no larger than it is for how few there are in this run."""
    return counts(term) and lower(term) != -INF and upper(term) != INF


def _times(x: Bound, y: Bound) -> Bound:
    """``x * y`` on bounds, where zero absorbs infinity."""
    return 0 if x == 0 or y == 0 else x * y


def _floor(x: Bound, y: Bound) -> Bound:
    """``x // y`` on bounds, for positive ``y``; a float only where infinite."""
    if abs(x) == INF:
        return x
    return (0 if x >= 0 else -1) if y == INF else x // y
