"""``python -m proofs simulate``: what the padding guard costs a data-parallel group, by load.

A group of P/D decode nodes: every request arrives with its prompt's KV, all but the last token
matched by a synchronous connector.  Before #55126 a rank without running work schedules such a
request unpadded, one row, and the whole group leaves its CUDA graph for that step.

What it shows: *where* the guard of #53962 hurts (some rank is idle when a request arrives) and
where it does not (every rank is busy, so running work is always scheduled first).  What it does
not show: how large the loss is on any hardware.  That is decided by the cost model's ratio of
fallback to FULL, which is an input (``model.dp.CostModel``); lengths, acceptance and routing are
simple stand-ins too.  P99 is a cliff: with two step costs it jumps when more than one delivery in
a hundred waits for a fallback, where a real system, whose steps vary, slides.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from model.dp import MAX_MS, CostModel, DPGroup
from model.environment import Quiet, Sample
from model.policies import POLICIES, PaddingPolicy
from model.request import Request
from model.runner.cudagraph import Mode
from proofs.report.files import write_whole
from proofs.report.outputs import writable
from proofs.simulate_plot import Curve, line_chart
from spec.config import Config

BEFORE, AFTER = POLICIES["53962"], POLICIES["55126"]
ACCEPTANCE = 0.7
"""Chance of each draft to be accepted, given the ones before it; about 2.5 tokens per step."""
OUTPUT_TOKENS = (400, 1200)
"""Output lengths are uniform in this range, tokens."""
WHOLE = {
    "ranks": (1, 256, "data-parallel ranks"),
    "steps": (200, 1_000_000, "steps per load"),
    "seed": (0, 2**64 - 1, "of arrivals and samples"),
}
"""The whole numbers among the settings: the least, the most, and in words."""
LOADS = (0.001, 1000.0)
"""Requests per second."""
MAX_LOADS = 64
COSTS = {
    "full_ms": "a step that replays one FULL graph",
    "piecewise_ms": "a step with an odd row: PIECEWISE graphs",
    "none_ms": "a step larger than every captured graph",
    "per_token_ms": "each row of the largest rank, padding included",
}
"""The fields of ``CostModel``, in words."""
CONFIG = Config.checked(
    max_model_len=4096,
    num_spec_tokens=3,
    max_num_seqs=32,
    max_num_scheduled_tokens=128,
    max_num_batched_tokens=128,
    num_gpu_blocks=1 << 14,
)
"""One decode node: K = 3, 32 requests at once."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The inputs of one simulation.

    Raises:
        ValueError: one sentence saying which input is illegal and what is legal.
    """

    ranks: int = 16
    steps: int = 2000
    """Lockstep steps per load and policy; the first quarter warms up and is not measured."""
    seed: int = 0
    qps: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    """Loads: requests per second for the whole group."""
    cost: CostModel = field(default_factory=CostModel)

    def __post_init__(self) -> None:
        for name, (low, high, _) in WHOLE.items():
            _within(name, getattr(self, name), low, high)
        for load in self.qps:
            _within("qps", load, *LOADS)
        if not 1 <= len(self.qps) <= MAX_LOADS or list(self.qps) != sorted(set(self.qps)):
            raise ValueError(f"qps is illegal; legal: 1 to {MAX_LOADS} loads, ascending.")


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # a nan is neither
        raise ValueError(f"{name} = {value} is illegal; legal: {low} to {high}.")


@dataclass(frozen=True, slots=True)
class Point:
    """One policy under one load, after the warm-up."""

    p99_ms: float
    """99th percentile of the time between two deliveries to one client, milliseconds."""
    mean_ms: float
    """The mean of the same times, milliseconds."""
    fallback_steps: float
    """Share of the steps in which the group left its FULL graph."""
    idle_ranks: float
    """Mean share of ranks without work."""


class DecodeNode(Quiet):
    """One rank's world: KV comes from a connector, drafts are accepted by chance.

    Every request draws from its own seed, so both policies see the same lengths and acceptances.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.now_ms = 0.0
        self.gaps_ms: list[float] = []
        """Time between consecutive deliveries, over all requests."""
        self._streams: dict[str, random.Random] = {}
        self._delivered_ms: dict[str, float] = {}

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        return request.num_tokens - 1 - num_local_tokens, False

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        name = request.request_id
        before = self._delivered_ms.get(name)
        if before is None:
            self._streams[name] = random.Random(f"{self.seed} {name}")
        else:
            self.gaps_ms.append(self.now_ms - before)
        self._delivered_ms[name] = self.now_ms
        accepted = 0
        if not padded:
            stream = self._streams[name]
            while accepted < num_draft_tokens and stream.random() < ACCEPTANCE:
                accepted += 1
        return Sample(1 + accepted)


