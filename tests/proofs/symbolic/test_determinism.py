"""The same exploration gives the same paths, models and cores: in any process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from proofs.symbolic import Context, Exploration, Refuted, ite, sym_max, sym_min

ROOT = Path(__file__).resolve().parents[3]


def run(ctx: Context) -> Any:
    """A few of everything: flags, minima, quotients, products, tracked assumptions."""
    flags = [ctx.bool(name) for name in ("alpha", "beta", "gamma")]
    x, y, z = (ctx.int(name, 0) for name in ("x", "y", "z"))
    ctx.assume(x + y <= 50, "cap")
    ctx.assume((x >= 3) | flags[0], "floor")
    budget = sym_min(x, y, z + 2)
    if flags[1] & (budget > 4):
        budget = budget - x // 3
    elif x * y > z:
        budget = ite(flags[2], sym_max(x, y) - 1, budget * 2)
    if budget > z:
        return budget, x * y, "over"
    return budget, x % 5, "under"


def transcript() -> str:
    lines = []
    with Exploration(run) as exploration:
        for path in exploration:
            budget, other, _ = path.value
            lines.append(f"{path.value} {path.model}")
            lines.extend(f"  {d.condition} {d.taken}" for d in path.decisions)
            claims = {"a": budget <= 40, "b": other >= 0, "c": budget + other < 60}
            lines.extend(
                f"  {name} {answer.model if isinstance(answer, Refuted) else answer}"
                for name, answer in path.prove_all(claims).items()
            )
            lines.append(f"  least {path.minimize(order=[other, budget])}")
    statistics = exploration.statistics
    lines.append(f"{statistics.paths} {statistics.queries} {sorted(exploration.used_assumptions)}")
    return "\n".join(lines)


def test_two_runs_agree() -> None:
    first = transcript()
    assert first.count("least") >= 5
    assert transcript() == first


def test_hash_seeds_do_not_matter() -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, __file__],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        )
        for seed in ("0", "1", "4242")
    ]
    outputs = {process.communicate()[0].strip() for process in processes}
    assert outputs == {transcript()}


if __name__ == "__main__":
    print(transcript())
