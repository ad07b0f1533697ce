"""`Path`: one feasible execution class, and what can be asked about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Generic, TypeVar, cast

from proofs.symbolic.answers import Answer, Assignment, Proved, Refuted, Undecided
from proofs.symbolic.atoms import Valuation
from proofs.symbolic.bools import SymBool
from proofs.symbolic.ints import SymInt
from proofs.symbolic.minimum import least
from proofs.symbolic.pool import Formula
from proofs.symbolic.solver import Sat, Unsat
from proofs.symbolic.trail import Decision, Gap, Trail, Where

T = TypeVar("T")
Tracked = Mapping[str, Formula]
Claims = dict[str, Formula]
EVIDENT = Proved()
"""By nothing but the path."""


class Path(Generic[T]):
    """The end of one run.  Questions may be asked until the exploration moves on.

    ``value`` is what the function returned, ``error`` the exception it raised
    instead and ``error_at`` where.  With a non-empty ``unsupported`` neither can be
    trusted: the path is undecided.  With ``doubts`` it is a path, and what is refuted on it is;
    what holds on it may not hold where there are more of something: see `counts`.
    """

    def __init__(
        self, trail: Trail, value: T | None, error: BaseException | None, at: Where | None
    ) -> None:
        self.value: T = cast(T, value)
        self.error, self.error_at = error, at
        self.unsupported: tuple[Gap, ...] = tuple(trail.gaps)
        self.doubts: tuple[str, ...] = tuple(trail.doubts)
        self.decisions: tuple[Decision, ...] = tuple(trail.decisions)
        self._trail: Trail | None = trail
        self._at = trail.at
        self._variables = tuple(trail.declared.values())

    @cached_property
    def model(self) -> Assignment:
        """Inputs that take this path."""
        return Assignment.of(self._at, self._variables)

    def at_witness(self, value: Any) -> Any:
        """What a term or a formula is for the inputs of ``model``."""
        if type(value) is SymInt:
            return self._at.integer(value)
        return value.holds_at(self._at) if type(value) is SymBool else value

    def close(self) -> None:
        """The exploration moves on: no more questions."""
        self._trail = None

    @property
    def _current(self) -> Trail:
        if self._trail is None:
            raise RuntimeError("the exploration has moved on from this path")
        return self._trail

    # -- proofs --------------------------------------------------------------------------

    def holds(
        self, claim: Formula, given: Iterable[Formula] = (), tracked: Tracked | None = None
    ) -> Answer:
        """Whether the claim holds in every execution of the path.

        ``given`` is assumed besides.  So is every condition in ``tracked``, and the
        core of a proof names those, and the tracked assumptions, it needed.
        """
        given = list(given)
        if given:
            return self.prove_all({"claim": claim}, given, tracked)["claim"]
        return self.prove_each({"claim": claim}, tracked)["claim"]

    def prove_all(
        self,
        claims: Mapping[str, Formula],
        given: Iterable[Formula] = (),
        tracked: Tracked | None = None,
    ) -> dict[str, Answer]:
        """`holds` for a batch: one query when all hold, else one more per counterexample.

        On a path with an unsupported step nothing is claimed.
        """
        trail, given, tracked = self._current, list(given), tracked or {}
        if self.unsupported:
            gap = self.unsupported[0]
            return dict.fromkeys(claims, Undecided(f"{gap.where}: {gap.reason}"))
        answers: dict[str, Answer] = {n: Proved() for n, c in claims.items() if c is True}
        open_: Claims = {name: claim for name, claim in claims.items() if claim is not True}
        if all(_holds_at(f, self._at) for f in (*given, *tracked.values())):
            self._refute(open_, answers, self._at)
        while open_:
            before = len(open_)
            doubt = _negation(trail.pool.all_of(open_.values()))
            outcome = trail.solver.check_with([*given, doubt], tracked)
            if isinstance(outcome, Unsat):
                core = outcome.core
                answers |= dict.fromkeys(open_, Proved(core))
                break
            if isinstance(outcome, Sat):
                self._refute(open_, answers, outcome.at)
                assert len(open_) < before, "a model must violate one of the claims"
            elif len(open_) == 1:
                answers |= dict.fromkeys(open_, Undecided(outcome.reason))
                break
            else:  # too hard together
                for name, claim in open_.items():
                    answers[name] = self.holds(claim, given, tracked)
                break
        return {name: answers[name] for name in claims}

    def _refute(self, open_: Claims, answers: dict[str, Answer], at: Valuation) -> None:
        """Move the claims that are false at ``at`` from ``open_`` to ``answers``."""
        for name in [name for name, claim in open_.items() if not _holds_at(claim, at)]:
            del open_[name]
            answers[name] = Refuted(Assignment.of(at, self._variables))

    def prove_each(
        self,
        claims: Mapping[str, Formula],
        tracked: Tracked | None = None,
        dear: Callable[[str, str], bool] | None = None,
    ) -> dict[str, Answer]:
        """`holds` for claims that many paths make: a query each, but for those that are evident.

        A claim proved by itself rests on little of its path, and so is proved on every path that
        has this in common; a batch rests on nearly all of it.

        ``dear``: whether an assumption is to be left out of the proof of a claim, both by name,
        where that is easily done.
        """
        solver, tracked = self._current.solver, tracked or {}
        answers: dict[str, Answer] = {}
        open_: Claims = {}
        if self.unsupported:
            return self.prove_all(claims)
        for name, claim in claims.items():
            known = self._evident(claim, tracked)
            if known is None:
                open_[name] = claim
            else:
                answers[name] = Proved(known) if known else EVIDENT
        if all(_holds_at(f, self._at) for f in tracked.values()):
            self._refute(open_, answers, self._at)
        while open_:
            name, claim = next(iter(open_.items()))
            avoided = None if dear is None else partial(dear, name)
            outcome = solver.check_with([_negation(claim)], tracked, avoided)
            if isinstance(outcome, Sat):
                self._refute(open_, answers, outcome.at)
                assert name in answers, "a model must violate the claim"
                continue
            del open_[name]
            if isinstance(outcome, Unsat):
                answers[name] = Proved(outcome.core)
                self._current.lemmas.learn(outcome.premises, claim)
            else:
                answers[name] = Undecided(outcome.reason)
        return {name: answers[name] for name in claims}

    def _evident(self, claim: Formula, tracked: Tracked) -> frozenset[str] | None:
        """The assumptions of a proof that takes no query: by ranges of terms, or by a lemma."""
        if type(claim) is not SymBool:
            return EVIDENT.core if claim else None
        trail = self._current
        names = trail.knowledge.reasons(claim)
        return trail.lemmas.names(claim, tracked) if names is None else names

    # -- counterexamples -----------------------------------------------------------------

    def minimize(
        self, condition: Formula = True, order: Sequence[SymInt | SymBool | int] = ()
    ) -> Assignment | None:
        """The least inputs that take this path and satisfy the condition.

        Lexicographically least in the values of ``order``, then in the remaining
        inputs as declared; a value without a lower bound prefers 0, 1, 2, ... and
        then -1, -2, ...  ``None`` if there are none, or none that the solver finds.
        """
        trail = self._current
        terms: list[Any] = [t.as_int() if type(t) is SymBool else t for t in order]
        terms += (v.term for v in self._variables)
        found = least(trail.solver, self._at, condition, terms)
        if found is None:
            return None
        result = Assignment.of(found.at, self._variables)
        result.exact = found.exact
        return result


def _holds_at(formula: Formula, at: Valuation) -> bool:
    return formula.holds_at(at) if type(formula) is SymBool else bool(formula)


def _negation(formula: Formula) -> Formula:
    return formula.negation if type(formula) is SymBool else not formula
