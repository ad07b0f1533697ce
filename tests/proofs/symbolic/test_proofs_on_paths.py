"""Claims, cores, counterexamples: what a path answers, against brute force."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.symbolic import (
    Context,
    Exploration,
    Limits,
    Proved,
    Refuted,
    Undecided,
    evaluate,
    sym_max,
    sym_min,
)


def only(run: Any, ask: Any, limits: Limits | None = None) -> Any:
    """What ``ask`` finds out about the only path of ``run``."""
    with Exploration(run, limits) as exploration:
        (answer,) = [ask(path) for path in exploration]
    assert exploration.complete, exploration.reasons
    return answer


def test_the_padding_budget_is_a_loop_invariant() -> None:
    """One of r rows takes 1 + K of a budget of r * (1 + K); enough is left for r - 1."""

    def run(ctx: Context) -> Any:
        budget, rows, k = ctx.int("budget", 0), ctx.int("rows", 1), ctx.int("K", 0)
        ctx.assume(budget >= rows * (1 + k), "invariant")
        return budget - (1 + k), (rows - 1) * (1 + k)

    def ask(path: Any) -> Any:
        left, needed = path.value
        return path.prove_all(
            {"kept": left >= needed, "nonnegative": left >= 0, "more": left > needed}
        )

    answers = only(run, ask)
    assert answers["kept"] == Proved(frozenset({"invariant"}))
    assert isinstance(answers["nonnegative"], Proved)
    model = answers["more"].model
    assert model["budget"] == model["rows"] * (1 + model["K"])


def test_a_spurious_model_is_refined() -> None:
    """No lemma says that squares are not 2 modulo 3; the exact question does."""

    def run(ctx: Context) -> Any:
        x = ctx.int("x", 0, 30)
        return x * x, x

    square, small, negative = only(
        run,
        lambda path: (
            path.holds(path.value[0] % 3 != 2),
            path.holds(path.value[0] != 49),
            path.holds(path.value[0] >= 0),
        ),
    )
    assert isinstance(square, Proved)
    assert small == Refuted({"x": 7})  # type: ignore[arg-type]
    assert isinstance(negative, Proved)


def test_what_is_too_hard_is_undecided() -> None:
    def run(ctx: Context) -> Any:
        x, y, z = (ctx.int(n, 1) for n in "xyz")
        return x * x * x + y * y * y != z * z * z

    answer = only(run, lambda path: path.holds(path.value), Limits(query_ms=50))
    assert isinstance(answer, Undecided)
    assert "z*z*z" in answer.reason


def test_products_of_mixed_signs() -> None:
    def run(ctx: Context) -> Any:
        x, y = ctx.int("x"), ctx.int("y")
        ctx.assume(x <= -2)
        ctx.assume(y >= 3)
        return x * y

    below, tight = only(
        run, lambda path: (path.holds(path.value <= -4), path.holds(path.value < -6))
    )
    assert isinstance(below, Proved)
    assert isinstance(tight, Refuted)
    assert tight.model == {"x": -2, "y": 3}


@pytest.mark.parametrize(("x_sign", "y_sign"), [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_products_keep_their_distance_from_the_axes(x_sign: int, y_sign: int) -> None:
    def run(ctx: Context) -> Any:
        x, y = ctx.int("x"), ctx.int("y")
        ctx.assume(x_sign * x >= 2)
        ctx.assume(y_sign * y >= 2)
        return x, y

    def ask(path: Any) -> Any:
        x, y = path.value
        return path.holds(x * y * (x_sign * y_sign) >= x_sign * x + y_sign * y - 1)

    with Exploration(run, Limits(query_ms=1)) as exploration:
        assert [ask(path) for path in exploration] == [Proved()]


def test_a_wrong_quotient_with_a_right_product_is_not_believed() -> None:
    """In the first model Z3 offers, the quotient is wrong and yet its product right."""

    def run(ctx: Context) -> Any:
        n, b = ctx.int("n"), ctx.int("b", 1)
        q = n // b
        return (q * -7 + n * -3 + b * -5 <= 0) & (q * -2 + b * 6 <= -9)

    condition, answer = only(run, lambda path: (path.value, path.holds(~path.value)))
    assert isinstance(answer, Refuted)
    assert evaluate(condition, answer.model) is True


def test_quotients_by_a_term() -> None:
    def run(ctx: Context) -> Any:
        tokens, block, k = ctx.int("tokens", 0), ctx.int("block", 1), ctx.int("k", 0)
        return tokens // block, tokens, block, k

    def ask(path: Any) -> Any:
        quotient, tokens, block, k = path.value
        return path.prove_all(
            {
                "a": (tokens != block * k) | (quotient == k),
                "b": (tokens < 7 * block) | (quotient >= 7),
                "c": (tokens >= 7 * block) | (quotient < 7),
                "d": (tokens != 91) | (block < 2) | (block > 90) | (quotient != 7),
            }
        )

    answers = only(run, ask)
    assert [type(answers[name]) for name in "abcd"] == [Proved, Proved, Proved, Refuted]
    assert answers["d"].model["block"] == 13


def test_models_with_products_are_genuine() -> None:
    def run(ctx: Context) -> Any:
        a, b, n = ctx.int("a", 0), ctx.int("b", 1), ctx.int("n", 0)
        if n // b > a:
            return a * b - n, n % b
        return n - a * b, n // b

    with Exploration(run) as exploration:
        for path in exploration:
            for claim in (path.value[0] != 5, path.value[1] < 3, path.value[0] < 4):
                answer = path.holds(claim)
                assert not isinstance(answer, Refuted) or not evaluate(claim, answer.model)


def test_ceiling_division_idiom() -> None:
    """``-(a // -b)``, as block counts are computed."""

    def run(ctx: Context) -> Any:
        tokens, block = ctx.int("tokens", 0), ctx.int("block", 1)
        return -(tokens // -block), tokens, block

    def ask(path: Any) -> Any:
        blocks, tokens, block = path.value
        return path.prove_all(
            {
                "enough": blocks * block >= tokens,
                "no waste": (blocks - 1) * block < tokens,
                "nonnegative": blocks >= 0,
            }
        )

    answers = only(run, ask)
    assert all(isinstance(answer, Proved) for answer in answers.values()), answers


# -- cores -------------------------------------------------------------------------------


def bounds(ctx: Context) -> Any:
    x, y = ctx.int("x"), ctx.int("y")
    ctx.assume(x >= 5, "x is large")
    ctx.assume(y >= 0, "y is natural")
    return x, y


def test_cores_name_the_assumptions() -> None:
    def ask(path: Any) -> Any:
        x, y = path.value
        return path.holds(x > 3), path.holds(x + y > 3), path.holds(x - x == 0)

    large, both, nothing = only(bounds, ask)
    assert large == Proved(frozenset({"x is large"}))
    assert both == Proved(frozenset({"x is large", "y is natural"}))
    assert nothing == Proved(frozenset())


def test_tracked_conditions_are_named_only_if_needed() -> None:
    def ask(path: Any) -> Any:
        x, y = path.value
        waivers = {"no clip": x <= 9, "no cap": y <= 3, "idle": x <= 100}
        return (
            path.holds(x + y <= 12, tracked=waivers),
            path.holds(x >= 5, tracked=waivers),
            path.holds(x <= 8, tracked=waivers),
            path.holds(x <= 8, given=[x < 7], tracked=waivers),
            path.holds(y < 0, tracked={"never": False}),
        )

    needed, free, refuted, given_, absurd = only(bounds, ask)
    assert needed == Proved(frozenset({"no clip", "no cap"}))
    assert free == Proved(frozenset({"x is large"}))
    assert isinstance(refuted, Refuted) and refuted.model["x"] == 9
    assert given_ == Proved(frozenset())
    assert absurd == Proved(frozenset({"never"}))


def test_prove_all_finds_every_culprit() -> None:
    def ask(path: Any) -> Any:
        x, y = path.value
        return path.prove_all(
            {"a": x >= 5, "b": x != 6, "c": y >= 0, "d": y != 17, "e": True, "f": False}
        )

    answers = only(bounds, ask)
    kinds = {name: type(answer) for name, answer in answers.items()}
    assert kinds == {
        "a": Proved,
        "b": Refuted,
        "c": Proved,
        "d": Refuted,
        "e": Proved,
        "f": Refuted,
    }
    assert answers["b"].model["x"] == 6 and answers["d"].model["y"] == 17


def test_prove_all_is_one_query_when_all_hold() -> None:
    with Exploration(bounds) as exploration:
        for path in exploration:
            x, y = path.value
            before = exploration.statistics.queries
            path.prove_all({"a": x >= 5, "b": y >= 0, "c": x + y >= 5})
            assert exploration.statistics.queries == before + 1


# -- counterexamples -----------------------------------------------------------------------

SMALL = st.integers(-3, 3)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(SMALL, SMALL, SMALL, st.integers(-6, 6)), min_size=1, max_size=4),
    st.permutations(["x", "y", "z"]),
    st.integers(1, 3),
)
def test_minimize_is_the_lexicographic_minimum(
    rows: list[tuple[int, ...]], order: list[str], length: int
) -> None:
    box = {"x": (-2, 4), "y": (0, 5), "z": (-4, 1)}

    def condition(x: Any, y: Any, z: Any) -> Any:
        result: Any = True
        for a, b, c, d in rows:
            result = result & (a * x + b * sym_min(y, z + 2) + c * (z // 2) <= d)
        return result

    def run(ctx: Context) -> dict[str, Any]:
        return {name: ctx.int(name, *limits) for name, limits in box.items()}

    found = only(
        run,
        lambda path: path.minimize(
            condition(**path.value), order=[path.value[name] for name in order[:length]]
        ),
    )
    ranking = [*order[:length], *box]
    points = (
        dict(zip(box, values, strict=True))
        for values in itertools.product(*(range(lo, hi + 1) for lo, hi in box.values()))
    )
    expected = min(
        (p for p in points if condition(**p)),
        key=lambda p: [p[name] for name in ranking],
        default=None,
    )
    assert found == expected
    assert found is None or found.exact


def test_minimize_without_lower_bounds_prefers_zero_then_small() -> None:
    def run(ctx: Context) -> Any:
        return ctx.int("x"), ctx.int("y"), ctx.int("n"), ctx.bool("f")

    def ask(path: Any) -> Any:
        x, y, n, f = path.value
        return path.minimize((x < -4) & (y * 3 >= 1000) & (f | (n > 2)), order=[f, sym_max(y, n)])

    assert only(run, ask) == {"x": -5, "y": 334, "n": 3, "f": False}


def test_minimize_respects_products() -> None:
    def run(ctx: Context) -> Any:
        return ctx.int("a", 2), ctx.int("b", 2)

    found = only(run, lambda p: p.minimize(p.value[0] * p.value[1] == 91))
    assert found == {"a": 7, "b": 13}


def test_models_satisfy_what_they_refute() -> None:
    def run(ctx: Context) -> Any:
        x, y = ctx.int("x", 0), ctx.int("y", 0)
        if x > 2 * y:
            return x - y, x, y
        return y, x, y

    with Exploration(run) as exploration:
        for path in exploration:
            result, x, y = path.value
            answer = path.holds(result + x < 11)
            assert isinstance(answer, Refuted)
            assert evaluate(result + x < 11, answer.model) is False
            replayed = run(_Concrete(answer.model))  # type: ignore[arg-type]
            assert replayed == evaluate((result, x, y), answer.model)


class _Concrete:
    def __init__(self, model: dict[str, int]) -> None:
        self._model = model

    def int(self, name: str, lo: Any = None, hi: Any = None) -> Any:
        return self._model[name]


def test_huge_numbers_survive() -> None:
    big = 10**40

    def run(ctx: Context) -> Any:
        return ctx.int("x", 0)

    answer = only(run, lambda path: path.holds(path.value != big))
    assert answer == Refuted({"x": big})  # type: ignore[arg-type]


@pytest.mark.parametrize("claim", [True, False])
def test_concrete_claims(claim: bool) -> None:
    answer = only(lambda ctx: ctx.int("x", 0), lambda path: path.holds(claim))
    assert answer == (Proved() if claim else Refuted({"x": 0}))  # type: ignore[arg-type]
