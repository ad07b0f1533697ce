"""`Trail`: the decisions of the current path, and how runs move along them.

A run replays the recorded decisions by position and extends the trail at its end.
Between runs the trail is backtracked to the deepest decision with an untried side.
Frames of the solver and the knowledge table mirror the trail.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from time import monotonic
from types import FrameType
from typing import NoReturn

from proofs.symbolic.active import ACTIVE, OURS, PACKAGE
from proofs.symbolic.atoms import INF, Valuation, Variable
from proofs.symbolic.bools import SymBool
from proofs.symbolic.errors import Abandon, NondeterminismError, Unsupported
from proofs.symbolic.ground import Ground
from proofs.symbolic.ints import SymInt
from proofs.symbolic.knowledge import Knowledge
from proofs.symbolic.lemmas import Lemmas
from proofs.symbolic.nearby import nearby
from proofs.symbolic.solver import Outcome, Sat, Solver, Unsat


@dataclass(frozen=True)
class Limits:
    """Where an exploration stops; whatever is cut makes it incomplete, with a reason."""

    paths: int = 100_000
    decisions: int = 5_000
    query_ms: int = 5_000
    seconds: float = INF


@dataclass(frozen=True)
class Where:
    """A source position."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Gap:
    """A use of a symbolic value that the executor does not support."""

    reason: str
    where: Where


@dataclass(slots=True)
class Decision:
    """A branch taken, or an assumption made (``assumed``)."""

    condition: SymBool
    taken: bool
    where: Where
    assumed: bool
    open: bool
    """Whether the other side still has to be tried."""
    depth: int
    mark: int


