"""What surrounds a body: any knobs, a world that may answer anything, the scheduler watched."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from model.engine import Engine
from model.environment import Sample
from model.request import Request
from model.scheduler import Scheduler
from model.step import Step
from proofs.known_fields import must_know
from proofs.symbolic import Context
from spec import assumptions as world
from spec.config import FLAGS, KNOBS, Config
from spec.logic import all_of, implies, not_

if TYPE_CHECKING:
    from proofs.harness import Harness


class WatchedScheduler(Scheduler):
    """The model's scheduler, but for what the scripts of ``passes`` prove of it.

    Whom it chooses to preempt is arbitrary here, and so is the place a request takes in a queue.
    """

    def __init__(self, harness: Harness, environment: ArbitraryWorld) -> None:
        super().__init__(harness.config, harness.policy, environment, harness.observe)
        self.watched_by = harness
        self.chosen: Request | None = None
        self.index_moved: int = 0
        """How far preemptions moved the running pass, in places."""
        self.enqueued: list[tuple[list[Request], Request]] = []
        """Who was to take its place in which queue; which place that is, ``places`` proves."""

    def lowest_priority(self) -> Request:
        harness = self.watched_by
        if harness.stranger is None and bool(harness.truth("another request is preempted")):
            self.chosen = harness.another(self)
        else:  # all that are less urgent count as one: the pool is arbitrary
            shown = (r for r in list.__iter__(self.running) if isinstance(r, Request))
            (self.chosen,) = [r for r in shown if r is not harness.stranger]
        return self.chosen

    def preempt(self, step: Step, victim: Request) -> None:
        self.watched_by.must_be("progress", the_chosen_is_preempted=victim is self.chosen)
        before = step.index
        super().preempt(step, victim)
        self.index_moved += step.index - before

    def _decided(self, *told: Any, **facts: Any) -> str:
        self.watched_by.refused = facts.get("slots_refused", 0)
        return super()._decided(*told, **facts)

    def _enqueue(self, queue: list[Request], request: Request) -> None:
        self.enqueued.append((queue, request))
        queue.append(request)

    def must_enqueue(self, *requests: Request) -> None:
        """These were asked to take their place in ``waiting``, and nobody else."""
        due = [(self.waiting, request) for request in requests]
        pairs = zip(self.enqueued, due, strict=False)
        same = all(q is queue and r is request for (q, r), (queue, request) in pairs)
        fine = same and len(self.enqueued) == len(due)
        self.watched_by.must_be("progress", whoever_comes_takes_a_place=fine)


class ProvedEngine(Engine):
    """The model's engine around a scheduler whose queues show one request.

    The pool is asked of the harness, which knows what the others hold.
    """

    def __init__(self, harness: Harness, scheduler: WatchedScheduler) -> None:
        told: list[Any] = []
        engine = Engine(harness.config, harness.policy, scheduler.environment, told.append)
        made = engine.scheduler
        must_know(harness.context, engine, made, made.kv_cache_manager)
        vars(self).update(vars(engine))
        parts = made.config, made.policy, made.environment, made.observer
        given = harness.config, harness.policy, scheduler.environment, self.record
        self.as_given = all(part is one for part, one in zip(parts, given, strict=True))
        """Its own scheduler has the knobs, the policy, the world and the recorder it was given."""
        self.scheduler, self.told = scheduler, told
        queues = made.running, made.waiting, made.kv_holding_waiting, made.finished
        plain = [type(queue) is list and not queue for queue in queues]
        pipeline = self.in_flight
        plain.append(type(pipeline) is deque and not pipeline and pipeline.maxlen is None)
        alone = len({id(queue) for queue in queues}) == len(queues)
        self.begins_empty = all_of(alone, *plain, made.num_waiting_for_streaming_input == 0)
        """It was made with nothing to do, each queue a list of its own."""
        self.made_for = self.max_in_flight
        """Steps it was made to keep in flight."""
        others: Any = harness.crowd("steps in flight")
        self.in_flight, self.max_in_flight = others, harness.integer("max_in_flight", 0)

    def _record_pool(self) -> None: ...


class ArbitraryWorld:
    """The environment with every answer free, under the named assumptions.

    Nothing else can be kept in it: the model's code would find it again.
    """

    __slots__ = ("harness",)

    def __init__(self, harness: Harness) -> None:
        self.harness = harness

    def prefix_hit(self, request: Request) -> int:
        self.harness.asked.append(("prefix_hit", request))
        hit: int = self.harness.integer("prefix_hit", 0)
        self.harness.assume(world.HIT_LEAVES_ONE, request.num_tokens, hit)
        self.harness.found = hit
        return hit

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        self.harness.asked.append(("connector_match", request))
        harness = self.harness
        assert num_local_tokens <= request.num_tokens, "more tokens hit than there are"
        matched: int = harness.integer("connector_match", 0)
        load_async: bool = harness.truth("connector_load_is_async")
        within = world.HIT_LEAVES_ONE.condition(request.num_tokens, num_local_tokens + matched)
        harness.context.assume(load_async | within, world.HIT_LEAVES_ONE.id)
        loaded = world.LOAD_WITHIN_REQUEST.condition(request.num_tokens, num_local_tokens, matched)
        harness.context.assume(implies(load_async, loaded), world.LOAD_WITHIN_REQUEST.id)
        harness.found = num_local_tokens + matched
        harness.offers_load = load_async
        return matched, load_async

    def load_finished(self, request: Request) -> bool:
        self.harness.asked.append(("load_finished", request))
        finished: bool = self.harness.truth("load_finished")
        return finished

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        self.harness.asked.append(("sample", request))
        harness, new = self.harness, self.harness.integer
        # No runner could answer this, so an answer must not be supposed.
        assert num_draft_tokens >= 0, "samples for fewer than no drafts"
        generated = new("num_generated_tokens", 0)
        harness.assume(world.RUNNER_SAMPLES, harness.config, num_draft_tokens, generated)
        placeholders = new("num_accepted_placeholders", 0)
        harness.context.assume(implies(not_(padded), placeholders == 0))
        rejected = world.PLACEHOLDERS_REJECTED
        harness.rejections = {rejected.id: rejected.condition(padded, placeholders)}
        answer = Sample(generated, placeholders, new("stop_after", 0))
        harness.sampled.append((answer, request, num_draft_tokens, padded))
        return answer

    def draft(self, request: Request) -> int:
        self.harness.asked.append(("draft", request))
        drafts: int = self.harness.integer("num_proposed_drafts")
        self.harness.assume(world.DRAFTS_AT_MOST_K, self.harness.config, drafts)
        self.harness.proposed.append((drafts, request))
        return drafts


def arbitrary_config(context: Context, async_scheduling: bool) -> Config:
    """Every knob symbolic but the scheduling mode, which is what the table has columns for."""
    knobs: dict[str, Any] = {
        knob.name: context.int(knob.name, knob.low, knob.high) for knob in KNOBS
    }
    flags: dict[str, Any] = {flag: context.bool(flag) for flag in FLAGS}
    # Block alignment is a world of its own, with its own arithmetic: tell the two apart at once.
    flags["mamba_align"] = bool(flags["mamba_align"])
    flags["async_scheduling"] = async_scheduling
    return Config(**knobs, **flags)
