"""How many of something a run has: a number that would be another one in a larger run.

A run stands for runs with more of the same only where the code under test asks no more of such a
number than *none*, *one* or *several*, or compares it with one that may be anything.  So a count is
an atom of its own, that is in every term made of it; where a comparison, a quotient or an index
comes out as it does because there happen to be few, the path is doubted: it is a path, and what
goes wrong on it does, and nothing is proved by it.  What is decided about a count is a formula
without it, as of any number.
"""

from __future__ import annotations

import operator as py
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from proofs.symbolic.active import ACTIVE
from proofs.symbolic.atoms import INF, Atom, Bound, Count, counts
from proofs.symbolic.bools import SymBool
from proofs.symbolic.ints import SymInt
from proofs.symbolic.telling import shown

if TYPE_CHECKING:
    from proofs.symbolic.pool import Pool, Term

SEVERAL = 2
"""From here on, more make no difference."""
MOST = 3
"""How many of anything a run has: requests in the largest crowd, tokens that come back."""


# -- what is a count -------------------------------------------------------------------------------


def start_counting(starts: bool = True) -> None:
    """From now on the code under test meets what a run has few of, or no longer."""
    trail = ACTIVE.get()
    if trail is not None:
        trail.counting = starts


def is_counting() -> bool:
    """Whether it does."""
    trail = ACTIVE.get()
    return trail is not None and trail.counting


def counted(number: Any) -> Any:
    """A plain number as how many of something the run in progress has."""
    trail = ACTIVE.get()
    if type(number) is not int or not 0 <= number <= MOST or trail is None or not trail.counting:
        return number
    return count(trail.pool, number)


def count(pool: Pool, number: int) -> SymInt:
    """So many of something."""
    return pool.atom(("count", number), lambda: Count(number)).term


def added(old: Any, more: Any) -> Any:
    """``old += more``: whoever adds to a number may count the turns of a loop."""
    trail = ACTIVE.get()
    if trail is not None and trail.counting and type(more) is SymBool and type(old) in _TERMS:
        more = trail.pool.conditional(more, counted(1), 0)
    return counted(py.iadd(old, more))  # type: ignore[no-untyped-call]


def taken(old: Any, less: Any) -> Any:
    """``old -= less``: or count them down."""
    trail = ACTIVE.get()
    if type(old) is type(less) is int and less > 0 and trail is not None and trail.counting:
        less = count(trail.pool, less)
    return py.isub(old, less)  # type: ignore[no-untyped-call]


_TERMS = (int, SymInt)


def grows(term: SymInt, more: int) -> bool:
    """Whether to add a number to a term is to count on: so many, or so many less than something."""
    (atom, coefficient), *others = term.terms
    fits = (coefficient == 1 and more > 0) or (coefficient == -1 and more < 0)
    return fits and type(atom) is Count and not others


def grown(pool: Pool, term: SymInt, more: int) -> Any:
    """The term, counted on."""
    ((atom, coefficient),) = term.terms
    assert type(atom) is Count
    return count(pool, atom.value + abs(more)) * coefficient + term.const


# -- what may be asked of one ----------------------------------------------------------------------


def known(term: SymInt) -> int | None:
    """The value of a term made of counts and nothing else."""
    if not all(type(atom) is Count for atom, _ in term.terms):
        return None
    return int(term.lo)


def settled(pool: Pool, term: Term) -> Any:
    """The term with the counts as the numbers they are in this run."""
    if not counts(term):
        return term
    assert type(term) is SymInt
    left = {atom: c for atom, c in term.terms if type(atom) is not Count}
    gone = sum(c * atom.value for atom, c in term.terms if type(atom) is Count)
    return pool.term(left, term.const + gone)


def plain(value: Any) -> Any:
    """A value, a count as the number it is in this run."""
    return settled(value.pool, value) if type(value) is SymInt else value


def compared(pool: Pool, operator: str, left: SymInt, right: Term) -> Any:
    """``left operator right``, of which one rests on a count."""
    may_compare(operator, left, right)
    one, two = settled(pool, left), settled(pool, right)
    if type(one) is int:
        return _PLAIN[operator](one, two)
    if one is left and two is right:
        return pool.calculate(operator, left, right)
    return pool.apply(operator, one, two)


_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "<=": py.le,
    "<": py.lt,
    ">=": py.ge,
    ">": py.gt,
    "==": py.eq,
}


def may_compare(operator: str, left: Term, right: Term) -> None:
    """Doubt the path where a larger run might compare otherwise.

    ``left operator right`` asks whether a sum of counts is at least a boundary.  It may be, of all
    the values that are in it for anything else.  Up to ``SEVERAL`` the runs have it on both sides;
    a boundary without an upper bound is no particular number.
    """
    if not ((counts(left) or counts(right)) and is_counting()):
        return
    difference, lo, hi = _apart(left, right)
    coefficients = [c for atom, c in difference.items() if atom.is_counted and c]
    if not coefficients:
        return
    if max(coefficients) < 0:
        coefficients, lo, hi = [-c for c in coefficients], -hi, -lo
        operator = _MIRRORED[operator]
    lowest, highest = _boundaries(operator, -hi, -lo)
    if min(coefficients) < 0:  # how many more here than there
        fits = INF in (-lowest, highest) or (lowest >= -1 and highest <= SEVERAL)
    else:
        several = SEVERAL * min(coefficients)
        fits = lowest <= several and (highest <= several or highest == INF)
    if not fits:
        doubt(said(left, right))


def _apart(left: Term, right: Term) -> tuple[dict[Atom, int], Bound, Bound]:
    """``left - right``: its coefficients, and the range of what in it is no count."""
    coefficients: dict[Atom, int] = {}
    lo: Bound = 0
    hi: Bound = 0
    for term, sign in ((left, 1), (right, -1)):
        terms, const = (term.terms, term.const) if type(term) is SymInt else ((), term)
        lo, hi = lo + sign * const, hi + sign * const
        for atom, c in terms:
            coefficients[atom] = coefficients.get(atom, 0) + sign * c
    for atom, c in coefficients.items():
        if c and not atom.is_counted:
            low, high = (atom.lo, atom.hi) if c > 0 else (atom.hi, atom.lo)
            lo, hi = lo + c * low, hi + c * high
    return coefficients, lo, hi


_MIRRORED = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "==": "=="}


def _boundaries(operator: str, least: Bound, most: Bound) -> tuple[Bound, Bound]:
    """From where on a sum is on the other side of ``least`` to ``most``."""
    first = least + 1 if operator in ("<=", ">") else least
    last = most if operator in ("<", ">=") else most + 1
    return first, last


def divided(dividend: Term, divisor: Term) -> None:
    """Doubt the path where a larger run might have another quotient."""
    is_split = type(dividend) is SymInt and type(divisor) is int and divisor > 1
    if counts(divisor) or (is_split and known(dividend) is not None):  # type: ignore[arg-type]
        doubt(said(dividend, divisor))


def place(term: SymInt) -> int:
    """A count as an index, or as an end of a slice."""
    value = known(term)
    if value is None:
        term.pool.refuse("use of an unknown number as an index or range")
    if abs(term.const) > SEVERAL:
        doubt(said(term, abs(term.const)))
    return value


def said(term: Term, other: Term) -> str:
    """Why what is asked of a count is not known."""
    most = term if counts(other) and not counts(term) else other
    return f"counts up to {shown(most)}: a proof knows of few requests and tokens, or of any number"


def doubt(reason: str) -> None:
    """The run goes on as it would with so few; what holds in it is not proved."""
    trail = ACTIVE.get()
    if trail is not None and trail.counting:
        trail.doubt(reason)
