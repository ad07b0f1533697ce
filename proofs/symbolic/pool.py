"""`Pool`: interning of atoms, terms and formulas, and the memory of past operations.

Interning makes structural equality object identity, gives every atom, term and
formula an index in creation order (the only order anything is ever sorted by, so
results do not depend on hash seeds), and keeps all of them alive, which is what
makes ``id()`` a safe key for remembered operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from proofs.symbolic import derived
from proofs.symbolic.atoms import INF, Atom, Bound, Conditional, Variable, counts
from proofs.symbolic.bools import All, AtMost, Equals, Node, SymBool
from proofs.symbolic.counts import compared, divided, grown, grows, may_compare, place, settled
from proofs.symbolic.ints import SymInt
from proofs.symbolic.seq import SymSeq
from proofs.symbolic.telling import shown
from proofs.symbolic.veiled import Veiled

Term = SymInt | int
Formula = SymBool | bool


class Pool:
    """All symbolic values of one exploration, or of several that share a ground."""

    def __init__(
        self, decide: Callable[[SymBool], bool], refuse: Callable[[str], NoReturn]
    ) -> None:
        self.decide, self.refuse = decide, refuse
        self._atoms: dict[object, Atom] = {}
        self._terms: dict[object, SymInt] = {}
        self._formulas: dict[object, SymBool] = {}
        self._memory: dict[object, Any] = {}

    # -- interning -------------------------------------------------------------------

    def variable(self, name: str, lo: Bound, hi: Bound, is_flag: bool) -> Variable:
        """The variable of that name, range and type."""
        key = ("variable", name, lo, hi, is_flag)
        atom = self._atoms.get(key)
        if atom is None:
            if lo > hi:
                raise ValueError(f"empty range {lo}..{hi} for {name!r}")
            atom = self.atom(key, lambda: Variable(name, lo, hi, is_flag))
        assert type(atom) is Variable
        return atom

    def atom(self, key: object, make: Callable[[], Atom]) -> Atom:
        """The atom of that key, made on first use."""
        atom = self._atoms.get(key)
        if atom is None:
            atom = make()
            atom.index = len(self._atoms)
            self._atoms[key] = atom
            term = self.term({atom: 1}, 0)
            assert type(term) is SymInt
            atom.term = term
        return atom

    def term(self, coefficients: dict[Atom, int], const: int) -> Term:
        """The polynomial with these coefficients; a plain ``int`` when constant."""
        terms = tuple(sorted(((a, c) for a, c in coefficients.items() if c), key=_by_index))
        if not terms:
            return const
        key = (terms, const)
        term = self._terms.get(key)
        if term is None:
            term = self._terms[key] = SymInt(self, terms, const, len(self._terms))
        return term

    def _formula(self, key: object, make: Callable[[], Node]) -> SymBool:
        """The positive literal of that key, made with its negation on first use."""
        formula = self._formulas.get(key)
        if formula is None:
            node, index = make(), 2 * len(self._formulas)
            formula = self._formulas[key] = SymBool(self, node, True, index)
            formula.negation = SymBool(self, node, False, index + 1)
            formula.negation.negation = formula
        return formula

    def literals(self) -> list[SymBool]:
        """Every positive literal, in order of creation: half its index is its place."""
        return list(self._formulas.values())

    # -- operators of SymInt ---------------------------------------------------------

    def apply(self, operator: str, left: SymInt, right: Any) -> Any:
        """``left operator right``, remembered."""
        key = (id(left), operator, right) if type(right) is int else (operator, id(left), id(right))
        known = self._memory.get(key)
        if known is not None:
            return known
        if type(right) is int or (type(right) is SymInt and right.pool is self):
            if operator in _ORDER and (left.is_counted or counts(right)):
                # Whether that may be asked depends on who asks, and is not remembered.
                return compared(self, operator, left, right)
            result = self._memory[key] = self.calculate(operator, left, right)
            return result
        if type(right) is SymInt:
            self.own(right)
        if type(right) is bool:
            return self.apply(operator, left, int(right))
        if type(right) is SymBool:
            return self.apply(operator, left, right.as_int())
        if issubclass(type(right), int):  # of a class of its own: it counts as the number it is
            if type(right).__lt__ is not int.__lt__:
                self.refuse(f"{left.shown()} {operator} a number that compares by itself")
            return self.apply(operator, left, int.__int__(right))
        if operator == "*" and isinstance(right, (str, list, tuple)) and left.is_counted:
            return right * self.place(left)
        if operator == "*" and isinstance(right, (list, tuple)):
            return SymSeq.repeat(right, left)
        if isinstance(right, Veiled):
            return NotImplemented
        if isinstance(right, float):
            if abs(right) != INF or operator not in _ORDER:
                self.refuse(f"{left.shown()} {operator} the float {right!r}")
            return (right > 0) is (operator in ("<", "<=")) and operator != "=="
        return NotImplemented

    def calculate(self, operator: str, left: SymInt, right: Term) -> Any:
        """``left operator right`` of two terms."""
        match operator:
            case "+":
                return self._combine(left, 1, right)
            case "-":
                return self._combine(left, -1, right)
            case "r-":
                return self._combine(self.apply("*", left, -1), 1, right)
            case "*":
                return derived.product(self, left, right)
            case "<=":
                return self.nonpositive(left - right)
            case "<":
                return self.nonpositive(left - right + 1)
            case ">=":
                return self.nonpositive(right - left)
            case ">":
                return self.nonpositive(right - left + 1)
            case _:
                return self.zero(left - right)

    def _combine(self, left: SymInt, factor: int, right: Term) -> Term:
        coefficients = dict(left.terms)
        if type(right) is int:
            more = factor * right
            if left.is_counted and grows(left, more):
                return grown(self, left, more)  # type: ignore[no-any-return]
            return self.term(coefficients, left.const + more)
        assert type(right) is SymInt
        for atom, coefficient in right.terms:
            coefficients[atom] = coefficients.get(atom, 0) + factor * coefficient
        return self.term(coefficients, left.const + factor * right.const)

    def remember(self, name: str, left: Any, right: Any, compute: Callable[[], Any]) -> Any:
        """Memory for operations outside `apply`; both operands are ints or pool terms."""
        key = (
            name,
            (left,) if type(left) is int else id(left),
            (right,) if type(right) is int else id(right),
        )
        if key not in self._memory:
            self.own(left, right)
            self._memory[key] = compute()
        return self._memory[key]

    def own(self, *values: object) -> None:
        """Refuse values of another exploration: their indices mean nothing here."""
        for value in values:
            if type(value) in (SymInt, SymBool) and value.pool is not self:  # type: ignore[attr-defined]
                self.refuse(f"{shown(value)}, which belongs to a different exploration")

    def place(self, term: SymInt) -> int:
        """A count as the number it is: an index, or an end of a slice."""
        return place(term)

    # -- literals --------------------------------------------------------------------

    def nonpositive(self, term: Term) -> Formula:
        """The formula ``term <= 0``, with integer tightening."""
        if type(term) is int:
            return term <= 0
        assert type(term) is SymInt
        if term.hi <= 0 or term.lo > 0:
            return term.hi <= 0
        form, divisor = self._primitive(term)
        if divisor > 0:  # divisor * form + const <= 0
            return self._at_most(form, -term.const // divisor)
        below = self._at_most(form, -(-term.const // -divisor) - 1)
        return not below if type(below) is bool else ~below

    def zero(self, term: Term) -> Formula:
        """The formula ``term == 0``."""
        if type(term) is int:
            return term == 0
        assert type(term) is SymInt
        form, divisor = self._primitive(term)
        value, remainder = divmod(-term.const, divisor)
        if remainder or not form.lo <= value <= form.hi:
            return False
        if value == form.lo:
            return self._at_most(form, value)
        if value == form.hi:
            below = self._at_most(form, value - 1)
            return not below if type(below) is bool else ~below
        return self._formula(("==", form.index, value), lambda: Equals(form, value))

    def _primitive(self, term: SymInt) -> tuple[SymInt, int]:
        """``term - const`` as ``divisor * form``; the sign of ``divisor`` is the leading one."""
        divisor = math.gcd(*(c for _, c in term.terms))
        if term.terms[0][1] < 0:
            divisor = -divisor
        form = self.term({a: c // divisor for a, c in term.terms}, 0)
        assert type(form) is SymInt
        return form, divisor

    def _at_most(self, form: SymInt, bound: int) -> Formula:
        if form.hi <= bound or form.lo > bound:
            return form.hi <= bound
        atom, _ = form.terms[0]
        if isinstance(atom, Conditional) and atom.is_indicator and len(form.terms) == 1:
            return atom.condition.negation  # [c] <= 0
        return self._formula(("<=", form.index, bound), lambda: AtMost(form, bound))

    # -- formulas --------------------------------------------------------------------

    def both(self, left: SymBool, right: SymBool) -> Formula:
        """``left and right``, remembered."""
        result: Formula = self.remember("&", left, right, lambda: self.all_of((left, right)))
        return result

    def all_of(self, formulas: Iterable[Formula]) -> Formula:
        """The conjunction: flattened, without repetitions, folded when contradictory."""
        parts: dict[int, SymBool] = {}
        for formula in formulas:
            if type(formula) is bool:
                if not formula:
                    return False
                continue
            assert type(formula) is SymBool
            self.own(formula)
            flat = isinstance(formula.node, All) and formula.positive
            for part in formula.node.parts if flat else (formula,):  # type: ignore[union-attr]
                parts[part.index] = part
        if any(part.negation.index in parts for part in parts.values()):
            return False
        if len(parts) < 2:
            return next(iter(parts.values())) if parts else True
        indices = tuple(sorted(parts))
        return self._formula(("&", indices), lambda: All(tuple(parts[i] for i in indices)))

    # -- derived terms ---------------------------------------------------------------

    def minimum(self, left: Any, right: Any) -> Any:
        """``min(left, right)``."""
        if type(left) in _TERMS and type(right) in _TERMS:
            may_compare("<", left, right)
        return derived.minimum(self, left, right)

    def maximum(self, left: Any, right: Any) -> Any:
        """``max(left, right)``; operands that are not integers are compared honestly."""
        if derived.number(left) is None or derived.number(right) is None:
            return right if right > left else left
        return -self.minimum(-left, -right)

    def conditional(self, condition: Formula, then: Any, other: Any) -> Any:
        """``then if condition else other``."""
        return derived.conditional(self, condition, then, other)

    def divide(self, dividend: Any, divisor: Any) -> Any:
        """``dividend // divisor``."""
        if type(dividend) is SymInt and type(divisor) is int and divisor == 1:
            return dividend
        if type(dividend) in _TERMS and type(divisor) in _TERMS:
            divided(dividend, divisor)
            dividend, divisor = settled(self, dividend), settled(self, divisor)
        return derived.divide(self, dividend, divisor)


_TERMS = (int, SymInt)
_ORDER = frozenset({"<", "<=", ">", ">=", "=="})


def _by_index(pair: tuple[Atom, int]) -> int:
    return pair[0].index
