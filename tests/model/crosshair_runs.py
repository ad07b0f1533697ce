"""Runs CrossHair on the contracts, sound and with off-by-ones planted, and reports what it said.

python -m tests.model.crosshair_runs > docs/crosshair.md
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from model import contracts, contracts_mamba

ROOT = Path(__file__).resolve().parents[2]
CONFIRMED, NOT_CONFIRMED = "Confirmed over all paths.", "Not confirmed."
SECONDS = 8
"""CrossHair's time per postcondition; all but the open ones need a fraction of it."""
HASTE = 2
"""The same where an error is expected: an error takes less to find than a confirmation."""
CONTRACTS = {c.__name__: c for c in (*contracts.CONTRACTS, *contracts_mamba.CONTRACTS)}
HARD = "mamba_boundaries"
"""A contract CrossHair confirms nothing of; it gets no more time than an error takes."""
OPEN = {
    "mamba_aligned_rows: __return__ in (0, rows) or (start + __return__) % block == 0",
    f"{HARD}: start % block == 0 or start % block + __return__ <= block",
    f"{HARD}: not start < (prompt + generated - 1) // block * block < start + __return__",
    f"{HARD}: _past_boundary(block, prompt, generated, start + __return__, threshold)"
    " in (0, start)",
}
"""Not confirmed over all paths: division by a symbolic block size is nonlinear.  The prover
decides it (``proofs.symbolic.multiples``); CrossHair and Hypothesis only try."""

PLANTED = {
    "decide": ("policies", "end <= config.max_model_len", "end < config.max_model_len"),
    "threshold_in_force": ("planning", "num_unfinished <= 1", "num_unfinished <= 2"),
    "surely_ends_in_flight": ("planning", "computed_tokens + 2 -", "computed_tokens + 1 -"),
    "capped": ("planning", "(threshold < rows)", "(threshold + 1 < rows)"),
    "mamba_aligned_rows": ("planning", "ite(start >= prefill_end,", "ite(start > prefill_end,"),
    "mamba_boundaries": ("planning", "(start // block + 1)", "(start // block + 2)"),
    "clipped_padding": ("planning", "aligned != 1 + config", "aligned != 2 + config"),
    "scheduled_drafts": ("planning", "computed_tokens - known", "computed_tokens - known + 1"),
    "roll_back_rejected": ("output", "rejected = drafts -", "rejected = drafts + 1 -"),
    "append_tokens": ("output", "elif to_length_stop <= gen", "elif to_length_stop < gen"),
    "append_at_limit": ("output", "to_max_tokens), 1)", "to_max_tokens), 0)"),
    "running_rows": ("planning", "rows = min(rows, room)", "rows = min(rows, room + 1)"),
    "waiting_rows": (
        "planning",
        "rows = min(rows, budget)\n    a",
        "rows = min(rows, budget + 1)\n    a",
    ),
}
"""Contract → (module, text, text with an off-by-one)."""
APART = {"mamba_boundaries", "append_at_limit", "running_rows", "waiting_rows"}
ALONE = {"clipped_padding"}
GROUPS = (PLANTED.keys() - APART - ALONE, APART, ALONE)
"""What is planted into one copy: no contract of a group calls what another one's plant changes."""


def verdicts(root: Path, seconds: int, names: Iterable[str]) -> dict[str, str]:
    """``contract: postcondition`` → what CrossHair says of it, in the source tree ``root``."""
    command = [sys.executable, "-m", "crosshair", "check", "--report_all"]
    command += ["--analysis_kind=PEP316", f"--per_condition_timeout={seconds}"]
    done = subprocess.run(
        [*command, *(f"{CONTRACTS[name].__module__}.{name}" for name in names)],
        cwd=root,
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert not done.stderr.strip(), f"crosshair complains:\n{done.stderr}"
    found = {}
    for line in done.stdout.splitlines():
        match = re.match(r".*model/(contracts\w*\.py):(\d+): \w+: (.*)", line)
        assert match, f"crosshair reports about another file: {line}"
        found[condition_at(root / "model" / match[1], int(match[2]))] = match[3]
    return found


def condition_at(path: Path, number: int) -> str:
    """``contract: postcondition`` of a line of the contracts."""
    lines = path.read_text(encoding="utf-8").splitlines()
    text = lines[number - 1].strip().removeprefix("post: ")
    name = next(
        match[1] for line in reversed(lines[:number]) if (match := re.match(r"def (\w+)\(", line))
    )
    return f"{name}: {text}"


PREFACE = """\
# What CrossHair says of the planning functions

`crosshair check` on [model/contracts.py](../model/contracts.py) and
[model/contracts_mamba.py](../model/contracts_mamba.py), as the test suite runs it
(`tests/model/test_contracts.py`, which also compares this page). *Confirmed over all paths* is for
all integers the precondition allows. Where it is *not confirmed* no counterexample was found
either: division by a symbolic block size is nonlinear. The prover decides those with lemmas of its
own (`proofs/symbolic/multiples.py`). Written by `python -m tests.model.crosshair_runs`.
"""


def planted(root: Path, names: set[str]) -> set[str]:
    """Plant the off-by-ones of some contracts into a copy; the contracts CrossHair refutes."""
    for folder in ("spec", "model"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("*.pyc"))
    for name in names:
        module, right, wrong = PLANTED[name]
        path = root / "model" / f"{module}.py"
        text = path.read_text(encoding="utf-8")
        assert text.count(right) == 1, f"{right!r} is not in {module}.py once: update PLANTED"
        path.write_text(text.replace(right, wrong), encoding="utf-8")
    said = verdicts(root, HASTE, sorted(names))
    return {
        condition.split(":")[0]
        for condition, verdict in said.items()
        if verdict not in (CONFIRMED, NOT_CONFIRMED)
    }


def sound() -> dict[str, str]:
    """Every postcondition of the contracts as they are → what CrossHair says of it."""
    said = verdicts(ROOT, SECONDS, [name for name in CONTRACTS if name != HARD])
    return said | verdicts(ROOT, HASTE, [HARD])


def report(said: dict[str, str]) -> str:
    """The page of the documentation."""
    lines = [PREFACE, "| contract | postcondition | CrossHair |", "|---|---|---|"]
    for condition, verdict in sorted(said.items(), key=lambda told: _place(told[0])):
        name, text = condition.split(": ", 1)
        told = "not confirmed" if condition in OPEN else verdict.rstrip(".").lower()
        lines.append(f"| `{name}` | `{text}` | {told} |")
    lines += [
        "",
        "A planted off-by-one in each, and CrossHair finds numbers that break the contract:",
        "",
        "| contract | in `model/` | planted |",
        "|---|---|---|",
    ]
    for name, (module, right, wrong) in PLANTED.items():
        was, now = right.split("\n")[0], wrong.split("\n")[0]
        lines.append(f"| `{name}` | `{module}.py`: `{was}` | `{now}` |")
    return "\n".join(lines) + "\n"


def _place(condition: str) -> int:
    return list(CONTRACTS).index(condition.split(": ", 1)[0])


def main() -> None:
    """Print the page, or say what was not caught."""
    for names in GROUPS:
        with tempfile.TemporaryDirectory() as folder:
            if missed := set(names) - planted(Path(folder), set(names)):
                sys.exit(f"not caught: {', '.join(sorted(missed))}")
    print(report(sound()), end="")


if __name__ == "__main__":
    main()
