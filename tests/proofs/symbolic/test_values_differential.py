"""Symbolic integers and booleans mean what Python's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.symbolic import (
    Context,
    Exploration,
    Proved,
    SymBool,
    evaluate,
    ite,
    sym_all,
    sym_any,
    sym_max,
    sym_min,
    sym_sum,
)
from proofs.symbolic.trail import Limits, Trail

NAMES = ("x", "y", "z")
Env = dict[str, Any]
Expr = Any

INTEGER_OPS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "min": lambda a, b: sym_min(a, b),
    "max": lambda a, b: sym_max(a, b),
    "neg": lambda a: -a,
    "abs": abs,
    "sum": lambda a, b, c: sym_sum([a, b, c]),
}
BOOLEAN_OPS: dict[str, Callable[..., Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
CONNECTIVES: dict[str, Callable[..., Any]] = {
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "iff": lambda a, b: a == b,
    "xor": lambda a, b: a != b,
    "not": lambda a: not a if isinstance(a, bool) and type(a) is bool else ~a,
    "all": lambda a, b: sym_all([a, b]),
    "any": lambda a, b: sym_any([a, b]),
}


def integers() -> st.SearchStrategy[Expr]:
    leaves = st.one_of(st.sampled_from(NAMES), st.integers(-7, 7))

    def extend(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        atom = st.tuples(st.sampled_from(sorted(BOOLEAN_OPS)), inner, inner)
        formula = st.one_of(
            atom,
            st.tuples(st.sampled_from(["&", "|", "^", "iff", "xor", "all", "any"]), atom, atom),
            st.tuples(st.just("not"), atom),
            st.just("f"),
        )
        return st.one_of(
            st.tuples(st.sampled_from(["+", "-", "*", "min", "max"]), inner, inner),
            st.tuples(st.sampled_from(["neg", "abs"]), inner),
            st.tuples(st.just("sum"), inner, inner, formula),
            st.tuples(st.sampled_from(["//", "%"]), inner, st.integers(-5, 5).filter(bool)),
            st.tuples(st.just("ite"), formula, inner, inner),
        )

    return st.recursive(leaves, extend, max_leaves=8)


def interpret(e: Expr, env: Env) -> Any:
    if type(e) is str:
        return env[e]
    if type(e) is int:
        return e
    op, *args = e
    values = [interpret(a, env) for a in args]
    match op:
        case "//":
            return values[0] // values[1]
        case "%":
            return values[0] % values[1]
        case "ite":
            return ite(*values)
    table = {**INTEGER_OPS, **BOOLEAN_OPS, **CONNECTIVES}
    return table[op](*values)


def fresh() -> tuple[Trail, Env]:
    context = Context(Limits())
    env: Env = {name: context.int(name) for name in NAMES}
    env["f"] = context.bool("f")
    context.rest()  # no question to Z3 follows
    return context, env


MODELS = st.fixed_dictionaries(
    {**{name: st.integers(-30, 30) for name in NAMES}, "f": st.booleans()}
)


@settings(max_examples=400, deadline=None)
@given(integers(), st.lists(MODELS, min_size=1, max_size=5))
def test_terms_evaluate_like_python(e: Expr, models: list[dict[str, int]]) -> None:
    _, env = fresh()
    symbolic = interpret(e, env)
    for model in models:
        value = evaluate(symbolic, model)
        assert type(value) is int
        assert value == interpret(e, model)


@settings(max_examples=200, deadline=None)
@given(integers(), integers(), st.sampled_from(sorted(BOOLEAN_OPS)), MODELS)
def test_comparisons_evaluate_like_python(a: Expr, b: Expr, op: str, model: dict[str, int]) -> None:
    _, env = fresh()
    formula = interpret((op, a, b), env)
    expected = interpret((op, a, b), model)
    assert evaluate(formula, model) is expected
    if type(formula) is SymBool:
        assert evaluate(~formula, model) is not expected


@settings(max_examples=120, deadline=None)
@given(
    integers(),
    st.fixed_dictionaries({**{n: st.integers(-4, 4) for n in NAMES}, "f": st.booleans()}),
)
def test_z3_agrees_with_python_at_a_point(e: Expr, model: dict[str, int]) -> None:
    """With all inputs fixed, Z3 proves the value Python computes, and no other."""

    def run(ctx: Context) -> Any:
        env: Env = {name: ctx.int(name) for name in NAMES}
        env["f"] = ctx.bool("f")
        for name, value in model.items():
            ctx.assume(env[name] == (bool(value) if name == "f" else value))
        return interpret(e, env)

    expected = interpret(e, model)
    with Exploration(run) as exploration:
        (path,) = exploration
    with Exploration(run) as exploration:
        for path in exploration:
            assert isinstance(path.holds(path.value == expected), Proved)
            assert not isinstance(path.holds(path.value != expected), Proved)
    assert exploration.complete


def test_normal_form_folds_to_plain_integers() -> None:
    _, env = fresh()
    x, y = env["x"], env["y"]
    assert type(x + 1 - x) is int and x + 1 - x == 1
    assert (x + y) * (x - y) - x * x + y * y == 0
    assert (2 * x + 4 * y + 3) // 2 is x + 2 * y + 1
    assert (6 * x + 4) % 2 == 0
    assert x - x * 1 == 0
    assert sym_min(x, x + 3) is x
    assert sym_max(x, x + 3) is x + 3
    assert sym_min(sym_min(x, y), 3) is sym_min(3, sym_min(y, x))


def test_equal_formulas_are_one_object() -> None:
    _, env = fresh()
    x, y, f = env["x"], env["y"], env["f"]
    assert (x < y) is (y > x) is ~(x >= y)
    assert (2 * x < 7) is (x <= 3)
    assert ((x < y) & f) is (f & (x < y))
    assert ((x < y) | ~(x < y)) is True
    assert ((x < y) & (y <= x)) is False
    assert (f + 1 - 1 == 1) is f
    assert (ite(x < y, 1, 0) == 1) is (x < y)


def test_any_and_all_merge_every_member() -> None:
    _, env = fresh()
    x, y, f = env["x"], env["y"], env["f"]
    members = [x > 1, y > 1, f]
    assert sym_any(members) is (x > 1) | (y > 1) | f
    assert sym_all(members) is (x > 1) & (y > 1) & f
    assert sym_any([x, False]) is (x != 0)
    assert sym_any([x, True]) is True and sym_all([x, 0]) is False
    assert sym_any([]) is False and sym_all([1, "a"]) is True


def test_bounds_fold_comparisons() -> None:
    context = Context(Limits())
    n = context.int("n", 2, 9)
    assert (n >= 2) is True
    assert (n * n >= 4) is True
    assert (n // 10) == 0
    assert (sym_max(n, 0) is n) and (sym_min(n, 100) is n)
    assert (n < float("inf")) is True
    assert (float("-inf") < n) is True


def test_text_is_readable() -> None:
    _, env = fresh()
    x, y, z, f = (env[name] for name in ("x", "y", "z", "f"))
    assert f"{x - 2 * y + 1}" == "x - 2*y + 1"
    assert f"{-x}" == "-x"
    assert repr(sym_max(x, y)) == "max(x, y)"
    assert repr(x + 1 <= y) == "x + 1 <= y"
    assert repr((x > 3) & ~f) in ("(x >= 4 and not f)", "(not f and x >= 4)")
    assert repr((x * z) // 2) == "(x*z) // (2)"
    assert f"{x:>3}" == "  x"


def test_types_answer_as_the_real_ones() -> None:
    _, env = fresh()
    assert isinstance(env["x"], int) and isinstance(env["f"], bool)
    assert type(env["x"]).__name__ == "SymInt"
    assert all(env["x"] != other for other in ("x", None, 1.5j))


def test_redeclaration_must_agree() -> None:
    context = Context(Limits())
    assert context.int("n", 0) is context.int("n", 0)
    with pytest.raises(ValueError, match="declared before"):
        context.int("n", 1)
    with pytest.raises(ValueError, match="empty range"):
        context.int("m", 1, 0)
