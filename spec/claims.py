"""The form of every invariant: an inequality with named terms, under a condition, with waivers.

An invariant is one Python function from a record to ``Claim``.  From the same object the prover
takes the formula, the fuzzer takes a truth value, and a report takes the numbers to put into the
sentence ``31 + 2 + 1 = 34 > 33 = max_model_len``: there is no second text that could disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from operator import eq, ge, gt, le, lt

from spec.logic import any_of, implies, not_, total

Terms = Mapping[str, int]
"""Named summands, in the order they are printed.  A name is the field's own (vLLM's)."""

RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "<=": le,
    "<": lt,
    ">=": ge,
    ">": gt,
    "==": eq,
}
NEGATED = {"<=": ">", "<": ">=", ">=": "<", ">": "<=", "==": "!="}


@dataclass(frozen=True, slots=True)
class Claim:
    """``sum(left) relation sum(right)`` whenever ``when`` holds and no waiver applies."""

    left: Terms
    relation: str
    right: Terms
    when: bool = True
    waivers: Mapping[str, bool] = field(default_factory=dict)

    @property
    def inequality(self) -> bool:
        """The bare comparison."""
        return RELATIONS[self.relation](total(self.left.values()), total(self.right.values()))

    @property
    def unless_waived(self) -> bool:
        """The promise with every waiver taken as not applying (the prover tracks those apart)."""
        return implies(self.when, self.inequality)

    @property
    def holds(self) -> bool:
        """The promise."""
        return implies(self.when & not_(any_of(*self.waivers.values())), self.inequality)

    def without(self, waivers: Collection[str]) -> Claim:
        """The same promise with some waivers struck out."""
        kept = {name: applies for name, applies in self.waivers.items() if name not in waivers}
        return replace(self, waivers=kept)

    def sentence(self) -> str:
        """The broken comparison with numbers: ``31 + 2 + 1 = 34 > 33 = max_model_len``.

        Meant for a claim on plain integers that does not hold.
        """
        return f"{_side(self.left)} {NEGATED[self.relation]} {_side(self.right, mirrored=True)}"

    def terms(self) -> str:
        """The comparison in names: ``num_computed_tokens + ... <= max_model_len``."""
        return f"{' + '.join(self.left)} {self.relation} {' + '.join(self.right)}"


def _side(terms: Terms, mirrored: bool = False) -> str:
    """One side with numbers; a single constant needs no name."""
    numbers = [int(value) for value in terms.values()]
    names = [name for name in terms if not name.lstrip("-").isdigit()]
    if len(numbers) > 1:
        numerals = " + ".join(str(n) if n >= 0 else f"({n})" for n in numbers)
        parts = [numerals, str(sum(numbers))]
    else:
        parts = [str(numbers[0])]
        if names and not mirrored:
            parts.insert(0, names[0])
    if mirrored:
        parts.reverse()
        if len(names) == 1 and len(numbers) == 1:
            parts.append(names[0])
    return " = ".join(parts)
