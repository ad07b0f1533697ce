"""What recording costs: two tiny engines with the same traffic, one of them recorded, step about.

Run by the engine's interpreter, with the project on its path:

    python -m proofs.recorder.overhead '{"steps": 400}'

Each engine is a process of its own, and only one of them runs at a time.  Printed are the time of a
step with and without, on the wall and of the CPU, and the time spent inside the recorder: on a busy
machine the difference of two walls is mostly noise.
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

Cost = list[float]
"""Of a step: seconds on the wall, of the thread's CPU time; and of each those in the recorder."""


def measure(told: dict[str, Any], monitor: str) -> dict[str, Any]:
    """Both engines, alternately."""
    recorded, plain = _Child(told, monitor), _Child(told | {"scheduler": False}, "off")
    with_it: list[Cost] = []
    without: list[Cost] = []
    for number in range(told["steps"]):
        turns = [(recorded, with_it), (plain, without)]
        for child, costs in turns if number % 2 else reversed(turns):  # nobody is always first
            costs.append(child.step())
    recorded.end()
    plain.end()
    result: dict[str, Any] = {
        "steps": told["steps"],
        "max_num_seqs": told["max_num_seqs"],
        "monitor": monitor,
    }
    for index, clock in enumerate(("wall", "cpu")):
        ours = [cost[index] for cost in with_it]
        theirs = [cost[index] for cost in without]
        inside = sum(cost[index + 2] for cost in with_it)
        result[clock] = {
            "plain_ms": round(statistics.fmean(theirs) * 1e3, 3),
            "recorded_ms": round(statistics.fmean(ours) * 1e3, 3),
            "inside_recorder_ms": round(inside / len(ours) * 1e3, 4),
            "ratio": round(sum(ours) / sum(theirs), 4),
            "ratio_of_medians": round(statistics.median(ours) / statistics.median(theirs), 4),
            "share_inside": round(inside / (sum(ours) - inside), 5),
        }
    return result


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

    def step(self) -> Cost:
        """One step."""
        assert self.process.stdin is not None
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        return self._answer()

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
        before, cpu = list(inside), time.thread_time()
        wall = driver.step()
        spent = [wall, time.thread_time() - cpu, inside[0] - before[0], inside[1] - before[1]]
        print("answer", json.dumps(spent), flush=True)


def timed() -> list[float]:
    """Seconds spent in the recorder's own code, added up as it runs."""
    kind = import_module("proofs.recorder.watched").Recording
    spent, tell = [0.0, 0.0], kind._tell

    def _tell(self: Any, *told: Any) -> None:
        wall, cpu = time.perf_counter(), time.thread_time()
        tell(self, *told)
        spent[0] += time.perf_counter() - wall
        spent[1] += time.thread_time() - cpu

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
