"""Sequences of symbolic length behave as lists of every length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proofs.symbolic import Context, Exploration, SymSeq, evaluate, sym_len, sym_sum

ListCode = Callable[[Any, Any, Any], Any]


def same(n: Any, k: Any, seq: Any) -> Any:
    return seq


def prefix(n: Any, k: Any, seq: Any) -> Any:
    return seq[:k]


def suffix(n: Any, k: Any, seq: Any) -> Any:
    return seq[k:]


def window(n: Any, k: Any, seq: Any) -> Any:
    return seq[1:k]


def grown(n: Any, k: Any, seq: Any) -> Any:
    seq.append(-1)
    seq.extend([-1] * k)
    return [-1, -1] + seq + [-1]  # noqa: RUF005


def truncated(n: Any, k: Any, seq: Any) -> Any:
    other = seq.copy()
    del seq[k:]
    return [sym_len(seq), sym_len(other)]


def emptied(n: Any, k: Any, seq: Any) -> Any:
    seq.clear()
    return seq


def truth(n: Any, k: Any, seq: Any) -> Any:
    return "some" if seq else "none"


def first(n: Any, k: Any, seq: Any) -> Any:
    return seq[0] if sym_len(seq) > 0 else "empty"


def out_of_range(n: Any, k: Any, seq: Any) -> Any:
    try:
        return seq[k]
    except IndexError:
        return "IndexError"


def equality(n: Any, k: Any, seq: Any) -> Any:
    return [seq == [-1] * k, seq == [-1, -1], seq == [], seq == [5], seq != [-1]]


def total(n: Any, k: Any, seq: Any) -> Any:
    return sym_sum(seq)


def repeated_pair(n: Any, k: Any, seq: Any) -> Any:
    return sym_len([1, 2] * n)


def membership(n: Any, k: Any, seq: Any) -> Any:
    return [-1 in seq, 3 in seq]


CASES: list[ListCode] = [
    same,
    prefix,
    suffix,
    window,
    grown,
    truncated,
    emptied,
    truth,
    first,
    out_of_range,
    equality,
    total,
    repeated_pair,
    membership,
]


@pytest.mark.parametrize("code", CASES, ids=lambda code: code.__name__)
def test_against_lists_of_every_small_length(code: ListCode) -> None:
    for n_value in range(-1, 5):
        for k_value in range(-3, 6):

            def run(ctx: Context, n_value: int = n_value, k_value: int = k_value) -> Any:
                n, k = ctx.int("n"), ctx.int("k")
                result = code(n, k, [-1] * n)
                ctx.assume(n == n_value)
                ctx.assume(k == k_value)
                return result

            expected = code(n_value, k_value, [-1] * n_value)
            with Exploration(run) as exploration:
                (path,) = exploration  # the forks on n and k are disjoint
            assert exploration.complete
            assert not path.unsupported, path.unsupported
            assert evaluate(path.value, path.model) == expected


@pytest.mark.parametrize(
    "use",
    [
        len,
        list,
        lambda seq: seq[0],
        lambda seq: 1 in seq,
        lambda seq: seq == SymSeq(seq.length),
        lambda seq: seq[::2],
        lambda seq: seq.pop(),
        lambda seq: sorted(seq),
        lambda seq: seq.__setitem__(0, 1),
    ],
)
def test_unknown_contents_are_not_guessed(use: Callable[[Any], Any]) -> None:
    def run(ctx: Context) -> Any:
        return use(SymSeq(ctx.int("n", 1)))

    with Exploration(run) as exploration:
        (path,) = exploration
    assert path.unsupported


def test_it_passes_for_a_list() -> None:
    def run(ctx: Context) -> bool:
        return isinstance([-1] * ctx.int("n"), list)

    with Exploration(run) as exploration:
        assert [path.value for path in exploration] == [True]
