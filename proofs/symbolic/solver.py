"""An incremental solver that speaks `SymBool` and returns only validated models.

Queries run in QF_LIA on one solver whose frames mirror the decisions of the
current path.  Three outcomes are possible: `Sat` with an assignment under which
every asserted formula was *checked to hold in Python* where Z3 only approximates,
`Unsat` with the premises and the named assumptions it rests on, and `Unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter

import z3
from z3 import z3core

from proofs.symbolic.atoms import Atom, Product, Valuation, Variable
from proofs.symbolic.backend import SAT, UNSAT, Ast, Model
from proofs.symbolic.bools import SymBool
from proofs.symbolic.exact import multiplied, pinned
from proofs.symbolic.lowering import Lowering
from proofs.symbolic.premises import CONTRADICTION, Premise, Premises

EFFORT = 100_000
"""Z3 resource units tried before a fresh solver is asked, by the clock: a timer costs 60 us."""


@dataclass(frozen=True)
class Sat:
    """Satisfiable, with a validated assignment."""

    at: Valuation


@dataclass(frozen=True)
class Unsat:
    """Unsatisfiable; ``core`` names the tracked assumptions used."""

    core: frozenset[str]
    premises: tuple[Premise, ...] = ()
    """All that was used of what was added as a premise."""


@dataclass(frozen=True)
class Unknown:
    """No answer within the limits."""

    reason: str


Outcome = Sat | Unsat | Unknown
Found = dict[frozenset[int], Valuation]
"""Formulas, by index → inputs under which all of them hold."""


@dataclass(slots=True)
class Frame:
    """What one `push` added; ``premises`` lists first mentions only.

    Z3 is told of a frame when it is next asked something: many paths end without a question.
    """

    asserted: list[Ast] = field(default_factory=list)
    formulas: list[SymBool] = field(default_factory=list)
    atoms: list[Atom] = field(default_factory=list)
    premises: list[Premise] = field(default_factory=list)
    added: int = 0


class Solver:
    """A stack of frames over one Z3 solver."""

    def __init__(self, query_ms: int, lowering: Lowering, found: Found) -> None:
        self.query_ms = query_ms
        self.queries = 0
        self.seconds = 0.0
        self._backend = lowering.z3
        self._lowering = lowering
        self._found = found
        self._added: list[int] = []
        """Formulas in force that are no premises, by index."""
        self._solver = self._new_solver("QF_LIA", rlimit=EFFORT, ctrl_c=False)
        self._frames = [Frame()]
        self._told = 1
        """Frames that Z3 knows to be open, its base included."""
        self._stated = 0
        """Assertions of the last of them that it knows."""
        self._present: set[Atom] = set()
        self._products: list[Product] = []
        self._premises = Premises(self._backend)

    def _new_solver(self, logic: str | None, **parameters: int) -> z3.Solver:
        context = self._backend.context
        solver = z3.SolverFor(logic, ctx=context) if logic else z3.SimpleSolver(ctx=context)
        solver.set("random_seed", 0)
        if logic:  # the plain solver keeps its models whole and knows no such parameter
            solver.set("model.compact", False)
            # Guess "true" first: most atoms are bounds that hold.  A fifth less time than guessing
            # what was true last, which is Z3's default.
            solver.set("phase_selection", 1)
        for name, value in parameters.items():
            solver.set(name, value)
        return solver

    def rest(self) -> None:
        """Nothing more is asked: what Z3 holds goes at once, not when somebody looks for cycles."""
        del self._solver, self._lowering, self._backend, self._premises
        self._frames, self._found = [], {}

    # -- frames ------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """The number of open frames."""
        return len(self._frames) - 1

    def push(self) -> None:
        """Open a frame."""
        self._frames.append(Frame())

    def pop_to(self, depth: int) -> None:
        """Close frames until ``depth`` are left."""
        count = self.depth - depth
        if count <= 0:
            return
        for gone in (self._frames.pop() for _ in range(count)):
            del self._added[len(self._added) - gone.added :]
            self._present.difference_update(gone.atoms)
            self._premises.withdraw(gone.premises)
            while self._products and self._products[-1] not in self._present:
                self._products.pop()
        known = self._told - len(self._frames)
        if known > 0:
            started = perf_counter()
            z3core.Z3_solver_pop(self._backend.ref, self._solver.solver, known)
            self.seconds += perf_counter() - started
            self._told, self._stated = len(self._frames), len(self._frames[-1].asserted)

    def suppose(self, formula: SymBool | bool, name: str | None = None) -> None:
        """Assert a premise in the top frame: what is refuted says whether it took this one."""
        if formula is not True:
            is_new, guard = self._premises.put(formula, name)
            if is_new:
                self._frames[-1].premises.append(formula)
            self._assert(formula, guard)

    def add(self, formula: SymBool | bool) -> None:
        """Assert a formula in the top frame; no core will name it."""
        if formula is not True:
            self._frames[-1].added += 1
            self._added.append(formula.index if type(formula) is SymBool else CONTRADICTION)
            self._assert(formula)

    def _assert(self, formula: SymBool | bool, guard: Ast | None = None) -> None:
        """Assert a formula, under a guard if there is one, and what defines its atoms."""
        frame, lowering = self._frames[-1], self._lowering
        asts: list[Ast] = []
        if type(formula) is SymBool:
            for atom in lowering.support(formula):
                if atom not in self._present:
                    self._present.add(atom)
                    frame.atoms.append(atom)
                    asts += lowering.definition(atom)
                    if isinstance(atom, Product):
                        asts += self._relations(atom)
                        self._products.append(atom)
            frame.formulas.append(formula)
            ast = lowering.formula(formula)
        else:
            ast = self._backend.any(())
        asts.append(ast if guard is None else self._backend.implies(guard, ast))
        frame.asserted += asts

    def _tell(self) -> None:
        """Tell Z3 what was pushed and asserted since it was asked last."""
        ref, handle = self._backend.ref, self._solver.solver
        for number in range(self._told - 1, len(self._frames)):
            if number == self._told:
                z3core.Z3_solver_push(ref, handle)
                self._told, self._stated = number + 1, 0
            asserted = self._frames[number].asserted
            for ast in asserted[self._stated :]:
                z3core.Z3_solver_assert(ref, handle, ast)
            self._stated = len(asserted)

    def _relations(self, product: Product) -> list[Ast]:
        """Lemmas about a new product and each one already there."""
        return [
            ast
            for other in self._products
            if not set(product.factors).isdisjoint(other.factors)
            for ast in self._lowering.relation(product, other)
        ]

    # -- queries -----------------------------------------------------------------------

    def check(self) -> Outcome:
        """Whether all frames together are satisfiable."""
        asked = self._premises.in_force().union(self._added)
        if asked in self._found:
            return Sat(self._found[asked])
        self.queries += 1
        started = perf_counter()
        outcome = self._check_linear()
        self.seconds += perf_counter() - started
        if isinstance(outcome, Sat):
            self._found[asked] = outcome.at
        return outcome

    def check_with(
        self,
        formulas: Iterable[SymBool | bool],
        tracked: Mapping[str, SymBool | bool] | None = None,
        dear: Callable[[str], bool] | None = None,
    ) -> Outcome:
        """`check` with further formulas, in a frame of their own.

        ``dear``: names to leave out of the core where the rest of it is enough.
        """
        depth = self.depth
        self.push()
        try:
            for name, condition in (tracked or {}).items():
                self.suppose(condition, name)
            for formula in formulas:
                self.add(formula)
            outcome = self.check()
            if dear is not None and isinstance(outcome, Unsat) and any(map(dear, outcome.core)):
                return self._cheaper(outcome, dear)
            return outcome
        finally:
            self.pop_to(depth)

    def refutes(self, formulas: Iterable[SymBool]) -> bool:
        """Whether further formulas contradict, as far as a short try shows."""
        depth = self.depth
        self.push()
        try:
            for formula in formulas:
                self.add(formula)
            self._tell()
            return isinstance(self._ask(self._solver), Unsat)
        finally:
            self.pop_to(depth)

    def _cheaper(self, outcome: Unsat, dear: Callable[[str], bool]) -> Unsat:
        """The same without each dear name in its core that all the others can do without."""
        started, without = perf_counter(), frozenset[str]()
        for name in sorted(filter(dear, outcome.core)):
            self.queries += 1
            again = self._ask(self._solver, self._premises.guards(without | {name}))
            if isinstance(again, Unsat):
                outcome, without = again, without | {name}
        self.seconds += perf_counter() - started
        return outcome

    def _check_linear(self) -> Outcome:
        self._tell()
        asked, verdict = self._solver, self._ask(self._solver)
        if verdict is None:  # start the clock; what the solver has learned may have led it astray
            asked = self._afresh("QF_LIA")
            verdict = self._ask_patiently(asked)
        if not isinstance(verdict, Model):
            return verdict or Unknown(asked.reason_unknown())
        at = self._read(verdict)
        if not self._products or self.allows(at):
            return Sat(at)
        return self._check_exactly(self._misjudged(verdict, at), at)

    def _afresh(self, logic: str | None, facts: Iterable[Ast] = ()) -> z3.Solver:
        """A solver that knows all frames, and further facts, and has learned nothing yet."""
        solver = self._new_solver(logic, timeout=self.query_ms)
        for ast in (*(a for frame in self._frames for a in frame.asserted), *facts):
            z3core.Z3_solver_assert(self._backend.ref, solver.solver, ast)
        return solver

    def _ask(self, solver: z3.Solver, guards: list[Ast] | None = None) -> Model | Unsat | None:
        """One call to Z3; ``None`` when it gives up.  ``guards``: of the premises; None: of all."""
        ref, handle = self._backend.ref, solver.solver
        assumed = self._premises.guards() if guards is None else guards
        array = (z3.Ast * len(assumed))(*assumed)
        result = z3core.Z3_solver_check_assumptions(ref, handle, len(assumed), array)
        if result == SAT:
            return Model(self._backend, handle)
        if result == UNSAT:
            used = self._premises.core(solver)
            return Unsat(self._premises.names(used), used)
        return None

    def _ask_patiently(self, solver: z3.Solver) -> Model | Unsat | None:
        """A call that may take seconds, and that an interrupt from the keyboard ends.

        Z3 then swallows the signal and reports an early end for one reason or another.
        """
        started = perf_counter()
        verdict = self._ask(solver)
        if verdict is None and perf_counter() - started < 0.9e-3 * self.query_ms:
            reason = solver.reason_unknown()
            if "interrupt" in reason or "cancel" in reason:
                raise KeyboardInterrupt
        return verdict

    def _read(self, model: Model) -> Valuation:
        """A valuation that looks variables up in the model; all else follows from them.

        Of those that nothing in force mentions it knows nothing.
        """
        declaration, mentioned = self._lowering.declaration, frozenset(self._present)

        def look_up(variable: Variable) -> int | None:
            if variable not in mentioned:
                return None
            read = model.boolean if variable.is_flag else model.integer
            return read(declaration(variable))

        return Valuation(look_up)

    # -- where Z3 only approximates ------------------------------------------------------

    def _misjudged(self, model: Model, at: Valuation) -> list[Product]:
        """The products whose value in the model is not their true value, for the report.

        Never a reason to believe a model: a quotient by a term can be wrong while the
        product of the two happens to be right.
        """
        declaration = self._lowering.declaration
        return [p for p in self._products if model.integer(declaration(p)) != at[p]]

    def allows(self, at: Valuation) -> bool:
        """Whether everything asserted holds of an assignment."""
        return all(f.holds_at(at) for frame in reversed(self._frames) for f in frame.formulas)

    def _check_exactly(self, wrong: list[Product], at: Valuation) -> Outcome:
        """Ask again with the true meaning of the products a spurious model got wrong.

        First with one factor of each pinned to its value in the model, which is
        linear and often enough to find a genuine model nearby; then in full.
        """
        products = self._products
        near = pinned(self._lowering, products, at)
        for facts, logic in ((near, "QF_LIA"), (multiplied(self._lowering, products), None)):
            solver = self._afresh(logic, facts)
            verdict = self._ask_patiently(solver)
            if isinstance(verdict, Model):
                found = self._read(verdict)
                if self.allows(found):
                    return Sat(found)
            elif isinstance(verdict, Unsat) and facts is not near:
                return verdict
        return Unknown(f"no exact answer about {', '.join(map(repr, wrong or products))}")
