"""Inputs near given ones, at which a formula may hold: one of them moved, just as far as it takes.

Most questions that come up while paths are explored concern an input of which the path says little
else, so that the inputs of the run before answer them but for that one.  Whoever tries such inputs
has to see whether all that was said before still holds of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from proofs.symbolic.atoms import Valuation, Variable
from proofs.symbolic.bools import All, AtMost, SymBool


def nearby(at: Valuation, formula: SymBool) -> Iterator[Valuation]:
    """``at`` with one input changed, in each way in which a formula false at it might hold."""
    node = formula.node
    if isinstance(node, All):
        for part in () if formula.positive else node.parts:  # that one is false is enough
            yield from nearby(at, part.negation)
        return
    value = at.integer(node.form)
    for atom, coefficient in node.form.terms:
        if isinstance(atom, Variable):
            for step in _steps(formula, value, coefficient):
                if atom.lo <= at[atom] + step <= atom.hi:
                    yield at.but_for(atom, at[atom] + step)


def _steps(literal: SymBool, value: int, coefficient: int) -> tuple[int, ...]:
    """By how much an input may move so that a literal holds, whose form has this value."""
    node = literal.node
    assert not isinstance(node, All)
    if isinstance(node, AtMost):
        if literal.positive:
            return (_least(value - node.bound, -coefficient),)
        return (_least(node.bound + 1 - value, coefficient),)
    if not literal.positive:
        return 1, -1
    step, rest = divmod(node.value - value, coefficient)
    return () if rest else (step,)


def _least(gap: int, coefficient: int) -> int:
    """The smallest step that makes ``coefficient * step`` as large as a gap above 0."""
    step = -(-gap // abs(coefficient))
    return step if coefficient > 0 else -step
