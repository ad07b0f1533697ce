"""A count is none, one or several: what asks for more of it is undecided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proofs.symbolic import Context, Exploration
from proofs.symbolic.counts import MOST, added, counted, plain, start_counting, taken

Asked = Callable[[Any, Any, Any], Any]
"""Takes two in a run of two, and two unknown numbers: one from 0 on, one from 0 to 9."""

ALLOWED: dict[str, tuple[Asked, bool | None]] = {
    "is there one": (lambda n, free, small: n > 0, True),
    "is there none": (lambda n, free, small: n == 0, False),
    "are there several": (lambda n, free, small: n >= 2, True),
    "is it one": (lambda n, free, small: n == 1, False),
    "is there room": (lambda n, free, small: n < free, None),
    "the least of it and any number": (
        lambda n, free, small: n.__sym_min__(free) > 0,
        None,
    ),
    "as many here as there": (lambda n, free, small: n == counted(2), True),
    "one more here than there": (lambda n, free, small: n - counted(1) > 0, True),
    "beside what may be anything": (lambda n, free, small: n + small < free, None),
    "twice as many": (lambda n, free, small: n * 2 > 2, True),
    "counted up to it": (lambda n, free, small: added(added(0, 1), 1) < n, False),
}
REFUSED: dict[str, Asked] = {
    "more than three": lambda n, free, small: n > 3,
    "more than two": lambda n, free, small: n > 2,
    "exactly two": lambda n, free, small: n == 2,
    "other than three": lambda n, free, small: n != 3,
    "four times as many": lambda n, free, small: n * 4 > 8,
    "one more": lambda n, free, small: n + 1 > 3,
    "less by and by": lambda n, free, small: n - 1 - 1 - 1 > 0,
    "up to a number that is not one": lambda n, free, small: n < 8 - small,
    "beyond a number that is large": lambda n, free, small: n > free + 8,
    "the least of it and a number": lambda n, free, small: n.__sym_min__(8),
    "a quotient": lambda n, free, small: n // 4,
    "a number with it": lambda n, free, small: free + n > 7,
    "a rest": lambda n, free, small: n % 4,
    "a fraction": lambda n, free, small: n > 3.5,
    "bits": lambda n, free, small: n & 4,
    "far behind another": lambda n, free, small: n - counted(1) > 4,
    "some of them": lambda n, free, small: _perhaps(small > 4) + _perhaps(small > 5) > 3,
    "counted down to nothing": lambda n, free, small: taken(taken(3, 1), 1) == 0,
    "a place far from the end": lambda n, free, small: [0, 1, 2, 3][n - 5 :] == [0] * 9,
    "a key": lambda n, free, small: {2: 0}.get(n),
}


def _perhaps(condition: Any) -> Any:
    return condition.__sym_ite__(counted(1), 0)


def _asked(ask: Asked) -> list[Any]:
    def run(context: Context) -> Any:
        free, small = context.int("free", 0), context.int("small", 0, 9)
        start_counting()
        answer = ask(counted(2), free, small)
        start_counting(False)
        return answer

    with Exploration(run) as exploration:
        return list(exploration)


@pytest.mark.parametrize("name", ALLOWED)
def test_what_a_run_shows_is_decided(name: str) -> None:
    ask, answer = ALLOWED[name]
    (path,) = _asked(ask)
    assert not (path.unsupported or path.doubts or path.error), path.doubts
    if answer is not None:
        assert path.value is answer


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_larger_run_might_answer_otherwise_is_not(name: str) -> None:
    paths = _asked(REFUSED[name])
    assert all(path.unsupported or path.doubts for path in paths), [path.value for path in paths]


def test_outside_a_run_it_is_a_number() -> None:
    assert counted(2) == 2 and type(counted(2)) is int
    assert type(added(1, 1)) is int and type(taken(2, 1)) is int


def test_it_is_a_number_again_for_whoever_judges() -> None:
    def run(context: Context) -> Any:
        start_counting()
        several = counted(MOST)
        start_counting(False)
        return plain(several), several > 100, plain(several - 1), counted(1)

    with Exploration(run) as exploration:
        (path,) = exploration
    assert path.value == (MOST, False, MOST - 1, 1)


def test_more_than_a_run_has_is_no_count() -> None:
    def run(context: Context) -> Any:
        start_counting()
        return type(counted(MOST + 1)) is int

    with Exploration(run) as exploration:
        assert [path.value for path in exploration] == [True]
