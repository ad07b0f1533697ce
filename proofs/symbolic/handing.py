"""What was proved and found in one process, as data for another: see `hearing`.

A lemma is a statement about the inputs, and inputs that satisfy formulas just do, whoever says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from proofs.symbolic.atoms import (
    INF,
    Atom,
    Bound,
    Conditional,
    Count,
    Minimum,
    Product,
    Quotient,
    Variable,
)
from proofs.symbolic.bools import All, AtMost, SymBool
from proofs.symbolic.ground import Ground
from proofs.symbolic.ints import SymInt
from proofs.symbolic.pool import Term
from proofs.symbolic.premises import CONTRADICTION

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
        if isinstance(atom, Count):
            return "count", [atom.value]
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
