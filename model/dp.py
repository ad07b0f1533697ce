"""A data-parallel group: N ranks in lockstep, each with its own scheduler and its own world.

Expert-parallel layers make every rank wait for every other one in each step, so the group takes
one CUDA graph decision together and one rank's odd row slows all of them down.  Sources:
``vllm/v1/worker/dp_utils.py`` and the data-parallel loop of ``vllm/v1/engine/core.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from model.engine import Engine
from model.environment import Environment
from model.hindsight import group_has_prefill, look_back
from model.policies import PaddingPolicy
from model.runner.cudagraph import Dispatch, Dispatcher, Mode
from model.runner.shim import RunnerEngine, check_group
from model.step import SchedulerOutput
from spec.config import Config
from spec.records import Decision

GroupRecorder = Callable[[int, Any], None]
"""Takes a rank and one of its records, complete with what the group knows."""
MAX_MS = 10_000
"""Most that one of the costs of a step may be, milliseconds."""


@dataclass(frozen=True, slots=True)
class CostModel:
    """Milliseconds of one lockstep step: ``mode + per_token * padded rows`` of one rank.

    The defaults are inputs, not measurements.  15 ms is a plausible FULL decode step of a large
    mixture-of-experts model.  The fallback is set to six times that because #55126 reports P99
    latency down by 83.4 %, which is 1 - 1 / 6: the size of the largest gain is put in, and only
    where along the load it appears comes out.

    Raises:
        ValueError: a cost that is not a number of milliseconds up to ``MAX_MS``; one sentence.
    """

    full_ms: float = 15.0
    piecewise_ms: float = 90.0
    none_ms: float = 120.0
    per_token_ms: float = 0.01

    def __post_init__(self) -> None:
        for name, cost in asdict(self).items():
            if not 0 <= cost <= MAX_MS:  # a nan is neither
                legal = f"0 to {MAX_MS} milliseconds"
                raise ValueError(f"{name} = {cost:g} is illegal; legal: {legal}.")

    def step_ms(self, dispatch: Dispatch) -> float:
        """The latency of a step, milliseconds."""
        base = (self.none_ms, self.piecewise_ms, self.full_ms)[dispatch.mode]
        return base + self.per_token_ms * dispatch.num_tokens


@dataclass(frozen=True, slots=True)
class GroupStep:
    """One lockstep step of the whole group."""

    outputs: tuple[SchedulerOutput, ...]
    """What each rank scheduled."""
    dispatches: tuple[Dispatch, ...]
    """What each rank ran, dummy batches included; empty if no rank had work."""
    milliseconds: float

    @property
    def mode(self) -> Mode | None:
        """The graph mode the group agreed on; None if no rank had work."""
        return self.dispatches[0].mode if self.dispatches else None


class DPGroup:
    """Ranks in lockstep.

    Args:
        config: the knobs, the same on every rank.
        policy: the padding guard.
        environments: one world per rank.
        cost: the latency of a step.
        record: called with each rank's records once the step is complete; None for full speed.
        engine: ``Engine``, or ``RunnerEngine`` to attach the runner to every rank.

    Raises:
        ValueError: no ranks.
    """

    def __init__(
        self,
        config: Config,
        policy: PaddingPolicy,
        environments: Sequence[Environment],
        cost: CostModel | None = None,
        record: GroupRecorder | None = None,
        engine: type[Engine] = Engine,
    ) -> None:
        if not environments:
            raise ValueError("A data-parallel group needs at least one rank.")
        self.cost = cost or CostModel()
        self.dispatcher = Dispatcher(config)
        self.record = record
        self._pending: list[list[Any]] = [[] for _ in environments]
        self.engines = [
            engine(config, policy, environment, pending.append if record is not None else None)
            for environment, pending in zip(environments, self._pending, strict=True)
        ]

    def step(self) -> GroupStep:
        """One step on every rank.

        Raises:
            RunnerError: with the runner attached, a rank's step cannot be executed, or the group
                loses its graph to an odd row.
        """
        outputs = tuple(engine.step() for engine in self.engines)
        if self.record is not None:
            self._pass_on(outputs)
        check_group([engine for engine in self.engines if isinstance(engine, RunnerEngine)])
        if not any(output.scheduled for output in outputs):
            return GroupStep(outputs, (), 0.0)
        shapes = [
            self.dispatcher.shape([share.num_scheduled_tokens for share in output.scheduled])
            for output in outputs
        ]
        dispatches = tuple(self.dispatcher.agree(shapes))
        return GroupStep(outputs, dispatches, max(map(self.cost.step_ms, dispatches)))

    @property
    def has_work(self) -> bool:
        """Whether some rank has requests, or steps in flight."""
        return any(engine.has_unfinished_requests or engine.in_flight for engine in self.engines)

    def _pass_on(self, outputs: Sequence[SchedulerOutput]) -> None:
        """Complete every decision with what the step knows in hindsight, and pass it on."""
        assert self.record is not None
        for engine, output, records in zip(self.engines, outputs, self._pending, strict=True):
            look_back(engine.config, records, output)
        prefill = group_has_prefill(self._pending)
        for rank, records in enumerate(self._pending):
            complete, records[:] = list(records), []
            for record in complete:
                if isinstance(record, Decision) and record.group_has_prefill is not prefill:
                    record = replace(record, group_has_prefill=prefill)
                self.record(rank, record)
