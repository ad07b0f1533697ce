"""Steps per second of the released scheduler object, the model, and the model with the runner.

    ENGINE/bin/python tests/benchmarks/scheduler_speed.py [ROUNDS]

Run by the interpreter of an environment with ``schedproof[engine]``: all three then run in one
process, in turns, through the same loop, and must give out the same rows in every step.  A step is
``schedule()`` and the booking of the output of the step before; every draft is rejected.  Counted
are these two calls.  What the loop makes in place of a runner's output is counted for neither
side, but for the model's one question to its environment per request, which is asked inside.

A measurement, not a test: nothing here fails on a slow day.
"""

from __future__ import annotations

import os
import platform
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Protocol

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")

from model.engine import Engine  # noqa: E402
from model.environment import Quiet, Sample  # noqa: E402
from model.policies import PR_55126  # noqa: E402
from model.request import Request  # noqa: E402
from model.runner.shim import RunnerEngine  # noqa: E402
from model.step import SchedulerOutput  # noqa: E402
from proofs.conform import released  # noqa: E402
from spec.config import Config  # noqa: E402

ROUNDS = 15
NUM_REQUESTS, PROMPT, OUTPUT = 64, 20, 40
CONFIG = Config.checked(
    max_model_len=4096,
    num_spec_tokens=3,
    max_num_scheduled_tokens=4096,
    max_num_batched_tokens=4096,
    max_num_seqs=8,
    num_gpu_blocks=1000,
    async_scheduling=True,
)
TOKEN = 7
Rows = dict[str, int]
"""Request id → rows, in the order of the step."""


class Subject(Protocol):
    """A scheduler with all requests waiting."""

    def schedule(self) -> Any:
        """One step; counted."""

    def rows(self, output: Any) -> Rows:
        """What the step gives out."""

    def returned(self, output: Any) -> Any:
        """The runner's output for a step: one token per request."""

    def book(self, output: Any, returned: Any) -> None:
        """The output of a step is back; counted."""


class Modelled:
    """The model, with or without the runner attached."""

    def __init__(self, engine: type[Engine]) -> None:
        self.engine = engine(CONFIG, PR_55126, OneToken())
        for number in range(NUM_REQUESTS):
            self.engine.add_request(Request(str(number), PROMPT, OUTPUT, arrival_time=number))
        self.schedule = self.engine.scheduler.schedule

    def rows(self, output: SchedulerOutput) -> Rows:
        return {s.request.request_id: s.num_scheduled_tokens for s in output.scheduled}

    def returned(self, output: SchedulerOutput) -> None:
        return None

    def book(self, output: SchedulerOutput, returned: None) -> None:
        self.engine.book(output)


class OneToken(Quiet):
    """Every draft is rejected; the answer is made once."""

    answer = Sample(1)

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        return self.answer


class Released:
    """The engine's own object as it leaves its constructor: no connector, no prefix caching."""

    def __init__(self, engine: Any) -> None:
        self.scheduler = scheduler = engine.scheduler(asdict(CONFIG), released.Questions())
        # Take off what the comparison of ``proofs.conform`` puts in place of cache and connector.
        scheduler.connector = None
        for stub in ("get_computed_blocks", "truncate_computed_blocks"):
            vars(scheduler.kv_cache_manager).pop(stub, None)
        self.outputs = released.vllm("v1.outputs")
        sampling = released.vllm("sampling_params").SamplingParams
        for number in range(NUM_REQUESTS):
            scheduler.add_request(
                released.fitting(
                    released.vllm("v1.request").Request,
                    request_id=str(number),
                    prompt_token_ids=[TOKEN] * PROMPT,
                    sampling_params=sampling(max_tokens=OUTPUT, ignore_eos=True),
                    pooling_params=None,
                    eos_token_id=None,
                    arrival_time=float(number),
                )
            )
        self.schedule = scheduler.schedule

    def rows(self, output: Any) -> Rows:
        return dict(output.num_scheduled_tokens)

    def returned(self, output: Any) -> Any:
        names = list(output.num_scheduled_tokens)
        return released.fitting(
            self.outputs.ModelRunnerOutput,
            req_ids=names,
            req_id_to_index={name: index for index, name in enumerate(names)},
            sampled_token_ids=[[TOKEN] for _ in names],
            logprobs=None,
            prompt_logprobs_dict={},
            pooler_output=None,
        )

    def book(self, output: Any, returned: Any) -> None:
        self.scheduler.update_from_output(output, returned)


def play(subject: Subject) -> tuple[list[Rows], float, float]:
    """Serve all requests: the rows of each step, the seconds in ``schedule`` and in ``book``."""
    history: list[Rows] = []
    scheduling = booking = 0.0
    in_flight: deque[Any] = deque()
    while True:
        started = perf_counter()
        output = subject.schedule()
        scheduling += perf_counter() - started
        rows = subject.rows(output)
        if rows:
            history.append(rows)
            in_flight.append(output)
        if not in_flight:
            return history, scheduling, booking
        if len(in_flight) > 1 or not rows:
            oldest = in_flight.popleft()
            returned = subject.returned(oldest)
            started = perf_counter()
            subject.book(oldest, returned)
            booking += perf_counter() - started


def measure(subjects: dict[str, Callable[[], Subject]], rounds: int) -> None:
    """Play every subject once per round and print the medians."""
    expected: list[Rows] | None = None
    micros: dict[str, list[tuple[float, float]]] = {name: [] for name in subjects}
    for _ in range(rounds):
        for name, make in subjects.items():
            history, scheduling, booking = play(make())
            expected = expected if expected is not None else history
            if history != expected:
                sys.exit(f"{name} gives out other rows: this compares two different schedulers")
            per_step = 1e6 / len(history)
            micros[name].append((scheduling * per_step, booking * per_step))
    assert expected is not None
    requests = sum(map(len, expected))
    print(f"{len(expected)} steps of {requests / len(expected):.1f} requests, {rounds} rounds each")
    print(f"{'':24}{'schedule':>10}{'book':>10}{'steps/s':>10}{'requests/s':>13}{'ratio':>8}")
    base = [sum(times) for times in next(iter(micros.values()))]
    for name, samples in micros.items():
        schedule, book = (median(parts) for parts in zip(*samples, strict=True))
        total = median(map(sum, samples))
        ratio = median(b / sum(times) for b, times in zip(base, samples, strict=True))
        print(
            f"{name:24}{schedule:7.1f} µs{book:7.1f} µs"
            f"{1e6 / total:10,.0f}{1e6 / total * requests / len(expected):13,.0f}{ratio:7.1f}x"
        )


def main() -> None:
    """Measure what this interpreter has."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    subjects: dict[str, Callable[[], Subject]] = {}
    try:
        version = released.vllm("version").__version__
    except ImportError as error:
        print(f"no engine in this interpreter ({error}): the model alone", file=sys.stderr)
    else:
        engine = released.Engine()
        subjects[f"vLLM {version}"] = lambda: Released(engine)
    subjects["model"] = lambda: Modelled(Engine)
    subjects["model with runner"] = lambda: Modelled(RunnerEngine)
    print(f"Python {platform.python_version()}, one core", end="; ")
    measure(subjects, rounds)


if __name__ == "__main__":
    main()
