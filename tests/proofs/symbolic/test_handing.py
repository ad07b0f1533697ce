"""What one process tells another saves queries; what is not true is not taken over."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from proofs.symbolic import Context, Exploration, Ground, Proved, Refuted, sym_max, sym_min
from proofs.symbolic.counts import counted, start_counting
from proofs.symbolic.handing import Mark, told
from proofs.symbolic.hearing import heard

Run = Callable[[Context], Any]
NOTHING = Mark.of(Ground())


def of_every_kind(ctx: Context) -> Any:
    """Terms that are sums, products, minima, choices and quotients."""
    x, y = ctx.int("x", 0, 9), ctx.int("y", 1)
    free, flag = ctx.int("free"), ctx.bool("flag")
    ctx.assume(x < y, "ordered")
    bool(flag)
    bool(free > 3)
    start_counting()
    few = flag.__sym_ite__(counted(2), counted(1) + y)
    bool(few <= free)
    start_counting(False)
    least = sym_min(x * y, free, 7)
    chosen = flag.__sym_ite__(x * 2, y)
    bool(least + chosen <= 12)
    bool((x + 5) // 3 == y // (x + 1))
    return ((x + 1 <= y) & (sym_max(x, 3) >= least - free)) | (x * y <= free)


def explored(run: Run, ground: Ground) -> tuple[list[type], int]:
    """What is answered on each path, and the queries that took."""
    with Exploration(run, ground=ground) as exploration:
        answers = [type(path.holds(path.value)) for path in exploration]
        assert exploration.complete
    return answers, exploration.statistics.queries


def handed(run: Run) -> Any:
    """What exploring leaves, as it comes out of a pipe."""
    ground = Ground()
    explored(run, ground)
    return json.loads(json.dumps(told(ground, NOTHING)))


def test_there_is_something_of_every_kind() -> None:
    kinds = {node[0] for node in handed(of_every_kind)["nodes"]}
    assert kinds == {"input", "count", "+", "*", "min", "if", "//", "and", "<=", "=="}


def test_what_was_told_saves_queries_and_changes_no_answer() -> None:
    ground = Ground()
    lemmas, found = heard(ground, handed(of_every_kind))
    assert lemmas > 0 and found > 0
    answers, queries = explored(of_every_kind, ground)
    alone, queries_alone = explored(of_every_kind, Ground())
    assert sorted(answers, key=str) == sorted(alone, key=str)
    assert queries < queries_alone / 2


def test_only_what_is_new_is_told_and_only_what_is_new_is_taken_over() -> None:
    ground, data = Ground(), handed(of_every_kind)
    heard(ground, data)
    mark = Mark.of(ground)
    assert heard(ground, data) == (0, 0)
    assert told(ground, mark) == {"nodes": [], "lemmas": [], "found": []}


def bounded(ctx: Context) -> Any:
    """A claim that takes the assumption."""
    x, y = ctx.int("x"), ctx.int("y")
    ctx.assume(x > y, "first")
    return x - y >= 1 + ctx.int("z", 0, 9)


def test_a_lemma_that_is_false_is_dropped() -> None:
    data = {
        "nodes": [["input", "x", 0, None, False], ["+", 0, 0, 1], ["<=", 1, 3], ["<=", 1, 2]],
        "lemmas": [[3, 2], [2, 3]],  # x <= 3 implies x <= 2, and the other way round
        "found": [],
    }
    ground = Ground()
    assert heard(ground, data) == (1, 0)
    x = ground.pool.variable("x", 0, float("inf"), False).term
    assert [x <= 3] == [f for f in ground.pool.literals() if ground.proved.get(f.index)]


def test_a_false_lemma_about_a_claim_leaves_it_refuted() -> None:
    ground = Ground()
    claim = [["input", n, None, None, False] for n in "xy"] + [["input", "z", 0, 9, False]]
    claim += [["+", 0, 0, 1, 1, -1, 2, -1], ["<=", 3, 0]]
    heard(ground, {"nodes": claim, "lemmas": [[~4]], "found": []})
    assert explored(bounded, ground)[0] == [Refuted]
    assert not any(ground.proved.values())


@pytest.mark.parametrize("value", [-1, 4, True, "1", 1.0, None])
def test_inputs_out_of_range_are_no_inputs(value: Any) -> None:
    data = {
        "nodes": [["input", "x", 0, 3, False], ["+", 0, 0, 1], ["==", 1, 2]],
        "lemmas": [],
        "found": [[[~2], [[0, value]]]],
    }
    with pytest.raises((TypeError, ValueError)):
        heard(Ground(), data)


def test_inputs_that_do_not_satisfy_what_they_are_said_to_are_dropped() -> None:
    nodes = [["input", "x", 0, 3, False], ["+", 0, 0, 1], ["==", 1, 2]]
    found = [[[2], [[0, 1]]], [[~2], [[0, 2]]], [[2], [[0, 2]]]]
    ground = Ground()
    assert heard(ground, {"nodes": nodes, "lemmas": [], "found": found}) == (0, 1)
    ((asked, at),) = ground.found.items()
    assert len(asked) == 1 and list(at.values()) == [2]


@pytest.mark.parametrize(
    "nodes",
    [
        [["input", "x", 0, 3, True]],  # a flag is 0 or 1
        [["input", "x", 3, 0, False]],
        [["input", 7, 0, 3, False]],
        [["count", -1]],
        [["count", 1.5]],
        [["input", "x", 0.5, 3, False]],
        [["+", 0, 0, 1]],  # made of itself
        [["+", "1"]],
        [["+", 1], ["&", 0, 0]],
        [["+", 1], ["if", 0, 0, 0]],
        [["+", 7], ["+", 0], ["//", 0, 1]],
        [["__class__", 1]],
        [[]],
        ["+"],
        7,
        [["+", 1], ["<=", ~0, 1]],
    ],
)
def test_what_is_no_such_data_is_refused(nodes: Any) -> None:
    with pytest.raises((LookupError, TypeError, ValueError)):
        heard(Ground(), {"nodes": nodes, "lemmas": [], "found": []})


def test_a_negated_lemma_reference_out_of_range_is_refused() -> None:
    with pytest.raises(LookupError):
        heard(Ground(), {"nodes": [], "lemmas": [[~5]], "found": []})


def test_a_premise_that_is_void_says_nothing() -> None:
    nodes = [["input", "x", 0, 3, False], ["+", 0, 0, 1], ["<=", 1, 9], ["<=", 1, 1]]
    ground = Ground()
    assert heard(ground, {"nodes": nodes, "lemmas": [[3, ~2], [2, 3]], "found": []}) == (0, 0)
    assert Proved not in explored(lambda ctx: ctx.int("x", 0, 3) <= 1, ground)[0]
