"""An exploration visits exactly the feasible paths, and says so when it did not."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.symbolic import (
    Context,
    Exploration,
    Ground,
    Limits,
    NondeterminismError,
    Path,
    Proved,
    evaluate,
    sym_min,
)
from proofs.symbolic.solver import Outcome, Sat, Solver, Unsat

LOW, HIGH = -2, 3
VARIABLES = ("x", "y", "z")
Program = Any


@pytest.fixture(autouse=True)
def suspicious_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model is checked against every asserted formula, in Python."""
    check = Solver.check

    def checked(self: Solver) -> Outcome:
        outcome = check(self)
        if isinstance(outcome, Sat):
            for frame in self._frames:
                assert all(formula.holds_at(outcome.at) for formula in frame.formulas)
        return outcome

    monkeypatch.setattr(Solver, "check", checked)


# -- random programs -------------------------------------------------------------------

EXPRESSIONS = st.recursive(
    st.one_of(st.sampled_from(VARIABLES), st.integers(-3, 3)),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "min"]), inner, inner),
        st.tuples(st.sampled_from(["//", "%"]), inner, st.integers(1, 3)),
        st.tuples(st.just("/?"), inner, inner),
    ),
    max_leaves=4,
)
CONDITIONS = st.tuples(st.sampled_from(["<", "==", "and"]), EXPRESSIONS, EXPRESSIONS)
PROGRAMS = st.recursive(
    st.tuples(st.just("set"), st.sampled_from(VARIABLES), EXPRESSIONS),
    lambda inner: st.one_of(
        st.tuples(st.just("if"), CONDITIONS, inner, inner),
        st.tuples(st.just("seq"), inner, inner),
        st.tuples(st.just("while"), CONDITIONS, inner),
    ),
    max_leaves=5,
)


class Interpreter:
    """Runs a program on ints or on symbolic ints, noting every branch."""

    def __init__(self, env: dict[str, Any]) -> None:
        self.env = dict(env)
        self.branches: list[bool] = []

    def value(self, e: Any) -> Any:
        if type(e) is str:
            return self.env[e]
        if type(e) is int:
            return e
        op, a, b = e[0], self.value(e[1]), self.value(e[2])
        match op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "min":
                return sym_min(a, b)
            case "//":
                return a // b
            case "%":
                return a % b
        return a // b if self.branch(b > 0) else a

    def branch(self, condition: Any) -> bool:
        taken = bool(condition)
        self.branches.append(taken)
        return taken

    def condition(self, c: Any) -> bool:
        op, a, b = c[0], self.value(c[1]), self.value(c[2])
        if op == "<":
            return self.branch(a < b)
        if op == "==":
            return self.branch(a == b)
        return self.branch((a > 0) & (b > 0))

    def run(self, program: Program) -> None:
        match program:
            case ("set", name, e):
                self.env[name] = self.value(e)
            case ("if", c, then, other):
                self.run(then if self.condition(c) else other)
            case ("seq", one, two):
                self.run(one)
                self.run(two)
            case ("while", c, body):
                for _ in range(2):
                    if not self.condition(c):
                        break
                    self.run(body)


@settings(max_examples=120, deadline=None)
@given(PROGRAMS)
def test_paths_are_those_of_brute_force(program: Program) -> None:
    def run(ctx: Context) -> tuple[tuple[bool, ...], dict[str, Any]]:
        interpreter = Interpreter({name: ctx.int(name, LOW, HIGH) for name in VARIABLES})
        interpreter.run(program)
        return tuple(interpreter.branches), interpreter.env

    expected = set()
    for values in itertools.product(range(LOW, HIGH + 1), repeat=len(VARIABLES)):
        concrete = Interpreter(dict(zip(VARIABLES, values, strict=True)))
        concrete.run(program)
        expected.add(tuple(concrete.branches))
    found = []
    with Exploration(run) as exploration:
        for path in exploration:
            assert path.error is None and not path.unsupported
            branches, env = path.value
            found.append(branches)
            replayed = Interpreter(dict(path.model))
            replayed.run(program)
            assert tuple(replayed.branches) == branches
            assert replayed.env == evaluate(env, path.model)
    assert exploration.complete
    assert len(found) == len(set(found))
    assert set(found) == expected


# -- by hand -----------------------------------------------------------------------------


def collect(run: Any, limits: Limits | None = None) -> list[Path[Any]]:
    with Exploration(run, limits) as exploration:
        paths = list(exploration)
    assert exploration.complete, exploration.reasons
    return paths


