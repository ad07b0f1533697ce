"""A thin typed layer over Z3's C interface.

z3py's operator layer costs more than the small queries asked here, so terms are
built through the C functions directly.  Every node is kept alive until its
context dies: nodes are cached and shared by all queries of an exploration.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import z3
from z3 import z3core

Ast = Any
"""A raw ``Z3_ast`` handle."""

SAT, UNSAT, UNKNOWN = 1, -1, 0


class Backend:
    """Builds terms in one fresh Z3 context."""

    def __init__(self) -> None:
        self.context = z3.Context()
        self.ref: Any = self.context.ref()
        self._int: Any = self._sort(z3core.Z3_mk_int_sort(self.ref))
        self._bool: Any = self._sort(z3core.Z3_mk_bool_sort(self.ref))
        self._numerals: dict[int, Ast] = {}

    def _sort(self, sort: Any) -> Any:
        z3core.Z3_inc_ref(self.ref, z3core.Z3_sort_to_ast(self.ref, sort))
        return sort

    def _keep(self, ast: Ast) -> Ast:
        z3core.Z3_inc_ref(self.ref, ast)
        return ast

    def constant(self, name: str, boolean: bool = False) -> Ast:
        """An uninterpreted constant."""
        symbol = z3core.Z3_mk_string_symbol(self.ref, name)
        sort = self._bool if boolean else self._int
        return self._keep(z3core.Z3_mk_const(self.ref, symbol, sort))

    def declaration(self, constant: Ast) -> Any:
        """The function declaration of a constant, for model look-ups."""
        app = z3core.Z3_to_app(self.ref, constant)
        declaration = z3core.Z3_get_app_decl(self.ref, app)
        self._keep(z3core.Z3_func_decl_to_ast(self.ref, declaration))
        return declaration

    def numeral(self, value: int) -> Ast:
        """An integer literal."""
        ast = self._numerals.get(value)
        if ast is None:
            made = z3core.Z3_mk_numeral(self.ref, str(value), self._int)
            ast = self._numerals[value] = self._keep(made)
        return ast

    def _nary(self, function: Any, args: Sequence[Ast]) -> Ast:
        array = (z3.Ast * len(args))(*args)
        return self._keep(function(self.ref, len(args), array))

    def add(self, args: Sequence[Ast]) -> Ast:
        """The sum of one or more terms."""
        return args[0] if len(args) == 1 else self._nary(z3core.Z3_mk_add, args)

    def times(self, left: Ast, right: Ast) -> Ast:
        """The product of two terms."""
        return self._nary(z3core.Z3_mk_mul, (left, right))

    def all(self, args: Sequence[Ast]) -> Ast:
        """The conjunction of one or more formulas."""
        return args[0] if len(args) == 1 else self._nary(z3core.Z3_mk_and, args)

    def any(self, args: Sequence[Ast]) -> Ast:
        """The disjunction of one or more formulas."""
        return args[0] if len(args) == 1 else self._nary(z3core.Z3_mk_or, args)

    def negate(self, formula: Ast) -> Ast:
        """The negation."""
        return self._keep(z3core.Z3_mk_not(self.ref, formula))

    def implies(self, premise: Ast, conclusion: Ast) -> Ast:
        """The implication."""
        return self._keep(z3core.Z3_mk_implies(self.ref, premise, conclusion))

    def le(self, left: Ast, right: Ast) -> Ast:
        """``left <= right``."""
        return self._keep(z3core.Z3_mk_le(self.ref, left, right))

    def ge(self, left: Ast, right: Ast) -> Ast:
        """``left >= right``."""
        return self._keep(z3core.Z3_mk_ge(self.ref, left, right))

    def equal(self, left: Ast, right: Ast) -> Ast:
        """``left == right``."""
        return self._keep(z3core.Z3_mk_eq(self.ref, left, right))

    def choose(self, condition: Ast, then: Ast, other: Ast) -> Ast:
        """``then if condition else other``."""
        return self._keep(z3core.Z3_mk_ite(self.ref, condition, then, other))


class Model:
    """A Z3 model, read through declarations."""

    def __init__(self, backend: Backend, solver: Any) -> None:
        self._ref = backend.ref
        self._model: Any = z3core.Z3_solver_get_model(self._ref, solver)
        self._context = backend.context  # keeps the context alive as long as the model
        self._small = ctypes.c_int64()
        z3core.Z3_model_inc_ref(self._ref, self._model)

    def __del__(self) -> None:
        if self._context.ref() is not None:  # collected together, the context may go first
            z3core.Z3_model_dec_ref(self._ref, self._model)

    def integer(self, declaration: Any) -> int | None:
        """The value of an integer constant; ``None`` where Z3 does not care."""
        value = z3core.Z3_model_get_const_interp(self._ref, self._model, declaration)
        if not value:
            return None
        if z3core.Z3_get_numeral_int64(self._ref, value, ctypes.byref(self._small)):
            return self._small.value
        return int(z3core.Z3_get_numeral_string(self._ref, value))

    def boolean(self, declaration: Any) -> int | None:
        """The value of a boolean constant as 0 or 1; ``None`` where Z3 does not care."""
        value = z3core.Z3_model_get_const_interp(self._ref, self._model, declaration)
        if not value:
            return None
        return int(z3core.Z3_get_bool_value(self._ref, value) == z3.Z3_L_TRUE)
