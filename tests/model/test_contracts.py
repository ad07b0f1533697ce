"""CrossHair on the planning functions: what it confirms, what it cannot, and that it is awake."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from model import contracts

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 8
"""CrossHair's time per postcondition; all but the open ones need a fraction of it."""
HASTE = 2
"""The same where an error is expected: an error takes less to find than a confirmation."""
OPEN = {"mamba_aligned_rows: __return__ in (0, rows) or (start + __return__) % block == 0"}
"""Not confirmed over all paths: division by a symbolic block size is nonlinear.  The prover
decides it (``proofs.symbolic.multiples``); CrossHair and Hypothesis only try."""

PLANTED = {
    "decide": (
        "policies",
        "fits = end <= config.max_model_len",
        "fits = end < config.max_model_len",
    ),
    "threshold_in_force": ("planning", "num_unfinished <= 1", "num_unfinished <= 2"),
    "capped": ("planning", "(threshold < rows)", "(threshold + 1 < rows)"),
    "mamba_aligned_rows": ("planning", "ite(start >= prefill_end,", "ite(start > prefill_end,"),
    "scheduled_drafts": ("planning", "computed_tokens - known", "computed_tokens - known + 1"),
    "roll_back_rejected": ("output", "rejected = drafts -", "rejected = drafts + 1 -"),
    "append_tokens": ("output", "elif to_length_stop <= gen", "elif to_length_stop < gen"),
    "running_rows": ("planning", "rows = min(rows, room)", "rows = min(rows, room + 1)"),
    "waiting_rows": (
        "planning",
        "rows = min(rows, budget)\n    a",
        "rows = min(rows, budget + 1)\n    a",
    ),
}
"""Contract → (module, text, text with an off-by-one)."""
CALLERS = ("running_rows", "waiting_rows")
"""Planted in a copy of their own: these call ``capped`` and ``decide``."""


def crosshair(root: Path, seconds: int, *targets: str) -> list[str]:
    """The lines ``crosshair check`` prints about ``model/contracts.py`` of a source tree."""
    command = [
        sys.executable,
        "-m",
        "crosshair",
        "check",
        "--report_all",
        "--analysis_kind=PEP316",
        f"--per_condition_timeout={seconds}",
        *(targets or ("model/contracts.py",)),
    ]
    done = subprocess.run(
        command,
        cwd=root,
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert not done.stderr.strip(), f"crosshair complains:\n{done.stderr}"
    return done.stdout.splitlines()


def condition_at(lines: list[str], number: int) -> str:
    """``function: postcondition`` of a line of the contracts."""
    text = lines[number - 1].strip().removeprefix("post: ")
    name = next(
        match[1] for line in reversed(lines[:number]) if (match := re.match(r"def (\w+)\(", line))
    )
    return f"{name}: {text}"


def verdicts(root: Path, seconds: int, *targets: str) -> dict[str, str]:
    """Postcondition → what CrossHair says of it."""
    source = (root / "model" / "contracts.py").read_text(encoding="utf-8").splitlines()
    found = {}
    for line in crosshair(root, seconds, *targets):
        match = re.match(r".*contracts\.py:(\d+): \w+: (.*)", line)
        assert match, f"crosshair reports about another file: {line}"
        found[condition_at(source, int(match[1]))] = match[2]
    return found


def test_crosshair_confirms_every_postcondition_but_the_open_ones() -> None:
    said = verdicts(ROOT, SECONDS)
    written = (ROOT / "model" / "contracts.py").read_text(encoding="utf-8").count("    post: ")
    assert len(said) == written, "a postcondition has no verdict"
    for condition, verdict in said.items():
        if condition in OPEN:
            assert verdict in ("Not confirmed.", "Confirmed over all paths."), (condition, verdict)
        else:
            assert verdict == "Confirmed over all paths.", (condition, verdict)
    assert set(said) >= OPEN, "an open postcondition is gone: update OPEN"


@pytest.mark.parametrize("names", [sorted(PLANTED.keys() - set(CALLERS)), CALLERS])
def test_crosshair_notices_an_off_by_one_in_each_function(names: list[str], tmp_path: Path) -> None:
    for folder in ("spec", "model"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.pyc"))
    for name in names:
        module, right, wrong = PLANTED[name]
        path = tmp_path / "model" / f"{module}.py"
        text = path.read_text(encoding="utf-8")
        assert text.count(right) == 1, f"{right!r} is not in {module}.py once: update PLANTED"
        path.write_text(text.replace(right, wrong), encoding="utf-8")
    said = verdicts(tmp_path, HASTE, *(f"model.contracts.{name}" for name in names))
    caught = {
        condition.split(":")[0]
        for condition, verdict in said.items()
        if verdict not in ("Confirmed over all paths.", "Not confirmed.")
    }
    assert caught == set(names), f"not caught: {set(names) - caught}; said {said}"


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
    scope = {**vars(contracts), **arguments}
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


@pytest.mark.parametrize("contract", contracts.CONTRACTS, ids=lambda c: str(c.__name__))
def test_hypothesis_finds_no_broken_contract(contract: Callable[..., Any]) -> None:
    @PLAIN
    @given(st.data())
    def check(data: st.DataObject) -> None:
        hold(contract, data, st.integers(0, 12))

    check()


@pytest.mark.parametrize("contract", contracts.CONTRACTS, ids=lambda c: str(c.__name__))
def test_hypothesis_with_crosshair_as_its_backend_finds_none_either(
    contract: Callable[..., Any],
) -> None:
    pytest.importorskip("hypothesis_crosshair_provider", reason="needs hypothesis-crosshair")

    @settings(PLAIN, backend="crosshair", max_examples=5)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        hold(contract, data, st.integers(0, 1 << 20))

    check()