def simulate(settings: Settings, policy: PaddingPolicy, qps: float) -> Point:
    """Run one policy under one load: Poisson arrivals, each to the rank with the fewest requests.

    Deterministic: the same settings give the same point.
    """
    arrivals = random.Random(f"{settings.seed} {qps}")
    nodes = [DecodeNode(settings.seed) for _ in range(settings.ranks)]
    group = DPGroup(CONFIG, policy, nodes, settings.cost)
    now_ms, next_ms = 0.0, arrivals.expovariate(qps) * 1000
    number = fallback = idle = measured = 0
    warm_up = settings.steps // 4
    for step in range(settings.steps):
        if step == warm_up:
            for node in nodes:
                node.gaps_ms.clear()
        if not group.has_work:
            now_ms = max(now_ms, next_ms)
        while next_ms <= now_ms:
            loads = [len(e.scheduler.running) + len(e.scheduler.waiting) for e in group.engines]
            turn = number % settings.ranks  # equally loaded ranks take turns
            rank = min(range(settings.ranks), key=lambda r: (loads[r], (r - turn) % len(loads)))
            output = arrivals.randint(*OUTPUT_TOKENS)
            request = Request(f"{number}", arrivals.randint(256, 2048), output)
            group.engines[rank].add_request(request)
            number += 1
            next_ms += arrivals.expovariate(qps) * 1000
        for node in nodes:
            node.now_ms = now_ms
        done = group.step()
        now_ms += done.milliseconds
        if step >= warm_up and done.mode is not None:
            measured += 1
            fallback += done.mode is not Mode.FULL
            idle += sum(not output.scheduled for output in done.outputs)
    gaps = np.concatenate([node.gaps_ms for node in nodes])
    p99 = float(np.percentile(gaps, 99, method="inverted_cdf")) if gaps.size else math.nan
    mean = float(gaps.mean()) if gaps.size else math.nan
    measured = max(measured, 1)
    return Point(p99, mean, fallback / measured, idle / measured / settings.ranks)


def sweep(settings: Settings, console: Console) -> list[tuple[Point, Point]]:
    """Both policies under every load: before and after #55126."""
    return [
        (simulate(settings, BEFORE, qps), simulate(settings, AFTER, qps))
        for qps in track(settings.qps, "simulating", console=console, transient=True)
    ]


HEADINGS = ("QPS", "idle ranks", "fallback steps", "mean ms", "P99 ms", "change of P99")
"""Of the table; a cell with an arrow is policy 53962 → policy 55126."""


def cells(settings: Settings, points: Sequence[tuple[Point, Point]]) -> list[tuple[str, ...]]:
    """The sweep in rows under ``HEADINGS``."""
    return [
        (
            f"{qps:g}",
            f"{after.idle_ranks:.0%}",
            f"{before.fallback_steps:.1%} → {after.fallback_steps:.1%}",
            f"{before.mean_ms:.1f} → {after.mean_ms:.1f}",
            f"{before.p99_ms:.1f} → {after.p99_ms:.1f}",
            f"{after.p99_ms / before.p99_ms - 1:+.1%}" if before.p99_ms > 0 else "n/a",
        )
        for qps, (before, after) in zip(settings.qps, points, strict=True)
    ]


def headline(settings: Settings) -> tuple[str, str]:
    """What the table shows, and the inputs it rests on."""
    cost = settings.cost
    return (
        f"Inter-token latency, {settings.ranks} data-parallel decode ranks, "
        f"K = {CONFIG.num_spec_tokens}, policy 53962 → 55126",
        f"step cost in ms: FULL {cost.full_ms:g}, PIECEWISE {cost.piecewise_ms:g}, NONE "
        f"{cost.none_ms:g}, + {cost.per_token_ms:g} per row: inputs, not measurements",
    )


def table(settings: Settings, points: Sequence[tuple[Point, Point]]) -> Table:
    """The sweep as a table for a terminal."""
    title, caption = headline(settings)
    result = Table(title=title, caption=caption)
    for heading in HEADINGS:
        result.add_column(heading, justify="right")
    for row in cells(settings, points):
        result.add_row(*row)
    return result


def plot(settings: Settings, points: Sequence[tuple[Point, Point]]) -> str:
    """The sweep as an SVG document."""
    before = Curve("53962", [before.p99_ms for before, _ in points])
    after = Curve("55126", [after.p99_ms for _, after in points])
    title = f"P99 inter-token latency of {settings.ranks} decode ranks, by load"
    axes = ("requests per second, whole group", "P99 inter-token latency, ms")
    return line_chart(title, axes, settings.qps, [before, after])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``python -m proofs simulate``."""
    default = Settings()
    for name, (low, high, what) in WHOLE.items():
        told = f"{what}, {low} to {high} (default: %(default)s)"
        parser.add_argument(f"--{name}", type=int, default=getattr(default, name), help=told)
    parser.add_argument(
        "--qps",
        type=_numbers,
        default=default.qps,
        metavar="N,N,...",
        help="loads, requests per second for the whole group, ascending, "
        f"{LOADS[0]:g} to {LOADS[1]:g}",
    )
    for name, cost in asdict(default.cost).items():
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=float,
            default=cost,
            metavar="MS",
            help=f"{COSTS[name]}, 0 to {MAX_MS} (default: {cost:g})",
        )
    parser.add_argument("--output", type=Path, default=Path("simulate.svg"), help="the plot, .svg")


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list like 1,2,4.5") from None


def run(args: argparse.Namespace) -> int:
    """Print the table and write the plot; returns the exit status, 0.

    Args:
        args: as ``add_arguments`` adds them.

    Raises:
        ValueError: an illegal number or name; one sentence.
        UsageError: the plot cannot be written.
    """
    cost = CostModel(**{name: getattr(args, name) for name in COSTS})
    settings = Settings(args.ranks, args.steps, args.seed, args.qps, cost)
    if args.output.suffix.lower() != ".svg":
        raise ValueError(f"output = {args.output} is illegal; legal: a name that ends in .svg.")
    writable(args.output)
    console = Console()
    points = sweep(settings, Console(stderr=True))
    console.print(table(settings, points))
    write_whole(args.output, plot(settings, points))
    console.print(f"plot: {args.output}", highlight=False, soft_wrap=True)
    return 0
