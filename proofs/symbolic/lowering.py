"""Terms and formulas as linear integer arithmetic for Z3.

Every atom becomes one Z3 constant.  What makes a derived atom more than an
unknown is its definition (`definitions`), asserted along with the first formula
that mentions it.  Definitions of products are weaker than the truth, so Z3
over-approximates: unsatisfiable means infeasible, a model must be checked.
"""

from __future__ import annotations

from typing import Any

from proofs.symbolic.atoms import INF, Atom, Conditional, Product, Variable
from proofs.symbolic.backend import Ast, Backend
from proofs.symbolic.bools import All, AtMost, SymBool
from proofs.symbolic.definitions import facts
from proofs.symbolic.ints import SymInt
from proofs.symbolic.multiples import ordering


class Lowering:
    """Translates and caches; one per exploration."""

    def __init__(self, backend: Backend) -> None:
        self.z3 = backend
        self._constants: dict[Atom, Ast] = {}
        self._declarations: dict[Atom, Any] = {}
        self._facts: dict[Atom, list[SymBool]] = {}
        self._definitions: dict[Atom, list[Ast]] = {}
        self._relations: dict[tuple[Product, Product], list[Ast]] = {}
        self._terms: dict[int, Ast] = {}
        self._formulas: dict[int, Ast] = {}
        self._supports: dict[int, tuple[Atom, ...]] = {}
        self._closures: dict[Atom, dict[Atom, None]] = {}

    # -- translation -------------------------------------------------------------------

    def constant(self, atom: Atom) -> Ast:
        """The Z3 constant of an atom (boolean for a declared flag)."""
        ast = self._constants.get(atom)
        if ast is None:
            flag = isinstance(atom, Variable) and atom.is_flag
            name = f"{atom.index}:{atom.name if isinstance(atom, Variable) else ''}"
            ast = self._constants[atom] = self.z3.constant(name, flag)
            self._declarations[atom] = self.z3.declaration(ast)
        return ast

    def declaration(self, atom: Atom) -> Any:
        """What to look up in a model to find the value of an atom."""
        self.constant(atom)
        return self._declarations[atom]

    def _choice(self, atom: Atom) -> Ast | None:
        """The proposition behind an atom that is the 0/1 value of one."""
        if isinstance(atom, Variable) and atom.is_flag:
            return self.constant(atom)
        if isinstance(atom, Conditional) and atom.is_indicator:
            return self.formula(atom.condition)
        return None

    def _number(self, atom: Atom) -> Ast:
        choice = self._choice(atom)
        if choice is None:
            return self.constant(atom)
        return self.z3.choose(choice, self.z3.numeral(1), self.z3.numeral(0))

    def term(self, term: SymInt | int) -> Ast:
        """A polynomial as a linear sum."""
        if type(term) is int:
            return self.z3.numeral(term)
        assert type(term) is SymInt
        ast = self._terms.get(term.index)
        if ast is None:
            summands = [
                self._number(atom)
                if coefficient == 1
                else self.z3.times(self.z3.numeral(coefficient), self._number(atom))
                for atom, coefficient in term.terms
            ]
            if term.const:
                summands.append(self.z3.numeral(term.const))
            ast = self._terms[term.index] = self.z3.add(summands)
        return ast

    def formula(self, formula: SymBool) -> Ast:
        """A formula; each polarity is translated once."""
        ast = self._formulas.get(formula.index)
        if ast is None:
            ast = self._formulas[formula.index] = self._formula(formula)
        return ast

    def _formula(self, formula: SymBool) -> Ast:
        node, positive = formula.node, formula.positive
        if isinstance(node, All):
            if positive:
                return self.z3.all([self.formula(part) for part in node.parts])
            return self.z3.any([self.formula(part.negation) for part in node.parts])
        if isinstance(node, AtMost):
            if node.form.is_flag:
                flag = self.constant(node.form.terms[0][0])
                return self.z3.negate(flag) if positive else flag
            form = self.term(node.form)
            if positive:
                return self.z3.le(form, self.z3.numeral(node.bound))
            return self.z3.ge(form, self.z3.numeral(node.bound + 1))
        equal = self.z3.equal(self.term(node.form), self.z3.numeral(node.value))
        return equal if positive else self.z3.negate(equal)

    # -- definitions -------------------------------------------------------------------

    def support(self, formula: SymBool) -> tuple[Atom, ...]:
        """All atoms a formula rests on, directly or through definitions."""
        known = self._supports.get(formula.index)
        if known is None:
            found: dict[Atom, None] = {}
            self._collect(formula, found)
            known = self._supports[formula.index] = tuple(found)
        return known

    def _collect(self, formula: SymBool, found: dict[Atom, None]) -> None:
        node = formula.node
        if isinstance(node, All):
            for part in node.parts:
                self._collect(part, found)
        else:
            for atom, _ in node.form.terms:
                found.update(self._closure(atom))

    def _closure(self, atom: Atom) -> dict[Atom, None]:
        """The atom and all that its definition rests on, which may lead back to it."""
        known = self._closures.get(atom)
        if known is None:
            known = self._closures[atom] = {}
            self._walk(atom, known)
        return known

    def _walk(self, item: object, found: dict[Atom, None]) -> None:
        if type(item) is SymBool:
            node = item.node
            parts: tuple[object, ...] = node.parts if isinstance(node, All) else (node.form,)
            for part in parts:
                self._walk(part, found)
        elif type(item) is SymInt:
            for atom, _ in item.terms:
                self._walk(atom, found)
        elif isinstance(item, Atom) and item not in found:
            found[item] = None
            for needed in (*item.parts(), *self._facts_about(item)):
                self._walk(needed, found)

    def _facts_about(self, atom: Atom) -> list[SymBool]:
        known = self._facts.get(atom)
        if known is None:
            known = self._facts[atom] = [f for f in facts(atom) if type(f) is SymBool]
        return known

    def definition(self, atom: Atom) -> list[Ast]:
        """The static bounds of an atom and the facts about it."""
        known = self._definitions.get(atom)
        if known is None:
            known = self._bounds(atom) + [self.formula(f) for f in self._facts_about(atom)]
            known = self._definitions[atom] = [self.z3.all(known)] if known else []
        return known

    def relation(self, one: Product, two: Product) -> list[Ast]:
        """What two products with a common factor know about each other."""
        key = (one, two) if one.index < two.index else (two, one)
        known = self._relations.get(key)
        if known is None:
            known = self._relations[key] = [
                self.formula(fact) for fact in ordering(*key) if type(fact) is SymBool
            ]
        return known

    def _bounds(self, atom: Atom) -> list[Ast]:
        if self._choice(atom) is not None:
            return []
        this, bounds = self.constant(atom), []
        if atom.lo != -INF:
            bounds.append(self.z3.ge(this, self.z3.numeral(int(atom.lo))))
        if atom.hi != INF:
            bounds.append(self.z3.le(this, self.z3.numeral(int(atom.hi))))
        return bounds
