"""What is proved on one path helps on another exactly where its premises hold."""

from __future__ import annotations

from typing import Any

from proofs.symbolic import Context, Exploration, Path, Proved, Refuted


def chain(ctx: Context) -> tuple[Any, Any, Any]:
    """Eight paths: whether x > y, whether y > z, and something that has nothing to do with it."""
    x, y, z = (ctx.int(name) for name in "xyz")
    bool(x > y)
    bool(y > z)
    bool(ctx.bool("unrelated"))
    return x, y, z


def claims(path: Path[Any]) -> dict[str, Any]:
    """Each holds on some of the paths, and none follows from the range of a term."""
    x, y, z = path.value
    return {
        "far": x - z >= 2,
        "near": x - z <= 0,
        "one": (x > y) | (x > z) | (z >= y),
        "two": (x - z >= 2) | (y - z <= 0),
    }


def test_a_lemma_says_of_a_path_what_the_solver_says() -> None:
    with Exploration(chain) as exploration:
        kinds = []
        for path in exploration:
            each, together = path.prove_each(claims(path)), path.prove_all(claims(path))
            kinds.append({name: type(answer) for name, answer in each.items()})
            assert kinds[-1] == {name: type(answer) for name, answer in together.items()}
    assert exploration.complete and len(kinds) == 8
    assert {kind["far"] for kind in kinds} == {Proved, Refuted}


def test_a_path_that_differs_in_nothing_needed_takes_no_query() -> None:
    with Exploration(chain) as exploration:
        asked: dict[tuple[bool, ...], list[int]] = {}
        for path in exploration:
            before = exploration.statistics.queries
            x, _, z = path.value
            answer = path.prove_each({"far": x - z >= 2})["far"]
            ordered = tuple(decision.taken for decision in path.decisions[:2])
            if isinstance(answer, Proved):
                asked.setdefault(ordered, []).append(exploration.statistics.queries - before)
    assert list(asked.values()) == [[1, 0]]


def test_a_hypothesis_granted_to_one_claim_is_not_granted_to_the_next() -> None:
    def run(ctx: Context) -> tuple[Any, Any, Any]:
        x, y, z = (ctx.int(name) for name in "xyz")
        bool(ctx.bool("unrelated"))
        return x, y, z

    with Exploration(run) as exploration:
        queries = []
        for path in exploration:
            x, y, z = path.value
            granted = {"first": x > y, "second": y > z}
            before = exploration.statistics.queries
            proved = path.prove_each({"far": x - z >= 2}, granted)["far"]
            queries.append(exploration.statistics.queries - before)
            assert proved == Proved(frozenset(granted))
            assert isinstance(path.prove_each({"far": x - z >= 2})["far"], Refuted)
            half = path.prove_each({"far": x - z >= 2}, {"first": x > y})["far"]
            assert isinstance(half, Refuted)
    assert queries == [1, 0]


def test_what_follows_from_the_absurd_follows_from_nothing_else() -> None:
    def run(ctx: Context) -> Any:
        return ctx.int("x") - ctx.int("y")

    with Exploration(run) as exploration:
        for path in exploration:
            claim = {"positive": path.value > 0}
            absurd = path.prove_each(claim, {"never": False})["positive"]
            assert absurd == Proved(frozenset({"never"}))
            assert isinstance(path.prove_each(claim)["positive"], Refuted)


def test_a_branch_is_settled_only_where_its_other_side_is_infeasible() -> None:
    """Every path is found, though the implied branch is put to the solver once, not twice."""

    def run(ctx: Context) -> tuple[bool, ...]:
        x, y, z = (ctx.int(name, 0, 3) for name in "xyz")
        unrelated = bool(ctx.bool("unrelated"))
        ctx.assume(x > y, "falling")
        return unrelated, bool(y > z), bool(x - z >= 2)

    with Exploration(run) as exploration:
        found = [path.value for path in exploration]
    numbers = [(x, y, z) for x in range(4) for y in range(4) for z in range(4) if x > y]
    possible = {(y > z, x - z >= 2) for x, y, z in numbers}
    assert exploration.complete
    assert sorted(found) == sorted((u, *rest) for u in (False, True) for rest in possible)
    assert exploration.used_assumptions == {"falling"}


def test_a_branch_settled_by_a_lemma_credits_what_is_assumed_on_this_path() -> None:
    """One path decides what the other assumes: there alone the lemma rests on an assumption."""

    def run(ctx: Context) -> bool:
        x, y, z = (ctx.int(name) for name in "xyz")
        if bool(ctx.bool("assumed")):
            ctx.assume(x > y, "falling")
            ctx.assume(y > z)
        elif not (bool(x > y) and bool(y > z)):
            return True
        return bool(x - z >= 2)

    with Exploration(run) as exploration:
        decided = next(path for path in exploration if len(path.decisions) == 4 and path.value)
        assert not decided.model["assumed"] and not exploration.used_assumptions
        queries = {exploration.statistics.queries for path in exploration if path.model["assumed"]}
    assert exploration.complete and exploration.used_assumptions == {"falling"}
    assert queries and exploration.statistics.queries == max(queries), "the branch took a query"


def test_a_lemma_credits_the_assumptions_it_rests_on() -> None:
    def run(ctx: Context) -> tuple[Any, Any]:
        x, y, z = (ctx.int(name) for name in "xyz")
        ctx.assume(x > y, "first")
        ctx.assume(y > z, "second")
        ctx.assume(x <= 100, "idle")
        bool(ctx.bool("unrelated"))
        return x, z

    with Exploration(run) as exploration:
        for path in exploration:
            x, z = path.value
            answer = path.prove_each({"far": x - z >= 2})["far"]
            assert answer == Proved(frozenset({"first", "second"}))


def test_a_dear_assumption_is_left_out_where_another_does() -> None:
    def run(ctx: Context) -> tuple[Any, Any, Any]:
        return ctx.int("x"), ctx.int("y"), ctx.int("z")

    for spared, taken in (("weak", "strong"), ("strong", "weak")):
        with Exploration(run) as exploration:
            for path in exploration:
                x, y, z = path.value
                granted = {"weak": x - y >= 1, "strong": x - y >= 2, "other": y > z}
                answer = path.prove_each(
                    {"far": x - z >= 2}, granted, lambda _, name, spared=spared: name == spared
                )["far"]
                assert answer == Proved(frozenset({taken, "other"}))
