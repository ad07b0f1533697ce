"""CrossHair on the planning functions: what it confirms, what it cannot, and that it is awake."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from model import planning
from tests.model.crosshair_runs import (
    CONFIRMED,
    CONTRACTS,
    GROUPS,
    NOT_CONFIRMED,
    OPEN,
    PLANTED,
    ROOT,
    planted,
    report,
    sound,
)


def test_crosshair_confirms_every_postcondition_but_the_open_ones() -> None:
    said = sound()
    written = sum((c.__doc__ or "").count("post: ") for c in CONTRACTS.values())
    assert len(said) == written, "a postcondition has no verdict"
    for condition, verdict in said.items():
        if condition in OPEN:
            assert verdict in (NOT_CONFIRMED, CONFIRMED), (condition, verdict)
        else:
            assert verdict == CONFIRMED, (condition, verdict)
    assert set(said) >= OPEN, "an open postcondition is gone: update OPEN"
    page = (ROOT / "docs" / "crosshair.md").read_text(encoding="utf-8")
    assert page == report(said), "run python -m tests.model.crosshair_runs > docs/crosshair.md"


def test_every_contract_has_an_off_by_one_planted() -> None:
    assert CONTRACTS.keys() == PLANTED.keys()
    assert sorted(name for names in GROUPS for name in names) == sorted(PLANTED)


def test_every_planning_function_has_a_contract() -> None:
    called = "".join(map(inspect.getsource, CONTRACTS.values()))
    for name, function in inspect.getmembers(planning, inspect.isfunction):
        if function.__module__ == planning.__name__:
            assert f"planning.{name}(" in called, f"{name} has no contract"


@pytest.mark.parametrize("names", GROUPS, ids=len)
def test_crosshair_notices_an_off_by_one_in_each_function(names: set[str], tmp_path: Path) -> None:
    assert planted(tmp_path, set(names)) == set(names)


# -- the same contracts under Hypothesis ---------------------------------------------------------


def conditions(contract: Callable[..., Any], kind: str) -> list[Any]:
    """The compiled conditions of a contract."""
    lines = (line.strip() for line in (contract.__doc__ or "").splitlines())
    texts = [line.removeprefix(kind) for line in lines if line.startswith(kind)]
    return [compile(text.strip(), text.strip(), "eval") for text in texts]


def hold(
    contract: Callable[..., Any], data: st.DataObject, numbers: st.SearchStrategy[int]
) -> None:
    """Draw arguments, call, and evaluate every postcondition."""
    kinds = {"int": numbers, "bool": st.booleans()}
    signature = inspect.signature(contract)
    arguments = {
        name: data.draw(kinds[str(parameter.annotation)], label=name)
        for name, parameter in signature.parameters.items()
    }
    scope = {**contract.__globals__, **arguments}
    for condition in conditions(contract, "pre:"):
        assume(eval(condition, scope))
    scope["__return__"] = contract(**arguments)
    for condition in conditions(contract, "post:"):
        assert eval(condition, scope), condition.co_filename


PLAIN = settings(
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
def test_hypothesis_finds_no_broken_contract(contract: Callable[..., Any]) -> None:
    @PLAIN
    @given(st.data())
    def check(data: st.DataObject) -> None:
        hold(contract, data, st.integers(0, 12))

    check()


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
def test_hypothesis_with_crosshair_as_its_backend_finds_none_either(
    contract: Callable[..., Any],
) -> None:
    pytest.importorskip("hypothesis_crosshair_provider", reason="needs hypothesis-crosshair")

    @settings(PLAIN, backend="crosshair", max_examples=5)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        hold(contract, data, st.integers(0, 1 << 20))

    check()
