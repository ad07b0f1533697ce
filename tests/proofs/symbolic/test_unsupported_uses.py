"""A value that leaves the fragment makes the path undecided, caught or not."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from proofs.symbolic import Context, Exploration, Path, SymInt, Undecided, Unsupported

LEAKS: dict[str, Callable[[Any, Any], Any]] = {
    "hash": lambda x, f: hash(x),
    "dict key": lambda x, f: {x: 1},
    "set member": lambda x, f: x in {1, 2},
    "int": lambda x, f: int(x),
    "float": lambda x, f: float(x),
    "range": lambda x, f: range(x),
    "index": lambda x, f: [1, 2, 3][x],
    "slice": lambda x, f: [1, 2, 3][:x],
    "round": lambda x, f: round(x),
    "trunc": lambda x, f: math.trunc(x),
    "ceil": lambda x, f: math.ceil(x),
    "sqrt": lambda x, f: math.sqrt(x),
    "true division": lambda x, f: x / 2,
    "right true division": lambda x, f: 1 / x,
    "float product": lambda x, f: x * 0.5,
    "float comparison": lambda x, f: x < 0.5,
    "float floor": lambda x, f: x // 2.0,
    "bitwise": lambda x, f: x & 1,
    "right shift": lambda x, f: 256 >> x,
    "left shift": lambda x, f: x << 2,
    "symbolic power": lambda x, f: 2**x,
    "bit length": lambda x, f: x.bit_length(),
    "chr": lambda x, f: chr(x),
    "format %": lambda x, f: "%d" % x,  # noqa: UP031
    "string repetition": lambda x, f: "ab" * x,
    "pickle": lambda x, f: pickle.dumps(x),
    "hash of a truth value": lambda x, f: hash(f),
    "float of a truth value": lambda x, f: float(f),
    "index by truth value": lambda x, f: (1, 2)[f],
    "explicit": lambda x, f: x.pool.refuse("on purpose"),
}


def single(run: Callable[[Context], Any]) -> Path[Any]:
    with Exploration(run) as exploration:
        (path,) = exploration
    return path


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_is_recorded(leak: str) -> None:
    def run(ctx: Context) -> Any:
        return LEAKS[leak](ctx.int("x"), ctx.bool("f"))

    path = single(run)
    assert path.error is None and path.value is None
    assert path.unsupported
    assert path.unsupported[0].where.file == __file__


@pytest.mark.parametrize("leak", LEAKS)
def test_a_swallowed_leak_is_still_recorded(leak: str) -> None:
    def run(ctx: Context) -> str:
        with contextlib.suppress(Exception):
            LEAKS[leak](ctx.int("x"), ctx.bool("f"))
        return "all is well"

    path = single(run)
    assert path.value == "all is well"
    assert path.unsupported


def test_nothing_is_claimed_on_an_undecided_path() -> None:
    def run(ctx: Context) -> Any:
        x = ctx.int("x", 0)
        with contextlib.suppress(Exception):
            float(x)
        return x

    with Exploration(run) as exploration:
        for path in exploration:
            for claim in (path.value >= 0, path.value > 0, True):
                answer = path.holds(claim)
                assert isinstance(answer, Undecided)
                assert "float()" in answer.reason


def test_deep_recursion_is_undecided() -> None:
    def depth(n: Any) -> Any:
        return depth(n + 1)

    path = single(lambda ctx: depth(ctx.int("n")))
    assert path.error is None
    assert "recursion" in path.unsupported[0].reason


def test_the_declared_reason_is_kept() -> None:
    def run(ctx: Context) -> None:
        ctx.unsupported("attribute 'frobnicate' is not in the profile")

    (gap,) = single(run).unsupported
    assert "frobnicate" in gap.reason
    assert gap.where.line == run.__code__.co_firstlineno + 1


def test_only_the_affected_path_is_undecided() -> None:
    def run(ctx: Context) -> int:
        x = ctx.int("x", 0)
        return int(x) if x > 3 else 3

    with Exploration(run) as exploration:
        gaps = sorted(len(path.unsupported) for path in exploration)
    assert gaps == [0, 1]


def test_what_a_real_int_lacks_raises_what_it_would() -> None:
    def run(ctx: Context) -> list[str]:
        x, seen = ctx.int("x"), []
        attempts: list[Callable[[], Any]] = [
            lambda: x.item(),
            lambda: len(x),
            lambda: x < "a",
            lambda: x + None,
            lambda: list(x),
        ]
        for attempt in attempts:
            try:
                attempt()
            except (TypeError, AttributeError) as error:
                seen.append(type(error).__name__)
        return seen

    path = single(run)
    assert path.value == ["AttributeError", *["TypeError"] * 4]
    assert not path.unsupported


def test_copies_are_the_value_itself() -> None:
    def run(ctx: Context) -> bool:
        x, f = ctx.int("x"), ctx.bool("f")
        held: dict[str, Any] = {"x": [x], "f": f}
        copied = copy.deepcopy(held)
        return copied["x"][0] is x and copied["f"] is f and copy.copy(x) is x

    assert single(run).value is True


def test_unsupported_is_an_ordinary_exception() -> None:
    assert issubclass(Unsupported, Exception)
    assert SymInt.__hash__ is not None  # hashing must refuse, not fall back to identity
