"""A product with a choice is a choice of products: the same numbers, and linear for the solver."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from proofs.symbolic import Exploration, Proved, evaluate, ite, sym_max, sym_min

TERMS: dict[str, Callable[..., Any]] = {
    "least": lambda x, y, z, f: sym_min(x, y) * f,
    "most, from the right": lambda x, y, z, f: f * sym_max(x - z, 0),
    "of three": lambda x, y, z, f: sym_min(sym_min(x, y), z + 1) * f,
    "nested": lambda x, y, z, f: sym_max(sym_min(x, y), z) * f,
    "negated": lambda x, y, z, f: -3 * sym_min(x, y) * f + x * f,
    "with a sum": lambda x, y, z, f: (sym_max(x, y) + z - 2) * (f + 1),
    "chosen": lambda x, y, z, f: ite(x < y, z, x + 1) * f,
    "a truth value": lambda x, y, z, f: ite(x < y, 1, 0) * f * z,
    "a choice between choices": lambda x, y, z, f: ite(x < y, ite(z > 0, x, y), sym_min(z, 0)) * f,
    "two choices": lambda x, y, z, f: ite(x < y, z, x) * sym_min(x, y) * f,
    "its own square": lambda x, y, z, f: ite(f > 0, x, f) * f * f,
    "a quotient": lambda x, y, z, f: sym_max((x + y) // 2, z) * f,
}


@pytest.mark.parametrize("lowest", [0, -2])
@pytest.mark.parametrize("term", TERMS.values(), ids=TERMS)
def test_the_term_has_the_value_python_computes(term: Callable[..., Any], lowest: int) -> None:
    made: list[Any] = []

    def run(context: Any) -> None:
        x, y, z = (context.int(name, -2, 2) for name in "xyz")
        made[:] = [term(x, y, z, context.int("f", lowest))]

    with Exploration(run) as exploration:
        assert len(list(exploration)) == 1
        for x, y, z, f in product(range(-2, 3), range(-2, 3), range(-2, 3), range(lowest, 4)):
            given = {"x": x, "y": y, "z": z, "f": f}
            assert evaluate(made[0], given) == term(x, y, z, f), given


def test_what_is_allocated_covers_what_is_needed() -> None:
    """The claim that the distribution is for: a pool that tops a request up to what it needs."""

    def run(context: Any) -> Any:
        size, held, tokens = (
            context.int("size", 1),
            context.int("held", 0),
            context.int("tokens", 0),
        )
        missing = sym_max((tokens + size - 1) // size - held, 0)
        return (held + missing) * size >= tokens, (held + missing) * size > tokens

    with Exploration(run) as exploration:
        for path in exploration:
            assert isinstance(path.holds(path.value[0]), Proved)
            assert not isinstance(path.holds(path.value[1]), Proved)
        assert exploration.complete
