"""`Context`: what the function under test is given to declare and assume inputs."""

from __future__ import annotations

from proofs.symbolic.atoms import INF
from proofs.symbolic.bools import SymBool
from proofs.symbolic.ints import SymInt
from proofs.symbolic.pool import Formula
from proofs.symbolic.solver import Sat, Unsat
from proofs.symbolic.trail import Trail, caller


class Context(Trail):
    """Inputs and assumptions of one exploration."""

    def int(self, name: str, lo: int | None = None, hi: int | None = None) -> SymInt:
        """The integer input of that name, within optional constant bounds."""
        low, high = -INF if lo is None else lo, INF if hi is None else hi
        return self.declare(name, low, high, is_flag=False)

    def bool(self, name: str) -> SymBool:
        """The boolean input of that name."""
        literal = self.declare(name, 0, 1, is_flag=True) >= 1
        assert type(literal) is SymBool
        return literal

    def assume(self, condition: Formula, name: str | None = None) -> None:
        """Restrict the exploration to where the condition holds.

        With a name the assumption is tracked: every verdict that rests on it says so.
        """
        if type(condition) is SymBool:
            if not self.replayed(condition):
                self._assume(condition, name)
        elif not condition:
            self.credit(name)
            self.abandon()

    def _assume(self, condition: SymBool, name: str | None) -> None:
        known = self.knowledge.truth(condition)
        self.record(condition, True, assumed=True)
        if known:
            return
        if known is False:
            self.credit(name)
            self.abandon()
        self.enter(condition, name)
        if condition.holds_at(self.at):
            return
        outcome = self.look_for(condition)
        if isinstance(outcome, Sat):
            self.at = outcome.at
            return
        if isinstance(outcome, Unsat):
            self.cores |= outcome.core
        else:
            self.cut(f"{caller()}: {outcome.reason}")
        self.abandon()
