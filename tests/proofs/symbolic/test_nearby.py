"""Inputs near at hand: they answer what they can, and nothing is believed that does not hold."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from proofs.symbolic import Context, Exploration
from proofs.symbolic.atoms import Valuation
from proofs.symbolic.bools import SymBool
from proofs.symbolic.nearby import nearby

FORMULAS = {
    "at most": lambda x, y, z: 2 * x - 3 * y <= -5,
    "more": lambda x, y, z: x - 2 * y + z > 4,
    "equal": lambda x, y, z: x + 2 * y == 7,
    "another": lambda x, y, z: x != y,
    "one of them": lambda x, y, z: (x >= 5) | (y >= 7) | (x + z <= -3),
    "a minimum": lambda x, y, z: x.__sym_min__(y) + z >= 6,
}


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_one_input_is_moved_within_its_range_and_as_far_as_it_takes(formula: Any) -> None:
    found: dict[str, Any] = {}

    def run(ctx: Context) -> None:
        found["inputs"] = ctx.int("x", -4, 6), ctx.int("y", 0, 9), ctx.int("z", -1, 1)
        found["formula"] = formula(*found["inputs"])

    with Exploration(run) as exploration:
        list(exploration)
    atoms = [term.terms[0][0] for term in found["inputs"]]
    literal: SymBool = found["formula"]
    reached = 0
    for numbers in product((-4, 0, 1, 6), (0, 2, 9), (-1, 0, 1)):
        at = Valuation()
        at.update(zip(atoms, numbers, strict=True))
        if literal.holds_at(at):
            continue
        for other in nearby(at, literal):
            assert sum(at[a] != other[a] for a in atoms) == 1
            assert all(a.lo <= other[a] <= a.hi for a in atoms)
            reached += literal.holds_at(other)
    assert reached


def test_whatever_else_is_asserted_decides() -> None:
    def run(ctx: Context) -> tuple[bool, bool]:
        x, y, even = ctx.int("x", 0, 20), ctx.int("y", 0, 20), ctx.int("half", 0, 10)
        ctx.assume(x == 2 * even)
        ctx.assume(x + y == 13)
        return bool(x > 4), bool(y > 4)

    with Exploration(run) as exploration:
        for path in exploration:
            assert path.model["x"] == 2 * path.model["half"] == 13 - path.model["y"]
            assert path.value == (path.model["x"] > 4, path.model["y"] > 4)
        assert exploration.statistics.paths == 3
        assert exploration.complete
