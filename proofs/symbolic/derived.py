"""Integer terms that are not polynomials, each reduced as far as a rewrite can."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from proofs.symbolic.atoms import (
    INF,
    Atom,
    Conditional,
    Minimum,
    Product,
    Quotient,
    Variable,
    upper,
)
from proofs.symbolic.bools import SymBool
from proofs.symbolic.counts import settled
from proofs.symbolic.ints import SymInt
from proofs.symbolic.telling import shown

if TYPE_CHECKING:
    from proofs.symbolic.pool import Formula, Pool, Term

# -- products ------------------------------------------------------------------------


def product(pool: Pool, left: SymInt, right: Term) -> Term:
    """``left * right``, distributed over monomials."""
    if type(right) is int:
        return pool.term({a: c * right for a, c in left.terms}, left.const * right)
    assert type(right) is SymInt
    one, two = settled(pool, left), settled(pool, right)
    if one is not left or two is not right:
        return one * right if type(one) is int else one * two  # type: ignore[no-any-return]
    coefficients: dict[Atom, int] = {}
    const = left.const * right.const
    for atom, c in left.terms:
        coefficients[atom] = coefficients.get(atom, 0) + c * right.const
    for atom, c in right.terms:
        coefficients[atom] = coefficients.get(atom, 0) + c * left.const
    spread: list[Any] = []
    for one, c in left.terms:
        for two, d in right.terms:
            choice = _spread(pool, one, two)
            if choice is None:
                atom = _monomial(pool, _factors(one) + _factors(two))
                coefficients[atom] = coefficients.get(atom, 0) + c * d
            else:
                spread.append(choice * (c * d))
    result: Term = pool.term(coefficients, const)
    for part in spread:
        result = result + part
    return result


def _spread(pool: Pool, one: Atom, two: Atom) -> Any:
    """A choice times an input as a choice between products, which stays linear in them.

    None if neither is a choice with an input for the other.
    """
    for choice, factor in ((one, two), (two, one)):
        if not isinstance(factor, Variable):
            continue
        if isinstance(choice, Conditional):
            then, other = choice.then * factor.term, choice.other * factor.term
            return pool.conditional(choice.condition, then, other)
        if isinstance(choice, Minimum) and factor.lo >= 0:
            least: Any = INF
            for arg in choice.args:
                least = pool.minimum(arg * factor.term, least)
            return least
    return None


def _factors(atom: Atom) -> tuple[Atom, ...]:
    return atom.factors if isinstance(atom, Product) else (atom,)


def _monomial(pool: Pool, factors: tuple[Atom, ...]) -> Atom:
    """The atom for a product of atoms; a 0/1 atom is its own square."""
    ordered = sorted(factors, key=lambda atom: atom.index)
    kept = tuple(
        atom
        for i, atom in enumerate(ordered)
        if not (i and ordered[i - 1] is atom and atom.lo >= 0 and atom.hi <= 1)
    )
    if len(kept) == 1:
        return kept[0]
    right = _monomial(pool, kept[1:])
    return pool.atom(("*", tuple(a.index for a in kept)), lambda: Product(kept, right))


# -- minimum and conditional -----------------------------------------------------------


def number(value: Any) -> Any:
    """A bool as the int it is; ints unchanged; ``None`` for anything else."""
    kind = type(value)
    if kind is int or kind is SymInt:
        return value
    if kind is SymBool:
        return value.as_int()
    return int(value) if kind is bool else None


def minimum(pool: Pool, left: Any, right: Any) -> Any:
    """``min(left, right)``; operands that are not integers are compared honestly."""
    one, two = number(left), number(right)
    if one is None or two is None:
        if left == INF or right == INF:
            return right if left == INF else left
        return right if right < left else left
    return pool.remember("min", one, two, lambda: _minimum(pool, one, two))


def _minimum(pool: Pool, left: Term, right: Term) -> Term:
    args: list[Term] = []
    for new in (*_arguments(left), *_arguments(right)):
        if any(upper(old - new) <= 0 for old in args):
            continue
        args = [old for old in args if upper(new - old) > 0] + [new]
    if len(args) == 1:
        return args[0]
    args.sort(key=lambda a: INF if type(a) is int else a.index)  # type: ignore[union-attr]
    key = tuple(("int", a) if type(a) is int else a.index for a in args)  # type: ignore[union-attr]
    return pool.atom(("min", key), lambda: Minimum(tuple(args))).term


def _arguments(term: Term) -> tuple[Term, ...]:
    """Nested minima are flattened."""
    if type(term) is SymInt:
        atom, _ = term.terms[0]
        if isinstance(atom, Minimum) and atom.term is term:
            return atom.args
    return (term,)


def conditional(pool: Pool, condition: Formula, then: Any, other: Any) -> Any:
    """``then if condition else other``; values that are not numbers fork."""
    if type(condition) is not SymBool:
        return then if condition else other
    if then is other:
        return then
    if type(then) in (bool, SymBool) and type(other) in (bool, SymBool):
        return (condition & then) | (condition.negation & other)
    one, two = number(then), number(other)
    if one is None or two is None:
        return then if condition else other
    pool.own(condition, one, two)
    difference = one - two
    if type(difference) is int:
        return two + difference * indicator(pool, condition)
    if not condition.positive:
        condition, one, two = condition.negation, two, one
    key = ("if", condition.index, _key(one), _key(two))
    return pool.atom(key, lambda: Conditional(condition, one, two)).term


def indicator(pool: Pool, condition: SymBool) -> Term:
    """1 where the condition holds, else 0; a declared boolean is its own indicator."""
    node = condition.node
    form = getattr(node, "form", None)
    if type(form) is SymInt and form.is_flag:
        return 1 - form if condition.positive else form
    if not condition.positive:
        return 1 - indicator(pool, condition.negation)
    return pool.atom(("if", condition.index, "1", "0"), lambda: Conditional(condition, 1, 0)).term


def _key(term: Term) -> object:
    return str(term) if type(term) is int else term.index  # type: ignore[union-attr]


# -- floor division ----------------------------------------------------------------------


def divide(pool: Pool, dividend: Any, divisor: Any) -> Any:
    """Python's ``//``.  The sign of a symbolic divisor is decided by forking."""
    one, two = number(dividend), number(divisor)
    if one is None or two is None:
        if isinstance(dividend, float) or isinstance(divisor, float):
            pool.refuse(f"float division of {shown(dividend)} by {shown(divisor)}")
        return NotImplemented
    if two == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    if two < 0:
        one, two = -one, -two
    return pool.remember("//", one, two, lambda: quotient(pool, one, two))


