"""``python -m model.runner``: run the scheduler on a device, check every token, time the graphs.

Exit status: 0 all tokens as expected; 1 some are not, or a step could not be executed; 2 bad
input, or a device that is not there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from model.runner.cuda import CudaDevice
from model.runner.cudagraph import Dispatcher, Mode
from model.runner.device import Device, Weights
from model.runner.errors import RunnerError
from model.runner.exercise import CONFIG, Outcome, exercise, step_seconds
from model.runner.reference import NumpyDevice
from model.runner.torch_model import DeviceUnavailable


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m model.runner", description=__doc__)
    parser.add_argument("--device", choices=("cuda", "numpy"), default="numpy")
    parser.add_argument("--steps", type=_natural, default=200, help="steps with new arrivals")
    parser.add_argument("--seed", type=_natural, default=0, help="of the arrivals and the weights")
    options = parser.parse_args(arguments)
    weights = Weights.random(CONFIG.max_model_len, options.seed)
    dispatcher = Dispatcher(CONFIG)
    try:
        device: Device
        if options.device == "cuda":
            device = CudaDevice(CONFIG, weights, dispatcher)
        else:
            device = NumpyDevice(CONFIG, weights)
    except DeviceUnavailable as error:
        print(f"error: --device cuda: {error}", file=sys.stderr)
        return 2
    console = Console()
    try:
        outcome = exercise(CONFIG, weights, device, options.steps, options.seed)
    except RunnerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    wrong = outcome.wrong()
    _print_outcome(console, options.device, outcome, wrong)
    if isinstance(device, CudaDevice):
        ran = ", ".join(f"{device.steps_run[mode]} {mode.name}" for mode in reversed(Mode))
        console.print(f"  ran on the device: {ran}")
        if device.steps_run != outcome.modes:
            wrong.append("a dispatched graph was not replayed")
    console.print(_timings(step_seconds(CONFIG, device, dispatcher), options.device))
    return 1 if wrong else 0


def _natural(text: str) -> int:
    """A whole number, at least 0."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


_natural.__name__ = "whole number, at least 0,"


def _print_outcome(console: Console, name: str, outcome: Outcome, wrong: list[str]) -> None:
    steps = sum(outcome.modes.values())
    tokens = sum(map(len, outcome.outputs.values()))
    modes = ", ".join(f"{outcome.modes[mode]} {mode.name}" for mode in reversed(Mode))
    accepted = outcome.num_accepted / max(outcome.num_drafts, 1)
    console.print(f"{name}: {steps} steps ({modes}), {len(outcome.outputs)} requests")
    verdict = f"wrong in {', '.join(wrong)}" if wrong else "all as plain greedy decoding gives"
    console.print(f"  {tokens} tokens, {verdict}; {accepted:.0%} of the drafts accepted")


def _timings(seconds: dict[int, dict[Mode, float]], name: str) -> Table:
    table = Table(title=f"one decode step on {name}, median, microseconds")
    table.add_column("requests", justify="right")
    for mode in reversed(Mode):
        table.add_column(mode.name, justify="right")
    table.add_column("NONE / FULL", justify="right")
    for num_reqs, by_mode in seconds.items():
        times = [f"{by_mode[mode] * 1e6:.0f}" for mode in reversed(Mode)]
        ratio = by_mode[Mode.NONE] / by_mode[Mode.FULL]
        table.add_row(str(num_reqs), *times, f"{ratio:.2f}")
    if name == "numpy":
        table.caption = "NumPy has no graphs: the three modes compute the same way"
    return table


if __name__ == "__main__":
    sys.exit(main())
