"""A veiled value is handed on; who looks at it is undecided, whatever is on the other side."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from proofs.symbolic import Context, Exploration, SymBool, SymInt, Veiled, sym_any, sym_min, sym_sum

Use = Callable[[SymInt, SymBool, Any], Any]

KEPT: dict[str, Use] = {
    "sums": lambda n, f, v: v + n - 1 + f,
    "sums from the left": lambda n, f, v: 1 - (n + v),
    "products": lambda n, f, v: n * v * v * 2.5,
    "quotients": lambda n, f, v: v / 2 // 3 % 5,
    "a sum of several": lambda n, f, v: sym_sum([n, v, v]),
    "copies": lambda n, f, v: copy.deepcopy([v])[0],
}
LOOKED_AT: dict[str, Use] = {
    "a comparison": lambda n, f, v: n < v,
    "a comparison from the left": lambda n, f, v: v >= n,
    "equality": lambda n, f, v: n == v,
    "equality to a truth value": lambda n, f, v: f == v,
    "equality to nothing": lambda n, f, v: v == None,  # noqa: E711
    "truth": lambda n, f, v: not v,
    "any": lambda n, f, v: sym_any([f, v]),
    "the smaller": lambda n, f, v: sym_min(n, v),
    "a quotient that may fail": lambda n, f, v: v // n,
    "a quotient by it": lambda n, f, v: n // v,
    "a remainder by it": lambda n, f, v: 7 % v,
    "a power": lambda n, f, v: v**n,
    "an index": lambda n, f, v: [1, 2][v],
    "a repetition": lambda n, f, v: [1] * v,
    "a key": lambda n, f, v: {v: 1},
    "a whole number": lambda n, f, v: int(v),
    "the nearest number": lambda n, f, v: round(v),
    "a method": lambda n, f, v: v.is_integer(),
    "its text": lambda n, f, v: str(v),
    "its text in another": lambda n, f, v: f"{[v]}",
}


def _run(use: Use, kind: type = float) -> Any:
    def run(ctx: Context) -> Any:
        return use(ctx.int("n"), ctx.bool("f"), Veiled(kind, "the time"))

    with Exploration(run) as exploration:
        (path,) = exploration
    assert path.error is None
    return path


@pytest.mark.parametrize("name", KEPT)
def test_what_is_made_of_it_is_veiled(name: str) -> None:
    path = _run(KEPT[name])
    assert type(path.value) is Veiled and not path.unsupported
    assert isinstance(path.value, float)


@pytest.mark.parametrize("name", LOOKED_AT)
def test_whoever_looks_at_it_is_undecided(name: str) -> None:
    path = _run(LOOKED_AT[name])
    assert path.value is None and path.unsupported


def test_outside_a_run_a_person_may_read_it() -> None:
    assert str([Veiled(float, "the time")]) == "[<the time>]"