def test_only_feasible_combinations_are_visited() -> None:
    def run(ctx: Context) -> list[bool]:
        x, y = ctx.int("x"), ctx.int("y")
        return [bool(x < y), bool(y < x), bool(x + 1 > y)]

    values = [path.value for path in collect(run)]
    assert sorted(values) == [
        [False, False, True],
        [False, True, True],
        [True, False, False],
    ]


def test_decisions_carry_their_source_position() -> None:
    def run(ctx: Context) -> str:
        x = ctx.int("x", 0)
        if x > 5:
            return "large"
        return "small"

    line = run.__code__.co_firstlineno + 2
    for path in collect(run):
        (decision,) = path.decisions
        assert (decision.where.file, decision.where.line) == (__file__, line)
        assert decision.taken is (path.value == "large")


def test_implied_branches_cost_no_query() -> None:
    def run(ctx: Context) -> int:
        x = ctx.int("x", 0, 100)
        count = 0
        if x > 5:
            for bound in range(5):
                if x > bound:
                    count += 1
        return count

    with Exploration(run) as exploration:
        assert {path.value for path in exploration} == {0, 5}
    assert exploration.statistics.queries == 0  # the other side of x > 5 is near at hand
    assert exploration.statistics.paths == 2


def test_errors_belong_to_their_path() -> None:
    def run(ctx: Context) -> int:
        x = ctx.int("x", 0, 9)
        assert x != 7, "unlucky"
        quotient: int = 10 // x
        return quotient

    outcomes = {}
    for path in collect(run):
        outcomes[type(path.error).__name__] = path
    assert set(outcomes) == {"NoneType", "AssertionError", "ZeroDivisionError"}
    assert outcomes["AssertionError"].model == {"x": 7}
    assert outcomes["ZeroDivisionError"].model == {"x": 0}
    assert "unlucky" in str(outcomes["AssertionError"].error)
    at = outcomes["ZeroDivisionError"].error_at
    assert at is not None and at.line == run.__code__.co_firstlineno + 3


def test_assumptions_prune() -> None:
    def run(ctx: Context) -> bool:
        x = ctx.int("x")
        ctx.assume(x * 2 >= 7)
        return bool(x > 3)

    paths = collect(run)
    assert [path.value for path in paths] == [True]


def test_contradictory_assumptions_leave_no_path() -> None:
    def run(ctx: Context) -> None:
        x, y = ctx.int("x"), ctx.int("y")
        ctx.assume(x < y, "one")
        ctx.assume(y < x, "two")

    with Exploration(run) as exploration:
        assert list(exploration) == []
    assert exploration.complete
    assert exploration.used_assumptions == {"one", "two"}


def test_used_assumptions_name_what_pruned_a_branch() -> None:
    def run(ctx: Context) -> bool:
        x, y, z = ctx.int("x"), ctx.int("y"), ctx.int("z")
        ctx.assume(x >= y + 1, "above")
        ctx.assume(z >= 0, "unrelated")
        return bool(x > y) and bool(x + x >= 2 * y + 1)

    with Exploration(run) as exploration:
        assert [path.value for path in exploration] == [True]
    assert exploration.used_assumptions == {"above"}


def test_assumptions_behind_a_solver_answer_are_named() -> None:
    def run(ctx: Context) -> bool:
        x, y, z = ctx.int("x"), ctx.int("y"), ctx.int("z")
        ctx.assume(x >= y, "first")
        ctx.assume(y >= z, "second")
        ctx.assume(z >= x - 9, "unrelated")
        return bool(x >= z)

    with Exploration(run) as exploration:
        assert [path.value for path in exploration] == [True]
    assert exploration.used_assumptions == {"first", "second"}


def test_assumptions_behind_a_cheap_answer_are_named() -> None:
    def run(ctx: Context) -> bool:
        x, y, z = ctx.int("x"), ctx.int("y"), ctx.int("z")
        ctx.assume(x >= 5, "five")
        ctx.assume(y >= 5, "also five")
        ctx.assume(z >= 5, "unrelated")
        return bool(x + y >= 9)

    with Exploration(run) as exploration:
        assert [path.value for path in exploration] == [True]
    assert exploration.statistics.queries == 0  # what is assumed is near at hand
    assert exploration.used_assumptions == {"five", "also five"}


