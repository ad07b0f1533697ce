"""Executions until enough steps are compared, or until the first difference, shrunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from proofs.conform.compare import Difference, Execution, difference, knobs, random_execution
from proofs.conform.engine import EngineProcess
from proofs.conform.lockstep import Seen
from proofs.conform.releases import Release
from proofs.conform.shrink import shrink
from spec.config import Config

Progress = Callable[[int], None]
"""Called with the number of steps compared so far."""


@dataclass(slots=True)
class Result:
    """What was compared and, if anything, what differs."""

    num_executions: int = 0
    num_calls: int = 0
    steps: Counter[tuple[str, int]] = field(default_factory=Counter)
    """(mode, K) → steps compared."""
    steps_with: Counter[str] = field(default_factory=Counter)
    """Optional knob → steps compared with it on."""
    met: Counter[str] = field(default_factory=Counter)
    """Situation → how often it occurred."""
    found: tuple[Execution, Difference] | None = None
    """The first difference, shrunk."""

    @property
    def num_steps(self) -> int:
        """Steps compared in all."""
        return sum(self.steps.values())


def compare(
    release: Release, engine: EngineProcess, seed: int, num_steps: int, progress: Progress
) -> Result:
    """Play random executions on both sides.

    Raises:
        EngineDied: the engine's child ended.
    """

    def player(execution: Execution) -> list[Seen]:
        return engine.play(knobs(execution.config), execution.calls)

    result = Result()
    while result.num_steps < num_steps:
        execution = random_execution(release, seed, result.num_executions)
        found = difference(execution, player(execution))
        result.num_executions += 1
        result.num_calls += len(execution.calls)
        config = execution.config
        mode = "async" if config.async_scheduling else "sync"
        result.steps[mode, config.num_spec_tokens] += execution.num_steps
        result.steps_with.update(dict.fromkeys(knobs_on(config), execution.num_steps))
        result.met.update(situations(execution))
        if found is not None:
            result.found = shrink(release, player, execution, found)
            break
        progress(result.num_steps)
    return result


def situations(execution: Execution) -> Counter[str]:
    """What an execution went through: a comparison that never met it says nothing about it."""
    met: Counter[str] = Counter()
    for call, seen in zip(execution.calls, execution.seen, strict=True):
        name, *arguments = call
        met["aborts"] += name == "abort"
        met["exceptions"] += "raised" in seen
        met["preemptions"] += len(seen.get("preempted", ()))
        if name == "schedule":
            answers = arguments[0].values()
            met["prefix hits"] += sum(told.get("hit", 0) > 0 for told in answers)
            matches = [told["match"] for told in answers if "match" in told]
            met["synchronous matches"] += sum(m > 0 and not a for _, m, a in matches)
            met["asynchronous loads"] += sum(m > 0 and bool(a) for _, m, a in matches)
            # Of a request out of the waiting pass, drafts are placeholders.
            drafts = seen.get("drafts", {})
            met["padded requests"] += sum(name in drafts for name in arguments[0])
        elif name == "book":
            met["stop tokens"] += sum(stop > 0 for _, stop in arguments[0].values())
            met["accepted drafts"] += sum(max(n - 1, 0) for n, _ in arguments[0].values())
    met["length caps"] += sum(
        state["status"] == "FINISHED_LENGTH_CAPPED"
        for state in (execution.seen[-1].get("requests", {}).values() if execution.seen else ())
    )
    return +met


def knobs_on(config: Config) -> list[str]:
    """The optional knobs an execution had on."""
    on = {
        "priority scheduling": config.priority_scheduling,
        "long-prefill threshold": config.long_prefill_token_threshold > 0,
        "threshold below 1 + K": 0
        < config.long_prefill_token_threshold
        < 1 + config.num_spec_tokens,
        "chunked prefill off": not config.enable_chunked_prefill,
        "diffusion": config.num_sampled_tokens_per_step == 0,
        "draft slots": config.draft_slots > 0,
        "Mamba alignment": config.mamba_align,
    }
    return [name for name, is_on in on.items() if is_on]
