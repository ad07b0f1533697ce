"""The model's side of one execution: what was called, and what could be seen after each call.

The model runs first and decides, through its environment, what the world answers; the calls and
the answers are then given to the engine's child (``proofs.conform.engine``) as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from model.engine import Engine
from model.environment import Environment, Sample
from model.policies import PaddingPolicy
from model.request import Request
from model.scheduler import Scheduler
from model.step import SchedulerOutput
from proofs.scenario import AnswersExhausted
from spec.config import Config

Call = list[Any]
"""``["add" | "abort" | "schedule" | "book", arguments...]``, as the child takes it."""
Seen = dict[str, Any]
"""What could be seen after one call."""

COUNTERS = (
    "num_output_tokens",
    "num_computed_tokens",
    "num_output_placeholders",
    "num_in_flight_tokens",
    "num_stale_output_tokens",
    "is_prefill_chunk",
    "num_preemptions",
    "num_spec_tokens",
)


class ToldWorld:
    """Passes on another world's answers and keeps them, by request, for the call being made."""

    def __init__(self, world: Environment) -> None:
        self.world = world
        self.answers: dict[str, dict[str, Any]] = {}
        self.samples: dict[str, list[int]] = {}
        self.drafts: dict[str, int] = {}

    def prefix_hit(self, request: Request) -> int:
        hit = self.world.prefix_hit(request)
        self._told(request)["hit"] = hit
        return hit

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        matched, load_async = self.world.connector_match(request, num_local_tokens)
        self._told(request)["match"] = [num_local_tokens, matched, load_async]
        return matched, load_async

    def load_finished(self, request: Request) -> bool:
        finished = self.world.load_finished(request)
        self._told(request)["loaded"] = finished
        return finished

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        sample = self.world.sample(request, num_draft_tokens, padded)
        self.samples[request.request_id] = [sample.num_generated_tokens, sample.stop_after]
        return sample

    def draft(self, request: Request) -> int:
        drafts = self.world.draft(request)
        self.drafts[request.request_id] = drafts
        return drafts

    def _told(self, request: Request) -> dict[str, Any]:
        return self.answers.setdefault(request.request_id, {})


class ModelSide(Engine):
    """One rank of the model; every call is kept together with what could be seen after it.

    Args:
        config: the knobs.
        policy: the padding guard.
        world: answers everything the scheduler does not decide.
        scheduler: the model of the release's queue order.
    """

    def __init__(
        self,
        config: Config,
        policy: PaddingPolicy,
        world: Environment,
        scheduler: type[Scheduler] = Scheduler,
    ) -> None:
        self.told = ToldWorld(world)
        super().__init__(config, policy, self.told)
        self.scheduler = scheduler(config, policy, self.told)
        self.scheduler.schedule = self._schedule(self.scheduler.schedule)  # type: ignore[method-assign]
        self.requests: dict[str, Request] = {}
        self.calls: list[Call] = []
        self.seen: list[Seen] = []
        self.num_steps = 0
        self._booking = False

    @property
    def over(self) -> bool:
        """An exception, or rows no runner executes: there is no further step."""
        last = self.seen[-1] if self.seen else {}
        return "raised" in last or any(rows < 1 for _, rows in last.get("rows", ()))

    def add_request(self, request: Request) -> None:
        self.requests[request.request_id] = request
        super().add_request(request)
        self._keep(
            "add",
            request.request_id,
            request.num_prompt_tokens,
            request.max_tokens,
            request.priority,
            request.arrival_time,
        )

    def abort(self, request: Request) -> None:
        if not request.is_finished:
            super().abort(request)
            self._keep("abort", request.request_id)

    def advance(self) -> None:
        """One step; an exception ends the execution and is an observation."""
        self.num_steps += 1
        try:
            self.step()
        except (AnswersExhausted, _Over):
            return
        except Exception as error:
            told = self.told
            if self._booking:
                self._call("book", told.samples, told.drafts)
            else:
                self._call("schedule", told.answers)
            self.seen.append({"raised": type(error).__name__, "why": str(error)})

    def book(self, output: SchedulerOutput) -> None:
        self._booking = True
        super().book(output)
        self._keep("book", self.told.samples, self.told.drafts)

    def _schedule(self, schedule: Callable[[], SchedulerOutput]) -> Callable[[], SchedulerOutput]:
        def watched() -> SchedulerOutput:
            self._booking = False
            output = schedule()
            self._keep("schedule", self.told.answers)
            self.seen[-1] |= {
                "rows": [[s.request.request_id, s.num_scheduled_tokens] for s in output.scheduled],
                "drafts": {
                    s.request.request_id: s.num_draft_tokens
                    for s in output.scheduled
                    if s.num_draft_tokens
                },
                "preempted": sorted(request.request_id for request in output.preempted_reqs),
                "unused": [],
            }
            if self.over:
                raise _Over
            return output

        return watched

    def _keep(self, *call: Any) -> None:
        self._call(*call)
        self.seen.append(self._look())

    def _call(self, *call: Any) -> None:
        self.calls.append(list(call))
        self.told.answers, self.told.samples, self.told.drafts = {}, {}, {}

    def _look(self) -> Seen:
        scheduler = self.scheduler
        return {
            "running": _names(scheduler.running),
            "waiting": _names(scheduler.waiting),
            "held": _names(scheduler.kv_holding_waiting),
            "free_blocks": scheduler.kv_cache_manager.num_free_blocks,
            "requests": {name: _state(request) for name, request in self.requests.items()},
        }


class _Over(Exception):
    """Leaves a step that no runner executes."""


def _names(queue: list[Request]) -> list[str]:
    return [request.request_id for request in queue]


def _state(request: Request) -> dict[str, Any]:
    """One request's counters; of a finished one only how it ended."""
    status = {"status": request.status.name}
    if request.is_finished:
        return status | {"num_output_tokens": request.num_output_tokens}
    return status | {name: getattr(request, name) for name in COUNTERS}
