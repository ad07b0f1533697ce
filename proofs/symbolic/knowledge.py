"""Cheap consequences of the decisions on a path: no solver, only table look-ups.

Each linear form has a range narrowed by the literals learnt about it; a literal is
settled by the range of its form, a conjunction by its parts.  Whatever rests on a
tracked assumption carries its name, so that an assumption which spared a query is
credited like one in an unsat core.  Changes are kept on a trail: backtracking to a
decision undoes exactly what followed it.
"""

from __future__ import annotations

from proofs.symbolic.atoms import Bound
from proofs.symbolic.bools import All, AtMost, Equals, SymBool
from proofs.symbolic.ints import SymInt

Names = frozenset[str]
Range = tuple[Bound, Bound, Names]
_NOBODY: Names = frozenset()


class Knowledge:
    """What the current path is known to imply."""

    def __init__(self) -> None:
        self.credited: set[str] = set()
        self._ranges: dict[int, Range] = {}
        self._settled: dict[int, tuple[bool, Names]] = {}
        self._trail: list[tuple[int, Range | None] | int] = []
        self._reasons: dict[int, Names | None] = {}
        """What was asked since something was learnt, or forgotten: proofs share their premises."""

    # -- backtracking ------------------------------------------------------------------

    def mark(self) -> int:
        """A point to return to."""
        return len(self._trail)

    def undo(self, mark: int) -> None:
        """Forget everything learnt since ``mark``."""
        trail, ranges = self._trail, self._ranges
        self._reasons.clear()
        while len(trail) > mark:
            entry = trail.pop()
            if type(entry) is int:
                del self._settled[entry]
            else:
                form, old = entry  # type: ignore[misc]
                if old is None:
                    del ranges[form]
                else:
                    ranges[form] = old

    # -- asking ------------------------------------------------------------------------

    def truth(self, formula: SymBool) -> bool | None:
        """The truth value, where it is settled."""
        return self._truth(formula, self.credited)

    def reasons(self, formula: SymBool) -> Names | None:
        """The assumptions from which a formula follows, where it is settled as true."""
        try:
            return self._reasons[formula.index]
        except KeyError:
            names: set[str] = set()
            known = frozenset(names) if self._truth(formula, names) else None
            self._reasons[formula.index] = known
            return known

    def _truth(self, formula: SymBool, credited: set[str]) -> bool | None:
        """``credited`` is told the assumptions the answer rests on."""
        node = formula.node
        entry = self._settled.get(formula.index & ~1)
        if entry is not None:
            known: bool | None = entry[0]
            credited |= entry[1]
        elif isinstance(node, All):
            known = self._conjunction(node, credited)
        else:
            known = self._literal(node, credited)
        return None if known is None else known is formula.positive

    def _conjunction(self, node: All, credited: set[str]) -> bool | None:
        known: bool | None = True
        for part in node.parts:
            truth = self._truth(part, credited)
            if truth is False:
                return False
            if truth is None:
                known = None
        return known

    def _literal(self, node: AtMost | Equals, credited: set[str]) -> bool | None:
        lo, hi, names = self._range(node.form)
        if isinstance(node, AtMost):
            if lo <= node.bound < hi:
                return None
            known = hi <= node.bound
        else:
            if lo <= node.value <= hi and lo != hi:
                return None
            known = lo == node.value == hi
        credited |= names
        return known

    def _range(self, form: SymInt) -> Range:
        """What was learnt about a form, or what follows from its atoms where tighter."""
        ranges = self._ranges
        lo, hi, names = ranges.get(form.index) or (form.lo, form.hi, _NOBODY)
        if len(form.terms) == 1:
            return lo, hi, names
        low: Bound = 0
        high: Bound = 0
        for atom, coefficient in form.terms:
            entry = ranges.get(atom.term.index)
            if entry is None:
                below, above = atom.lo, atom.hi
            else:
                below, above, more = entry
                names = names | more if more else names
            if coefficient < 0:
                below, above = above, below
            low, high = low + coefficient * below, high + coefficient * above
        return (low if low > lo else lo), (high if high < hi else hi), names

    # -- learning ----------------------------------------------------------------------

    def learn(self, formula: SymBool, name: str | None = None) -> None:
        """Take note of a formula that holds; ``name`` is the assumption it comes from."""
        self._reasons.clear()
        node, positive, key = formula.node, formula.positive, formula.index & ~1
        names = _NOBODY if name is None else frozenset((name,))
        if key not in self._settled:
            self._settled[key] = (positive, names)
            self._trail.append(key)
        if isinstance(node, All):
            if positive:
                for part in node.parts:
                    self.learn(part, name)
            return
        lo, hi, owed = self._range(node.form)
        if isinstance(node, AtMost):
            lo, hi = (lo, min(hi, node.bound)) if positive else (max(lo, node.bound + 1), hi)
        elif positive:
            lo = hi = node.value
        else:
            lo, hi = lo + (lo == node.value), hi - (hi == node.value)
        self._trail.append((node.form.index, self._ranges.get(node.form.index)))
        self._ranges[node.form.index] = (lo, hi, owed | names)