def test_a_negative_symbolic_divisor_floors_like_python() -> None:
    def run(ctx: Context) -> Any:
        a, b = ctx.int("a", -9, 9), ctx.int("b", -3, 3)
        ctx.assume(b != 0)
        return a // b, a % b, a, b

    with Exploration(run) as exploration:
        for path in exploration:
            quotient, remainder, a, b = path.value
            values = evaluate((quotient, remainder, a, b), path.model)
            assert values[:2] == divmod(values[2], values[3])
            assert (quotient * b + remainder == a) is True
            above = (b > 0) & (remainder >= 0) & (remainder < b)
            below = (b < 0) & (remainder <= 0) & (remainder > b)
            assert isinstance(path.holds(above | below), Proved)
    assert exploration.statistics.paths == 2


# -- limits --------------------------------------------------------------------------------


def endless(ctx: Context) -> None:
    x = ctx.int("x")
    for bound in itertools.count():
        if x == bound:
            return


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(paths=3, decisions=50), "stopped after 3 paths"),
        (Limits(decisions=20), "more than 20 decisions"),
        (Limits(seconds=0.05), "time limit"),
    ],
)
def test_whatever_is_cut_is_incomplete(limits: Limits, reason: str) -> None:
    with Exploration(endless, limits) as exploration:
        for _ in exploration:
            pass
    assert not exploration.complete
    assert any(reason in line for line in exploration.reasons)


def test_an_exploration_left_early_is_incomplete() -> None:
    with Exploration(endless) as exploration:
        next(iter(exploration))
    assert not exploration.complete
    assert exploration.reasons


def test_a_solver_timeout_is_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(ctx: Context) -> bool:  # Fermat for cubes: no linear lemma settles it
        x, y, z = (ctx.int(n, 1) for n in "xyz")
        return bool(x * x * x + y * y * y == z * z * z)

    with Exploration(run, Limits(query_ms=50)) as exploration:
        assert [path.value for path in exploration] == [False]
    assert not exploration.complete
    assert any("no exact answer" in reason for reason in exploration.reasons)


def test_keyboard_interrupt_passes_through() -> None:
    def run(ctx: Context) -> None:
        try:
            raise KeyboardInterrupt
        except Exception:
            pass

    with pytest.raises(KeyboardInterrupt), Exploration(run) as exploration:
        list(exploration)
    assert not exploration.complete
    assert [path.value for path in collect(lambda ctx: 1)] == [1]  # nothing stays active


def test_code_that_swallows_everything_cannot_revive_a_dead_run() -> None:
    def run(ctx: Context) -> bool:
        x = ctx.int("x", 0, 3)
        try:
            ctx.assume(x > 1)
            ctx.assume(x < 1)
        except BaseException:
            ctx.int("y", 5, 5)
        try:
            return bool(x > 2)
        except BaseException:
            return True

    assert collect(run) == []


# -- misuse --------------------------------------------------------------------------------


def counters() -> Iterator[int]:
    return itertools.count()


def test_nondeterminism_is_an_error_even_when_swallowed() -> None:
    runs = counters()

    def run(ctx: Context) -> None:
        x, again = ctx.int("x"), next(runs)
        with contextlib.suppress(Exception):
            bool(x > again)

    with pytest.raises(NondeterminismError), Exploration(run) as exploration:
        list(exploration)


def test_explorations_do_not_nest() -> None:
    def inner(ctx: Context) -> int:
        return 1

    def run(ctx: Context) -> None:
        list(Exploration(inner))

    with pytest.raises(RuntimeError, match="inside a run"):
        collect(run)


def test_values_of_another_exploration_leave_the_path_undecided() -> None:
    (other,) = collect(lambda ctx: ctx.int("x"))

    def add(ctx: Context) -> Any:
        return ctx.int("y") + other.value

    def branch(ctx: Context) -> Any:
        return bool(other.value > 0)

    for run in (add, branch):
        (path,) = collect(run)
        assert "different exploration" in path.unsupported[0].reason


def test_truth_outside_a_run_is_an_error() -> None:
    with Exploration(lambda ctx: ctx.int("x")) as exploration:
        for path in exploration:
            with pytest.raises(RuntimeError, match="outside a run"):
                bool(path.value > 0)
    with pytest.raises(RuntimeError, match="moved on"):
        path.holds(True)


def test_unsat_is_an_outcome() -> None:
    solver = Solver(1000, Ground().lowering, {})
    solver.add(False)
    assert solver.check() == Unsat(frozenset())