class Trail:
    """One run after another; see `Exploration` for the life cycle."""

    def __init__(self, limits: Limits, ground: Ground | None = None) -> None:
        self.limits = limits
        self._deadline = INF
        ground = ground or Ground()
        self.pool = ground.serve(self.decide, self.unsupported)
        self.solver = Solver(limits.query_ms, ground.lowering, ground.found)
        self.knowledge = Knowledge()
        self.lemmas = Lemmas(self.knowledge, ground.proved)
        self.at = Valuation()
        self.decisions: list[Decision] = []
        self.declared: dict[str, Variable] = {}
        self.gaps: list[Gap] = []
        self.doubts: dict[str, None] = {}
        self.cuts: list[str] = []
        self.cores: set[str] = set()
        self.abandoned = self._running = False
        self.counting = False
        """What the code under test counts now is how many of it the run has: see `counts`."""
        self.heard = False
        """The text of a symbolic value was made: see `speech`."""
        self._failure: NondeterminismError | None = None
        self._cursor = 0

    # -- on the way ---------------------------------------------------------------------

    def unsupported(self, reason: str) -> NoReturn:
        """Leave the path undecided for this reason, and unwind."""
        (ACTIVE.get() or self).note(reason)
        raise Unsupported(reason)

    def doubt(self, reason: str) -> None:
        """Go on, and nothing is to be concluded from what holds on this path."""
        self.doubts[f"{caller(OURS)}: {reason}"] = None

    def note(self, reason: str) -> None:
        """Leave the path undecided for this reason."""
        self.gaps.append(Gap(reason, caller()))

    def declare(self, name: str, lo: float, hi: float, is_flag: bool) -> SymInt:
        """The input of that name as a term."""
        variable = self.pool.variable(name, lo, hi, is_flag)
        if self.declared.setdefault(name, variable) is not variable:
            raise ValueError(f"{name!r} was declared before with another type or range")
        return variable.term

    def decide(self, condition: SymBool) -> bool:
        """The truth value on this run: recorded, settled, or the current model's choice."""
        if self.replayed(condition):
            return self.decisions[self._cursor - 1].taken
        known = self.knowledge.truth(condition)
        if known is not None:
            self.record(condition, known)
            return known
        for side in (condition, condition.negation):
            names = self.lemmas.names(side)
            if names is not None:  # the other side was put to the solver on another path
                self.cores |= names
                self.record(condition, side is condition)
                self.knowledge.learn(side)
                return side is condition
        taken = condition.holds_at(self.at)
        self.record(condition, taken, open=True)
        self.solver.push()
        self.enter(condition if taken else condition.negation)
        return taken

    def replayed(self, condition: SymBool) -> bool:
        """Move along the trail; whether the step was recorded on an earlier run."""
        cursor = self._cursor
        if cursor < len(self.decisions):
            if self.decisions[cursor].condition is not condition:
                self._diverge(
                    f"{self.decisions[cursor].condition.shown()} became {condition.shown()}"
                )
            self._cursor = cursor + 1
            return True
        if not self._running:
            self._outside(condition)
        if self.abandoned:
            raise Abandon
        if cursor >= self.limits.decisions:
            self.cut(f"{caller()}: more than {self.limits.decisions} decisions on one path")
            self.abandon()
        if monotonic() > self._deadline:
            self.cut(f"{caller()}: the time limit of {self.limits.seconds:.1f} s is over")
            self.abandon()
        return False

    def record(
        self, condition: SymBool, taken: bool, assumed: bool = False, open: bool = False
    ) -> None:
        """Extend the trail by one step, before anything follows from it."""
        self._cursor += 1
        depth, mark = self.solver.depth, self.knowledge.mark()
        self.decisions.append(Decision(condition, taken, caller(), assumed, open, depth, mark))

    def enter(self, condition: SymBool, name: str | None = None) -> None:
        """Make a condition part of the path.

        What is open begins a frame of the solver's, to be taken back alone; what follows from it,
        or is assumed behind it, goes with it.
        """
        self.solver.suppose(condition, name)
        self.knowledge.learn(condition, name)

    def look_for(self, condition: SymBool) -> Outcome:
        """Inputs for the path, which a condition has just become part of: near the last ones."""
        for at in nearby(self.at, condition):
            if self.solver.allows(at):
                return Sat(at)
        return self.solver.check()

    # -- the life of a run -----------------------------------------------------------------

    def start_clock(self) -> None:
        """Let the time limit run."""
        self._deadline = monotonic() + self.limits.seconds

    def has_open(self) -> bool:
        """Whether some side of a decision is untried."""
        return any(decision.open for decision in self.decisions)

    def begin(self) -> None:
        """Start a run from the top."""
        self._cursor = 0
        self._running, self.abandoned = True, False
        self.heard = self.counting = False
        self.gaps, self.doubts, self.declared = [], {}, {}

    def finish(self) -> None:
        """End the run; a divergence comes out even if the code under test caught it."""
        self._running = False
        if self._failure is None and not self.abandoned and self._cursor < len(self.decisions):
            self._failure = NondeterminismError("a re-run ended before its recorded decisions")
        if self._failure is not None:
            raise self._failure

    def backtrack(self) -> bool:
        """Move to the deepest untried side that is feasible; false when none is left."""
        while self.decisions:
            decision = self.decisions.pop()
            if not decision.open:
                continue
            if monotonic() > self._deadline:
                self.cut(f"the time limit of {self.limits.seconds:.1f} s is over")
                return False
            self.solver.pop_to(decision.depth)
            self.knowledge.undo(decision.mark)
            taken = not decision.taken
            other = decision.condition if taken else decision.condition.negation
            self.solver.suppose(other)
            outcome = self.look_for(other)
            if isinstance(outcome, Sat):
                self.at = outcome.at
                self.knowledge.learn(other)
                self.decisions.append(replace(decision, taken=taken, open=False))
                return True
            if isinstance(outcome, Unsat):
                self.cores |= outcome.core
                self.lemmas.learn(outcome.premises, other.negation)
            else:
                self.cut(f"{decision.where}: {outcome.reason}")
        return False

    def rest(self) -> None:
        """The exploration is over: only what its values are is still asked of it."""
        self.solver.rest()
        self.at = Valuation()

    def cut(self, reason: str) -> None:
        """Note why the exploration is not complete."""
        if reason not in self.cuts:
            self.cuts.append(reason)

    def credit(self, name: str | None) -> None:
        """Note that a tracked assumption made something infeasible."""
        if name is not None:
            self.cores.add(name)

    def abandon(self) -> NoReturn:
        """Drop the current run."""
        self.abandoned = True
        raise Abandon

    def _diverge(self, what: str) -> NoReturn:
        self._failure = NondeterminismError(f"a re-run took another course: {what}")
        raise self._failure

    def _outside(self, condition: SymBool) -> NoReturn:
        other = ACTIVE.get()
        if other is not None:
            other.unsupported(f"{condition.shown()} belongs to a different exploration")
        raise RuntimeError(
            f"the truth value of {condition.shown()} was asked outside a run; "
            "state claims with & | ~, or compute them inside the function under test"
        )


def caller(ours: str = PACKAGE) -> Where:
    """The innermost source position outside this package, or outside another folder."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(ours):
        frame = frame.f_back
    return Where("?", 0) if frame is None else Where(frame.f_code.co_filename, frame.f_lineno)
