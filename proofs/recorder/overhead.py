"""What recording costs: two tiny engines with the same traffic, one of them recorded, step about.

Run by the engine's interpreter, with the project on its path:

    python -m proofs.recorder.overhead '{"steps": 400}'

Each engine is a process of its own, and only one of them runs at a time.  Printed are the time of a
step with and without, and the time spent inside the recorder: on a busy machine the difference of
the first two is mostly noise, the last is not.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from typing import Any

from proofs.recorder import exercise, settings

Pair = tuple[float, float]
"""Seconds of a step, and of them inside the recorder."""


def measure(told: dict[str, Any], monitor: str) -> dict[str, Any]:
    """Both engines, alternately."""
    recorded, plain = _Child(told, monitor), _Child(told | {"scheduler": False}, "off")
    with_it: list[Pair] = []
    without: list[float] = []
    for _ in range(told["steps"]):
        with_it.append(recorded.step())
        without.append(plain.step()[0])
    recorded.end()
    plain.end()
    steps, inside = [step for step, _ in with_it], [inside for _, inside in with_it]
    millis = {
        "plain": statistics.fmean(without) * 1e3,
        "recorded": statistics.fmean(steps) * 1e3,
        "plain_median": statistics.median(without) * 1e3,
        "recorded_median": statistics.median(steps) * 1e3,
        "inside_recorder": statistics.fmean(inside) * 1e3,
    }
    return {
        "steps": told["steps"],
        "max_num_seqs": told["max_num_seqs"],
        "monitor": monitor,
        "milliseconds": {name: round(value, 4) for name, value in millis.items()},
        "ratio_side_by_side": round(millis["recorded"] / millis["plain"], 4),
        "ratio_of_medians": round(millis["recorded_median"] / millis["plain_median"], 4),
        "ratio_inside": round(sum(inside) / (sum(steps) - sum(inside)), 5),
    }


class _Child:
    """One engine, making a step whenever it is told to."""

    def __init__(self, told: dict[str, Any], monitor: str) -> None:
        watched = {settings.RECORD: tempfile.mkdtemp(), settings.MONITOR: monitor}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "proofs.recorder.overhead", json.dumps(told), "child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ) | watched,
        )
        self._answer()  # it is up

    def step(self) -> Pair:
        """One step."""
        assert self.process.stdin is not None
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        step, inside = self._answer()
        return step, inside

    def end(self) -> None:
        """No further step."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _answer(self) -> list[float]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("answer "):
                answer: list[float] = json.loads(line.removeprefix("answer "))
                return answer
        raise SystemExit("an engine ended before its time")


def child(told: dict[str, Any]) -> None:
    """The engine's side of ``_Child``."""
    driver = exercise.Driver(told)
    inside = timed()
    print("answer []", flush=True)
    for _ in sys.stdin:
        driver.feed()
        before = inside[0]
        step = driver.step()
        print("answer", json.dumps([step, inside[0] - before]), flush=True)


def timed() -> list[float]:
    """Seconds spent in the recorder's own code, added up as it runs."""
    kind = import_module("proofs.recorder.watched").Recording
    spent, tell = [0.0], kind._tell

    def _tell(self: Any, *told: Any) -> None:
        began = time.perf_counter()
        tell(self, *told)
        spent[0] += time.perf_counter() - began

    kind._tell = _tell
    return spent


if __name__ == "__main__":
    os.environ.update(exercise.ENVIRONMENT)
    given = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    if sys.argv[2:] == ["child"]:
        child(given)
    else:
        live = given.pop("monitor", "off")
        print(json.dumps(measure(exercise.DEFAULTS | {"steps": 300} | given, live)))
