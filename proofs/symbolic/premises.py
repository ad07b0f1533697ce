"""The premises of a query: every condition of the path behind a literal of its own.

A formula asserted as ``guard implies formula``, with the guard assumed in the query, shows up in
the unsatisfiable core if the refutation took it.  So a core says not only which named assumptions
a proof rests on, but which decisions; the rest of the path may be another (see `lemmas`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import z3
from z3 import z3core

from proofs.symbolic.backend import Ast, Backend
from proofs.symbolic.bools import SymBool

CONTRADICTION = -1
"""Stands for the index of False, which is no formula of the pool."""
Premise = SymBool | bool
"""A formula; as a constant, only False."""


class Premises:
    """Those in force, in the order they were put, each once."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._guards: dict[int, Ast] = {}
        """Formula → its guard, made once."""
        self._formulas: dict[int, Premise] = {}
        """Z3's id of a guard → the formula behind it."""
        self._names: dict[int, str | None] = {}
        """Formulas in force → the name each was first put under."""

    def put(self, premise: Premise, name: str | None) -> tuple[bool, Ast]:
        """Whether the premise was not in force before, and its guard."""
        key = _key(premise)
        guard = self._guards.get(key)
        if guard is None:
            guard = self._guards[key] = self._backend.constant(f"premise:{key}", boolean=True)
            self._formulas[z3core.Z3_get_ast_id(self._backend.ref, guard)] = premise
        is_new = key not in self._names
        if is_new:
            self._names[key] = name
        return is_new, guard

    def in_force(self) -> frozenset[int]:
        """The indices of all that are."""
        return frozenset(self._names)

    def withdraw(self, premises: Iterable[Premise]) -> None:
        """These are no longer in force."""
        for premise in premises:
            del self._names[_key(premise)]

    def guards(self, without: Collection[str] = ()) -> list[Ast]:
        """The guards of all in force, but for those under one of the names."""
        return [self._guards[key] for key, name in self._names.items() if name not in without]

    def core(self, solver: z3.Solver) -> tuple[Premise, ...]:
        """The premises that a solver took to refute what it was asked last."""
        ref = self._backend.ref
        vector = z3core.Z3_solver_get_unsat_core(ref, solver.solver)
        z3core.Z3_ast_vector_inc_ref(ref, vector)
        size = z3core.Z3_ast_vector_size(ref, vector)
        guards = (z3core.Z3_ast_vector_get(ref, vector, index) for index in range(size))
        found = tuple(self._formulas[z3core.Z3_get_ast_id(ref, guard)] for guard in guards)
        z3core.Z3_ast_vector_dec_ref(ref, vector)
        return found

    def names(self, premises: Iterable[Premise]) -> frozenset[str]:
        """The names under which these are in force."""
        names = (self._names[_key(premise)] for premise in premises)
        return frozenset(name for name in names if name is not None)


def _key(premise: Premise) -> int:
    return premise.index if type(premise) is SymBool else CONTRADICTION
