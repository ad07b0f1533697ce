"""The lexicographically least satisfying assignment, by bisection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from proofs.symbolic.atoms import INF, Valuation, lower
from proofs.symbolic.bools import SymBool
from proofs.symbolic.ints import SymInt
from proofs.symbolic.solver import Sat, Solver, Unsat

Term = SymInt | int


@dataclass
class Least:
    """The search's state: the best assignment so far, and whether it is known to be least."""

    solver: Solver
    at: Valuation
    exact: bool = True

    def settle(self, term: Term) -> None:
        """Fix a term at its least value."""
        if type(term) is int:
            return
        if lower(term) == -INF and not self._reach(term >= 0):
            self._descend(-term, 1)
        else:
            self._descend(term, max(lower(term), 0) if lower(term) == -INF else lower(term))
        self.solver.add(term == self.at.integer(term))

    def _descend(self, term: Term, floor: float) -> None:
        """Lower a term towards ``floor``: small steps up from it first, then halves."""
        low, step = int(floor), 1
        while low < (best := self.at.integer(term)):
            bound = min(low + step - 1, (low + best) // 2)
            outcome = self._try(term <= bound)
            if outcome is None:
                return
            if not outcome:
                low, step = bound + 1, 2 * step

    def _reach(self, condition: SymBool | bool) -> bool:
        """Whether the condition can be had on top; unknown counts as no."""
        if type(condition) is SymBool and condition.holds_at(self.at):
            return True
        return self._try(condition) is True

    def _try(self, condition: SymBool | bool) -> bool | None:
        outcome = self.solver.check_with([condition])
        if isinstance(outcome, Sat):
            self.at = outcome.at
            return True
        if isinstance(outcome, Unsat):
            return False
        self.exact = False
        return None


def least(
    solver: Solver, at: Valuation, condition: SymBool | bool, terms: Iterable[Term]
) -> Least | None:
    """The least assignment that satisfies the open frames and the condition.

    ``at`` satisfies the frames; ``None`` if no assignment was found.
    """
    depth = solver.depth
    solver.push()
    try:
        solver.add(condition)
        if not (condition.holds_at(at) if type(condition) is SymBool else condition):
            outcome = solver.check()
            if not isinstance(outcome, Sat):
                return None
            at = outcome.at
        search = Least(solver, at)
        for term in terms:
            search.settle(term)
        return search
    finally:
        solver.pop_to(depth)