def quotient(pool: Pool, dividend: Term, divisor: Term) -> Term:
    """``dividend // divisor`` where the divisor is positive, and some number where it is not."""
    if type(divisor) is int and type(dividend) is int:
        return dividend // divisor
    if type(divisor) is int:
        return _by_constant(pool, dividend, divisor)  # type: ignore[arg-type]
    if dividend is divisor or (type(dividend) is int and dividend == 0):
        return 0 if dividend is not divisor else 1
    key = ("//", _key(dividend), _key(divisor))
    return pool.atom(key, lambda: Quotient(dividend, divisor)).term


def _by_constant(pool: Pool, dividend: SymInt, divisor: int) -> Term:
    """Whole multiples of the divisor leave the quotient; common factors cancel."""
    whole = pool.term({a: c // divisor for a, c in dividend.terms}, dividend.const // divisor)
    rest = pool.term({a: c % divisor for a, c in dividend.terms}, dividend.const % divisor)
    if type(rest) is int:
        return whole
    assert type(rest) is SymInt
    common = math.gcd(divisor, *(c for _, c in rest.terms))
    divisor //= common
    rest_terms = {a: c // common for a, c in rest.terms}
    reduced = pool.term(rest_terms, rest.const // common)
    if divisor == 1:
        return whole + reduced
    assert type(reduced) is SymInt
    if reduced.lo >= 0 and reduced.hi < divisor:
        return whole
    key = ("//", reduced.index, str(divisor))
    quotient: Term = whole + pool.atom(key, lambda: Quotient(reduced, divisor)).term
    return quotient
