"""What a path answers to a claim, and concrete assignments to its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from proofs.symbolic.atoms import Valuation, Variable
from proofs.symbolic.bools import SymBool
from proofs.symbolic.ints import SymInt
from proofs.symbolic.seq import SymSeq


class Assignment(dict[str, int]):
    """Values of declared inputs by name, in declaration order; booleans as ``bool``.

    ``exact`` is false where a minimization had to stop early on a solver limit:
    the assignment is then genuine, but perhaps not the least one.
    """

    exact: bool = True

    @classmethod
    def of(cls, at: Valuation, variables: Iterable[Variable]) -> Assignment:
        """The values of ``variables`` at a valuation."""
        return cls((v.name, bool(at[v]) if v.is_flag else at[v]) for v in variables)


@dataclass(frozen=True)
class Proved:
    """No execution of the path violates the claim; ``core`` names what was assumed for it."""

    core: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Refuted:
    """An execution of the path violates the claim: the one with these inputs."""

    model: Assignment


@dataclass(frozen=True)
class Undecided:
    """The solver could not tell."""

    reason: str


Answer = Proved | Refuted | Undecided


def evaluate(value: Any, model: Mapping[str, int]) -> Any:
    """A symbolic value, or a container of some, with the inputs replaced by ``model``.

    Inputs that the model does not mention take their default, the value nearest zero.
    """
    kind = type(value)
    if kind is SymInt or kind is SymBool:

        def look_up(variable: Variable) -> int | None:
            number = model.get(variable.name)
            return None if number is None else int(number)

        at = Valuation(look_up)
        return at.integer(value) if kind is SymInt else value.holds_at(at)
    if kind is SymSeq:
        return value.concrete(evaluate(value.length, model), evaluate(value.element, model))
    if kind is list or kind is tuple or kind is set:
        return kind(evaluate(item, model) for item in value)
    if kind is dict:
        return {key: evaluate(item, model) for key, item in value.items()}
    return value
