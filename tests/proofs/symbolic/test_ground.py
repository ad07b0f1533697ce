"""What one exploration leaves to the next saves queries and changes no answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proofs.symbolic import (
    Answer,
    Context,
    Exploration,
    Ground,
    Grounds,
    Proved,
    Refuted,
    Statistics,
    evaluate,
)

Run = Callable[[Context], Any]


def ordered(ctx: Context) -> Any:
    """x > y > z, and a decision that has nothing to do with it."""
    x, y, z = (ctx.int(name, -9, 9) for name in "xyz")
    ctx.assume(x > y, "first")
    ctx.assume(y > z, "second")
    bool(ctx.bool("unrelated"))
    bool(x > 3)
    return x - z >= 2


def half_ordered(ctx: Context) -> Any:
    """The same without the second assumption."""
    x, y, z = (ctx.int(name, -9, 9) for name in "xyz")
    ctx.assume(x > y, "first")
    bool(ctx.bool("unrelated"))
    bool(x > 3)
    return x - z >= 2


def explored(run: Run, ground: Ground | None) -> tuple[list[Answer], Statistics]:
    """Whether what the function returns holds, on each of its paths."""
    with Exploration(run, ground=ground) as exploration:
        answers = [path.prove_each({"it": path.value})["it"] for path in exploration]
        assert exploration.complete
    return answers, exploration.statistics


def test_the_same_again_takes_no_query() -> None:
    ground = Ground()
    first, cost = explored(ordered, ground)
    again, cost_again = explored(ordered, ground)
    assert again == first == [Proved(frozenset({"first", "second"}))] * 4
    assert cost.queries > 0 and cost_again.queries == 0


def test_what_rests_on_an_assumption_is_not_proved_without_it() -> None:
    ground = Ground()
    explored(ordered, ground)
    after, _ = explored(half_ordered, ground)
    alone, _ = explored(half_ordered, None)
    assert [type(answer) for answer in after] == [type(answer) for answer in alone]
    assert {type(answer) for answer in after} == {Refuted}


@pytest.mark.parametrize("first", [ordered, half_ordered])
@pytest.mark.parametrize("then", [ordered, half_ordered])
def test_every_path_has_inputs_that_take_it(first: Run, then: Run) -> None:
    ground, taken = Ground(), []
    explored(first, ground)
    with Exploration(then, ground=ground) as exploration:
        for path in exploration:
            for decision in path.decisions:
                assert evaluate(decision.condition, path.model) is decision.taken
            taken.append(tuple(decision.taken for decision in path.decisions))
    with Exploration(then) as alone:
        assert sorted(taken) == sorted(tuple(d.taken for d in p.decisions) for p in alone)


def test_an_input_of_another_range_is_another_input() -> None:
    def up_to(most: int) -> Run:
        return lambda ctx: ctx.int("n", 0, most) <= 3

    ground = Ground()
    assert explored(up_to(3), ground)[0] == [Proved()]
    assert isinstance(explored(up_to(4), ground)[0][0], Refuted)
    assert explored(up_to(3), ground)[0] == [Proved()]


def test_one_exploration_declares_an_input_one_way() -> None:
    def twice(ctx: Context) -> Any:
        return ctx.int("n", 0, 3) + ctx.int("n", 0, 4)

    with Exploration(twice, ground=Ground()) as exploration, pytest.raises(ValueError, match="'n'"):
        next(iter(exploration))


def test_terms_have_a_ground_of_their_own_where_none_is_shared() -> None:
    grounds = Grounds()
    assert grounds["one"] is grounds["one"] and grounds["one"] is not grounds["other"]
    with pytest.raises(RuntimeError, match="no exploration has begun"):
        bool(grounds["one"].pool.variable("n", 0, 3, is_flag=False).term <= 1)
