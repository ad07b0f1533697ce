"""What was proved and found in one process, as data for another.

A lemma is a statement about the inputs, and inputs that satisfy formulas just do, whoever says so.
Whoever receives them need not believe it: formulas are built anew from their parts, each lemma is
proved again, and all formulas are computed again from the inputs said to satisfy them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from proofs.symbolic import derived
from proofs.symbolic.atoms import (
    INF,
    Atom,
    Bound,
    Conditional,
    Minimum,
    Product,
    Quotient,
    Valuation,
    Variable,
)
from proofs.symbolic.bools import All, AtMost, SymBool
from proofs.symbolic.ground import Ground
from proofs.symbolic.ints import SymInt
from proofs.symbolic.pool import Formula, Pool, Term
from proofs.symbolic.premises import CONTRADICTION
from proofs.symbolic.solver import Solver

Node = list[Any]
"""A term or a formula: what it is, then its parts by their numbers, all lower than its own."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How much a ground held at some time."""

    lemmas: dict[int, int]
    found: int

    @classmethod
    def of(cls, ground: Ground) -> Mark:
        """As much as it holds now."""
        return cls({about: len(known) for about, known in ground.proved.items()}, len(ground.found))


# -- telling ---------------------------------------------------------------------------------------


def told(ground: Ground, since: Mark) -> dict[str, Any]:
    """All that was proved and found since then, as plain data."""
    writer, literals = _Writer(), ground.pool.literals()

    def formula(index: int) -> SymBool:
        return literals[index >> 1].negation if index & 1 else literals[index >> 1]

    lemmas = [
        [writer.formula(formula(about)), *map(writer.formula, premises)]
        for about, known in ground.proved.items()
        for premises in known[since.lemmas.get(about, 0) :]
    ]
    found = []
    for asked, at in islice(ground.found.items(), since.found, None):
        if CONTRADICTION not in asked:
            formulas = [formula(index) for index in sorted(asked)]
            atoms = {a: None for f in formulas for a in ground.lowering.support(f)}
            inputs = [[writer.atom(a), at[a]] for a in atoms if isinstance(a, Variable)]
            found.append([list(map(writer.formula, formulas)), inputs])
    return {"nodes": writer.nodes, "lemmas": lemmas, "found": found}


class _Writer:
    """Numbers terms and formulas in the order in which they can be built."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._numbers: dict[tuple[str, int], int] = {}

    def _number(self, key: tuple[str, int], kind: str, parts: Iterable[Any]) -> int:
        node = [kind, *parts]
        number = self._numbers[key] = len(self.nodes)
        self.nodes.append(node)
        return number

    def formula(self, formula: SymBool) -> int:
        """The number of a formula; of a negated one, the complement of the other's."""
        key = "formula", formula.index >> 1
        number = self._numbers.get(key)
        if number is None:
            node = formula.node
            if isinstance(node, All):
                number = self._number(key, "and", list(map(self.formula, node.parts)))
            elif isinstance(node, AtMost):
                number = self._number(key, "<=", [self.term(node.form), node.bound])
            else:
                number = self._number(key, "==", [self.term(node.form), node.value])
        return number if formula.positive else ~number

    def term(self, term: Term) -> int:
        """The number of a term."""
        if type(term) is int:
            key = "number", term
            return self._numbers[key] if key in self._numbers else self._number(key, "+", [term])
        assert type(term) is SymInt
        key = "term", term.index
        number = self._numbers.get(key)
        if number is None:
            summands = [part for a, times in term.terms for part in (self.atom(a), times)]
            number = self._number(key, "+", [term.const, *summands])
        return number

    def atom(self, atom: Atom) -> int:
        """The number of an atom."""
        key = "atom", atom.index
        number = self._numbers.get(key)
        if number is None:
            number = self._number(key, *self._made_of(atom))
        return number

    def _made_of(self, atom: Atom) -> tuple[str, list[Any]]:
        if isinstance(atom, Variable):
            return "input", [atom.name, _finite(atom.lo), _finite(atom.hi), atom.is_flag]
        if isinstance(atom, Product):
            return "*", list(map(self.atom, atom.factors))
        if isinstance(atom, Minimum):
            return "min", list(map(self.term, atom.args))
        if isinstance(atom, Conditional):
            chosen = [self.term(atom.then), self.term(atom.other)]
            return "if", [self.formula(atom.condition), *chosen]
        assert isinstance(atom, Quotient)
        return "//", [self.term(atom.dividend), self.term(atom.divisor)]


def _finite(bound: Bound) -> int | None:
    return None if abs(bound) == INF else int(bound)


# -- hearing ---------------------------------------------------------------------------------------


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

    def _sum(self, const: int, *summands: int) -> Any:
        total: Any = _whole(const)
        for number, times in zip(summands[::2], summands[1::2], strict=True):
            total = total + self.term(number) * _whole(times)
        return total

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
    "+": _Reader._sum,
    "*": _Reader._product,
    "min": _Reader._minimum,
    "if": _Reader._conditional,
    "//": _Reader._quotient,
    "and": _Reader._all,
    "<=": _Reader._at_most,
    "==": _Reader._equals,
}
