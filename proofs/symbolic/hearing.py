"""What another process has proved and found, taken over as far as it is true.

Whoever hears it need not believe it: terms and formulas are built anew from their parts, each lemma
is proved again, and all formulas are computed again from the inputs said to satisfy them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from proofs.symbolic import derived
from proofs.symbolic.atoms import INF, Atom, Valuation, Variable
from proofs.symbolic.bools import SymBool
from proofs.symbolic.counts import count
from proofs.symbolic.ground import Ground
from proofs.symbolic.handing import Node
from proofs.symbolic.ints import SymInt
from proofs.symbolic.pool import Formula, Pool
from proofs.symbolic.solver import Solver


def heard(ground: Ground, data: Any) -> tuple[int, int]:
    """Take over what `told` wrote in another process, as far as it is true.

    Returns how many lemmas and how many inputs were new.

    Raises:
        LookupError, TypeError, ValueError, RecursionError: it is not such data.
    """
    reader = _Reader(ground.pool)
    for node in data["nodes"]:
        reader.read(node)
    lemmas = [lemma for refs in data["lemmas"] if (lemma := reader.lemma(refs)) is not None]
    again = Solver(0, ground.lowering, {})
    proved = sum(_proved(ground, again, *lemma) for lemma in lemmas)
    found = sum(_found(ground, *reader.found(*entry)) for entry in data["found"])
    return proved, found


def _proved(
    ground: Ground, again: Solver, conclusion: SymBool, premises: tuple[SymBool, ...]
) -> bool:
    """Prove a lemma again; keep it if that succeeds, and it is new."""
    known = ground.proved.setdefault(conclusion.index, [])
    indices = [premise.index for premise in premises]
    if any([premise.index for premise in other] == indices for other in known):
        return False
    is_true = again.refutes((*premises, conclusion.negation))
    if is_true:
        known.append(premises)
    return is_true


def _found(ground: Ground, formulas: list[Formula], inputs: dict[Variable, int]) -> bool:
    """Keep inputs that do satisfy some formulas."""
    open_ = [formula for formula in formulas if type(formula) is SymBool]
    asked, at = frozenset(formula.index for formula in open_), Valuation(inputs.get)
    is_new = all(formula is not False for formula in formulas) and asked not in ground.found
    if is_new and all(formula.holds_at(at) for formula in open_):
        ground.found[asked] = at
        return True
    return False


@dataclass(slots=True)
class _Reader:
    """Builds terms and formulas as any other are built, whatever the data says they are like."""

    pool: Pool
    values: list[Any] = field(default_factory=list)

    def read(self, node: Node) -> None:
        """The next term or formula."""
        kind, *parts = node
        self.values.append(_BUILT[kind](self, *parts))

    def formula(self, number: int) -> Formula:
        """A formula by its number."""
        value = self.values[number if number >= 0 else ~number]
        if type(value) not in (SymBool, bool):
            raise TypeError(f"{number} is no formula")
        if number >= 0:
            return value  # type: ignore[no-any-return]
        return value.negation if type(value) is SymBool else not value

    def term(self, number: int) -> Any:
        """A term by its number."""
        value = self.values[number] if number >= 0 else None
        if type(value) not in (SymInt, int):
            raise TypeError(f"{number} is no term")
        return value

    def lemma(self, numbers: list[int]) -> tuple[SymBool, tuple[SymBool, ...]] | None:
        """A conclusion and its premises, where there is something to say."""
        conclusion, *premises = map(self.formula, numbers)
        if type(conclusion) is not SymBool or any(premise is False for premise in premises):
            return None
        return conclusion, tuple(p for p in premises if type(p) is SymBool)

    def found(
        self, formulas: list[int], inputs: list[list[int]]
    ) -> tuple[list[Formula], dict[Variable, int]]:
        """Formulas, and the inputs said to satisfy them."""
        return list(map(self.formula, formulas)), dict(self._inputs(inputs))

    def _inputs(self, inputs: list[list[int]]) -> Iterator[tuple[Variable, int]]:
        for number, value in inputs:
            ((variable, times),) = self.term(number).terms
            whole = type(value) is int and times == 1 and isinstance(variable, Variable)
            if not (whole and variable.lo <= value <= variable.hi):
                raise ValueError(f"{value!r} is no value of {variable!r}")
            yield variable, value

    # -- what is built ---------------------------------------------------------------------

    def _input(self, name: str, lo: int | None, hi: int | None, is_flag: bool) -> Any:
        low, high = -INF if lo is None else _whole(lo), INF if hi is None else _whole(hi)
        if type(name) is not str or type(is_flag) is not bool or (is_flag and (lo, hi) != (0, 1)):
            raise TypeError(f"{name!r} is no input")
        return self.pool.variable(name, low, high, is_flag).term

    def _count(self, value: int) -> Any:
        if _whole(value) < 0:
            raise ValueError(f"{value} counts nothing")
        return count(self.pool, value)

    def _sum(self, const: int, *summands: int) -> Any:
        coefficients: dict[Atom, int] = {}
        total = _whole(const)
        for number, times in zip(summands[::2], summands[1::2], strict=True):
            term, each = self.term(number), _whole(times)
            atoms, more = (term.terms, term.const) if type(term) is SymInt else ((), term)
            total += each * more
            for atom, coefficient in atoms:
                coefficients[atom] = coefficients.get(atom, 0) + each * coefficient
        return self.pool.term(coefficients, total)

    def _product(self, *factors: int) -> Any:
        product: Any = 1
        for number in factors:
            product = product * self.term(number)
        return product

    def _minimum(self, *numbers: int) -> Any:
        least = self.term(numbers[0])
        for number in numbers[1:]:
            least = self.pool.minimum(least, self.term(number))
        return least

    def _conditional(self, condition: int, then: int, other: int) -> Any:
        return self.pool.conditional(self.formula(condition), self.term(then), self.term(other))

    def _quotient(self, dividend: int, divisor: int) -> Any:
        by = self.term(divisor)
        if type(by) is int and by <= 0:
            raise ValueError(f"{by} divides nothing")
        return derived.quotient(self.pool, self.term(dividend), by)

    def _at_most(self, form: int, bound: int) -> Formula:
        return self.pool.nonpositive(self.term(form) - _whole(bound))

    def _equals(self, form: int, value: int) -> Formula:
        return self.pool.zero(self.term(form) - _whole(value))

    def _all(self, *parts: int) -> Formula:
        return self.pool.all_of(map(self.formula, parts))


def _whole(number: int) -> int:
    if type(number) is not int:
        raise TypeError(f"{number!r} is no integer")
    return number


_BUILT: dict[str, Any] = {
    "input": _Reader._input,
    "count": _Reader._count,
    "+": _Reader._sum,
    "*": _Reader._product,
    "min": _Reader._minimum,
    "if": _Reader._conditional,
    "//": _Reader._quotient,
    "and": _Reader._all,
    "<=": _Reader._at_most,
    "==": _Reader._equals,
}
