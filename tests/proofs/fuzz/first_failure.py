"""Time to the first failure per known-bug policy, by tool: the README's table, measured anew.

    python tests/proofs/fuzz/first_failure.py

Seconds of CPU time on one core, children included: what else the machine does does not count.
Random and Hypothesis: median of several seeds, until the first failing step, without shrinking.
Prover: until one broken invariant is refuted and its trace replayed, nothing cached.  CrossHair:
the whole ``crosshair check`` of the two contracts that read the policy, its start included.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from model.policies import POLICIES, RECOMMENDED, PaddingPolicy  # noqa: E402
from proofs.check import Task, check  # noqa: E402
from proofs.fuzz.campaign import Limits, fuzz  # noqa: E402
from proofs.fuzz.driver import Goal, random_run  # noqa: E402
from proofs.fuzz.machine import hunt  # noqa: E402
from proofs.fuzz.profiles import CI  # noqa: E402
from proofs.induction import Cache  # noqa: E402
from proofs.known import BROKEN  # noqa: E402
from proofs.verdict import MODES, VIOLATED  # noqa: E402

SEEDS = range(5)
NOT_FOUND = "not found"


def cpu() -> float:
    """Seconds this process and its finished children have computed so far."""
    return sum(os.times()[:4])


def seconds(what: Callable[[], bool]) -> str:
    """How long a search computed, if it found something."""
    started = cpu()
    found = what()
    return f"{cpu() - started:.2f} s" if found else NOT_FOUND


def by_prover(policy: PaddingPolicy) -> str:
    invariant, modes = next(iter(BROKEN[policy.name].items()))
    task = Task(policy, modes[-1], frozenset({invariant}))
    return seconds(lambda: check(task, Cache())[0].verdict == VIOLATED)


def by_random(policy: PaddingPolicy) -> str:
    goal, times, steps = Goal(policy), [], []
    for seed in SEEDS:
        started, index, played = cpu(), 0, 0
        while True:
            run = random_run(goal, seed, index)
            index, played = index + 1, played + run.num_steps
            if run.breach is not None:
                break
        times.append(cpu() - started)
        steps.append(played)
    return f"{median(times):.2f} s ({median(steps)} steps)"


def by_hypothesis(policy: PaddingPolicy) -> str:
    return seconds(lambda: hunt(policy, CI, shrink=False) is not None)


def by_crosshair(policy: PaddingPolicy) -> str:
    """The contracts say what the recommended policy does: let another one take its place."""
    with tempfile.TemporaryDirectory() as folder:
        for package in ("spec", "model"):
            shutil.copytree(ROOT / package, Path(folder) / package)
        path = Path(folder) / "model" / "policies.py"
        text = path.read_text(encoding="utf-8")
        swapped = f'RECOMMENDED = POLICIES["{policy.name}"]'
        path.write_text(
            text.replace(f"RECOMMENDED = PR_{RECOMMENDED.name}", swapped), encoding="utf-8"
        )
        command = [sys.executable, "-m", "crosshair", "check", "--analysis_kind=PEP316"]
        targets = ["model.contracts.decide", "model.contracts.waiting_rows"]
        environment = {"PYTHONPATH": folder}
        return seconds(
            lambda: (
                subprocess.run(
                    [*command, *targets], cwd=folder, env=environment, capture_output=True
                ).returncode
                == 1
            )
        )


def main() -> None:
    """Print the table in Markdown."""
    tools = {
        "prover": by_prover,
        "random": by_random,
        "Hypothesis": by_hypothesis,
        "CrossHair": by_crosshair,
    }
    print("| policy | " + " | ".join(tools) + " |")
    print("|---|" + "---|" * len(tools))
    for name, broken in BROKEN.items():
        if broken:
            cells = [find(POLICIES[name]) for find in tools.values()]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    started = cpu()
    result = fuzz(Goal(RECOMMENDED), 0, Limits(steps=50_000), 1, lambda *_: None)
    pace = f"{result.num_steps / (cpu() - started):,.0f} steps/s"
    found = NOT_FOUND if result.found is None else "FOUND"
    name = RECOMMENDED.name
    more = f"{found} ({result.num_steps:,} steps, {pace})"
    hypothesis, crosshair = by_hypothesis(RECOMMENDED), by_crosshair(RECOMMENDED)
    verdicts = {o.verdict for mode in MODES for o in check(Task(RECOMMENDED, mode), Cache())}
    print(f"| {name} | {', '.join(verdicts)} | {more} | {hypothesis} | {crosshair} |")


if __name__ == "__main__":
    main()
