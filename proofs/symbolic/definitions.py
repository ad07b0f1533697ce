"""What is true of a derived atom in every execution, stated as formulas.

For minima, conditionals and quotients by constants the facts define the atom
exactly.  For a product they are linear lemmas, enough for the loop invariants met
in practice; Z3 sees the product as an unknown that satisfies them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proofs.symbolic.atoms import INF, Atom, Conditional, Minimum, Product, Quotient


def facts(atom: Atom) -> Iterator[Any]:
    """Formulas about the atom; its static bounds are asserted besides."""
    if isinstance(atom, Minimum):
        yield from _minimum(atom)
    elif isinstance(atom, Conditional):
        if not atom.is_indicator:
            yield atom.condition.negation | (atom.term == atom.then)
            yield atom.condition | (atom.term == atom.other)
    elif isinstance(atom, Quotient):
        yield from _quotient(atom)
    elif isinstance(atom, Product):
        yield from _product(atom)


def _minimum(atom: Minimum) -> Iterator[Any]:
    reached: Any = False
    for arg in atom.args:
        yield atom.term <= arg
        reached = reached | (atom.term >= arg)
    yield reached


def _quotient(atom: Quotient) -> Iterator[Any]:
    """``quotient * divisor <= dividend < (quotient + 1) * divisor``, for a positive divisor."""
    quotient, divisor, dividend = atom.term, atom.divisor, atom.dividend
    scaled = quotient * divisor
    undefined: Any = divisor <= 0
    yield undefined | (scaled <= dividend)
    yield undefined | (dividend < scaled + divisor)
    if type(divisor) is not int:  # consequences that are not linear in the two above
        yield undefined | (dividend < 0) | (quotient >= 0) & (quotient <= dividend)
        yield undefined | (dividend >= 0) | (quotient <= -1) & (quotient >= dividend)


def _product(atom: Product) -> Iterator[Any]:
    product, x, y = atom.term, atom.left.term, atom.right.term
    yield (product != 0) | (x == 0) | (y == 0)
    yield (x != 0) | (product == 0)
    yield (y != 0) | (product == 0)
    yield (x != 1) | (product == y)
    yield (y != 1) | (product == x)
    # (|x| - 1) * (|y| - 1) >= 0, one quadrant at a time
    yield (x <= 0) | (y <= 0) | (product >= x + y - 1)
    yield (x >= 0) | (y >= 0) | (product >= -x - y - 1)
    yield (x <= 0) | (y >= 0) | (product <= y - x + 1)
    yield (x >= 0) | (y <= 0) | (product <= x - y + 1)
    yield from _between_bounds(atom)


def _between_bounds(atom: Product) -> Iterator[Any]:
    """McCormick's inequalities: a product of two distances to finite bounds is >= 0."""
    product, x, y = atom.term, atom.left, atom.right
    for a in (x.lo, x.hi):
        for b in (y.lo, y.hi):
            if abs(a) == INF or abs(b) == INF:
                continue
            i, j = int(a), int(b)
            corner = x.term * j + y.term * i - i * j
            yield product >= corner if (a == x.lo) is (b == y.lo) else product <= corner
