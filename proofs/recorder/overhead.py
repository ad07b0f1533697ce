"""What recording costs: two tiny engines with the same traffic, one of them recorded, step about.

Run by the engine's interpreter, with the project on its path:

    python -m proofs.recorder.overhead '{"steps": 400}'

Prints the time of a step with and without, and the time spent inside the recorder itself: on a
busy machine the difference of the first two is mostly noise, the last is not.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from importlib import import_module
from typing import Any

from proofs.recorder import exercise, settings


def measure(told: dict[str, Any], monitor: str) -> dict[str, Any]:
    """Both engines, alternately."""
    os.environ[settings.RECORD] = tempfile.mkdtemp()
    os.environ[settings.MONITOR] = monitor
    recorded = exercise.Driver(told)
    plain = exercise.Driver(told | {"scheduler": False})
    inside = timed()
    with_it, without, spent = [], [], []
    for _ in range(told["steps"]):
        recorded.feed()
        plain.feed()
        before = inside[0]
        with_it.append(recorded.step())
        spent.append(inside[0] - before)
        without.append(plain.step())
    millis = {
        "plain": statistics.fmean(without) * 1e3,
        "recorded": statistics.fmean(with_it) * 1e3,
        "plain_median": statistics.median(without) * 1e3,
        "recorded_median": statistics.median(with_it) * 1e3,
        "inside_recorder": statistics.fmean(spent) * 1e3,
    }
    return {
        "steps": told["steps"],
        "monitor": monitor,
        "milliseconds": {name: round(value, 4) for name, value in millis.items()},
        "ratio_side_by_side": round(millis["recorded"] / millis["plain"], 4),
        "ratio_of_medians": round(millis["recorded_median"] / millis["plain_median"], 4),
        "ratio_inside": round(sum(spent) / (sum(with_it) - sum(spent)), 5),
    }


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
    monitor = given.pop("monitor", "off")
    print(json.dumps(measure(exercise.DEFAULTS | {"steps": 300} | given, monitor)))
