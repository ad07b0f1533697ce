"""`Lemmas`: what was proved on one path, for every path on which the same premises hold.

A refutation shows that its premises imply a conclusion: a statement about the inputs, which holds
of any path, for the definitions of atoms it rests on besides are true of every execution.  Paths
differ in few of their decisions and raise the same questions again and again; one whose premises
are settled on this path too takes no query.
"""

from __future__ import annotations

from collections.abc import Mapping

from proofs.symbolic.bools import SymBool
from proofs.symbolic.knowledge import Knowledge, Names
from proofs.symbolic.premises import Premise

Proved = dict[int, list[tuple[SymBool, ...]]]
"""Index of a conclusion → premises that imply it, in the order they were found."""
Granted = Mapping[str, SymBool | bool]
"""Name → a hypothesis that is granted to a claim."""


class Lemmas:
    """What was proved, used on the current path of an exploration."""

    def __init__(self, knowledge: Knowledge, proved: Proved) -> None:
        self._knowledge = knowledge
        self._proved = proved

    def learn(self, premises: tuple[Premise, ...], conclusion: SymBool | bool) -> None:
        """The premises imply the conclusion, whose negation may be among them: it was refuted."""
        if type(conclusion) is not SymBool:
            return
        others = [premise for premise in premises if premise is not conclusion.negation]
        needed = tuple(premise for premise in others if type(premise) is SymBool)
        if len(needed) == len(others):  # a premise that is false holds on no path
            self._proved.setdefault(conclusion.index, []).append(needed)

    def names(self, conclusion: SymBool, granted: Granted | None = None) -> Names | None:
        """The assumptions from which the conclusion follows here, if a lemma says that it does."""
        known = self._proved.get(conclusion.index)
        if known is None:
            return None
        named = {f.index: name for name, f in (granted or {}).items() if type(f) is SymBool}
        for premises in reversed(known):
            names = self._settled(premises, named)
            if names is not None:
                return names
        return None

    def _settled(self, premises: tuple[SymBool, ...], granted: Mapping[int, str]) -> Names | None:
        """The assumptions the premises rest on, if all of them hold."""
        names: set[str] = set()
        for premise in premises:
            reasons = self._knowledge.reasons(premise)
            if reasons is not None:
                names |= reasons
            elif premise.index in granted:
                names.add(granted[premise.index])
            else:
                return None
        return frozenset(names)
