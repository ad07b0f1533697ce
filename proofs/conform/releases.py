"""Which model stands for which release: the padding policy, the knobs it has, the queue order.

The loop bodies are the same text for every release; what differs between releases and is not the
padding guard is listed here, with the release that changed it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from model.policies import POLICIES, PaddingPolicy
from model.request import Request, RequestStatus
from model.scheduler import Scheduler, urgency
from model.step import Step
from proofs.errors import UsageError
from spec.records import BLOCKED, LOADING, SCHEDULED, SKIPPED


class SelfPreemptionStops(Scheduler):
    """Up to 0.32 a request that preempts itself ends the running pass, also under priority."""

    def try_running(self, step: Step, request: Request) -> str:
        outcome = super().try_running(step, request)
        return BLOCKED if request.status is RequestStatus.PREEMPTED else outcome


class SkippedFirst(SelfPreemptionStops):
    """The waiting pass up to 0.30: a request passed over waits in a queue of its own.

    ``kv_holding_waiting`` stands for ``skipped_waiting``: requests that were passed over, whether
    they hold KV blocks or not.  They go first; under priority scheduling the more urgent of the
    two heads goes first.
    """

    def schedule_waiting(self, step: Step) -> None:
        skipped = self.kv_holding_waiting
        candidates = [*skipped, *self.waiting]
        if self.config.priority_scheduling:
            candidates.sort(key=urgency)
        for request in candidates:
            outcome = self.try_waiting(step, request)
            if outcome is BLOCKED:
                return
            if outcome is SCHEDULED:
                self._holder(request).remove(request)
                self.running.append(request)
            elif outcome in (SKIPPED, LOADING) and request in self.waiting:
                self.waiting.remove(request)
                self._enqueue(skipped, request)

    def _holder(self, request: Request) -> list[Request]:
        return self.waiting if request in self.waiting else self.kv_holding_waiting


@dataclass(frozen=True, slots=True)
class Release:
    """One minor release and the model that stands for it."""

    minor: int
    """0.``minor``"""
    policy: PaddingPolicy
    scheduler: type[Scheduler]
    has_draft_slots: bool
    """An input budget and slots for the drafter (0.28)."""
    exempts_only_request: bool
    """The long-prefill threshold spares a request that is alone (0.31, #57951)."""
    has_mamba_split: bool = True
    """The Mamba alignment is the model's: the last cacheable boundary lies before N (0.32)."""
    has_stale_output: bool = True
    """Output in flight of a preempted request is told apart (0.27)."""


def _release(minor: int, policy: str) -> Release:
    return Release(
        minor,
        POLICIES[policy],
        Scheduler if minor >= 33 else SelfPreemptionStops if minor >= 31 else SkippedFirst,
        has_draft_slots=minor >= 28,
        exempts_only_request=minor >= 31,
        has_mamba_split=minor >= 32,
        has_stale_output=minor >= 27,
    )


RELEASES: dict[int, Release] = {
    25: _release(25, "45237"),
    26: _release(26, "47464"),
    27: _release(27, "47464"),
    # The guard of #47464 and, from elsewhere, #50342's clamp: _reserve_prefill_lookahead ends in
    # max(num_new_tokens, 0).
    28: _release(28, "50342"),
    29: _release(29, "53962"),
    30: _release(30, "55126"),
    31: _release(31, "55126"),
    32: _release(32, "55126"),
    33: _release(33, "55126"),
}


def release_of(version: str) -> Release:
    """The release a version such as ``0.32.0`` belongs to.

    Raises:
        UsageError: not a version, or one nothing is known about.
    """
    known = f"0.{min(RELEASES)}.0 to 0.{max(RELEASES)}.x"
    match = re.fullmatch(r"0\.(\d{1,4})\.\d{1,4}", version)
    if match is None or int(match[1]) not in RELEASES:
        raise UsageError(f"--vllm {version} is illegal; legal: {known}")
    return RELEASES[int(match[1])]
