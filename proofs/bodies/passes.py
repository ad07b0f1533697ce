"""The loops around the bodies: every order of outcomes that three requests can have.

The other bodies are proved for an arbitrary request in an arbitrary step.  That a pass applies them
to every request, in order, until one of them ends the pass, is shown here on the model's own loops
and queues: the decisions are read from a script, and all scripts are played.  A loop treats its
third turn as its second, so three requests show what any number would.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import permutations, product
from typing import Any

from model.environment import Quiet
from model.policies import RECOMMENDED
from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from model.step import Step
from proofs.harness import Goal, Harness
from spec.config import Config
from spec.records import BLOCKED, LOADING, SCHEDULED, SKIPPED, Attention

PREEMPTS = "preempts"
"""The pool is short for this request: one victim loses its blocks, then the request gets rows."""
PREFILLS = "prefills"
"""The request computes prompt, with all that the budget holds but one row."""
RUNNING_TURNS = (SCHEDULED, PREFILLS, SKIPPED, BLOCKED, PREEMPTS)
WAITING_TURNS = (SCHEDULED, SKIPPED, BLOCKED, LOADING)
NUM_REQUESTS = 3
OTHERWISE: dict[str, Any] = {
    "async_scheduling": False,
    "mamba_align": True,
    "enable_chunked_prefill": False,
    "exempt_only_request": True,
    "draft_slots": 1,
    "num_spec_tokens": 0,
    "num_sampled_tokens_per_step": 0,
    "long_prefill_token_threshold": 2,
}
"""Knob → a value other than its default."""
OTHER_SIZES: dict[str, Any] = {
    "max_model_len": 48,
    "max_num_scheduled_tokens": 40,
    "max_num_batched_tokens": 80,
    "max_num_seqs": 8,
    "block_size": 4,
    "num_gpu_blocks": 48,
}
"""The sizes, all at once: a loop has no business with them."""
CROWD = 300
"""A pass of this many requests is played too, for loops that count."""
LATE = 1000
"""The most urgent request arrives last: priority comes before arrival."""

SERVES = {
    "every running request has its turn": "progress",
    "every waiting request has its turn": "progress",
    "turns in queue order": "progress",
    "nobody overtakes who stops the pass": "progress",
    "queues in order of arrival or urgency": "progress",
    "the last or the least urgent is preempted": "progress",
    "only priority scheduling withdraws rows": "uniform-decode",
    "no admission after a preemption": "within-budget",
    "the counters advance once per scheduled request": "placeholder-accounting",
    "each request in one queue": "request-conservation",
}
"""What the other bodies rest on → the catalogue id at stake when a loop breaks it."""
TURNS = {"every running request has its turn", "every waiting request has its turn"}


def passes(h: Harness) -> None:
    """One goal per entry of ``SERVES``: it holds under every script."""
    if h.config.mamba_align:  # the scripts bring their own configurations: one path plays them
        return
    broken = {name for name, holds in _all_scripts() if not holds}
    h.goals += [Goal(served, name, name not in broken) for name, served in SERVES.items()]
    h.observe(Attention(h.config, "any", broken.isdisjoint(TURNS), excused=False))


def _all_scripts() -> Iterator[tuple[str, bool]]:
    for config in _configs():
        yield from _arrivals(_Scripted(config, ()) for _ in permutations(range(NUM_REQUESTS)))
        for order in permutations(range(NUM_REQUESTS)):
            for turns in product(RUNNING_TURNS, repeat=NUM_REQUESTS):
                yield from _running_pass(_Scripted(config, turns), order)
        for turns in product(WAITING_TURNS, repeat=NUM_REQUESTS):
            for num_holding in range(NUM_REQUESTS + 1):
                yield from _waiting_pass(_Scripted(config, turns), num_holding)
    for everyone in ([SCHEDULED] * CROWD, [SKIPPED] * CROWD):
        yield from _running_pass(_Scripted(Config(), everyone), range(CROWD))
        yield from _waiting_pass(_Scripted(Config(), everyone), 0, CROWD)


def _configs() -> Iterator[Config]:
    """Both orders of service, with each knob once at another value."""
    for priority in (False, True):
        one_by_one = ({name: value} for name, value in OTHERWISE.items())
        for other in ({}, OTHER_SIZES, *one_by_one):
            yield Config.checked(priority_scheduling=priority, **other)


class _Scripted(Scheduler):
    """The model's scheduler with its decisions read from a script; it keeps a diary."""

    def __init__(self, config: Config, turns: Sequence[str]) -> None:
        super().__init__(config, RECOMMENDED, Quiet())
        self.turns = iter(turns)
        self.outcomes: dict[Request, str] = {}
        """Request → outcome, in the order they had their turns."""
        self.second_turns = 0
        self.victims: list[Request] = []
        self.fair = True
        """Every victim was the last admitted; under priority scheduling, the least urgent."""
        self.withdrew = False
        """A victim had had its turn already."""
        self.advanced: list[Request] = []

    def try_running(self, step: Step, request: Request) -> str:
        outcome, rows = next(self.turns, SKIPPED), 1
        if outcome is PREFILLS:
            outcome, rows = SCHEDULED, max(step.token_budget - 1, 1)
            step.prefill_scheduled = True
        if outcome is PREEMPTS:
            outcome = SCHEDULED
            victim = self.lowest_priority()
            by_urgency = sorted(self.running, key=_urgency)
            last = (by_urgency if self.config.priority_scheduling else self.running)[-1]
            self.fair = self.fair and victim is last
            self.withdrew = self.withdrew or victim in self.outcomes
            self.victims.append(victim)
            self.preempt(step, victim)
            if victim is request:
                outcome = SKIPPED if self.config.priority_scheduling else BLOCKED
        if outcome is SCHEDULED:
            step.running_scheduled = True
        return self._turn(step, request, outcome, rows)

    def try_waiting(self, step: Step, request: Request) -> str:
        return self._turn(step, request, next(self.turns, SKIPPED))

    def _turn(self, step: Step, request: Request, outcome: str, rows: int = 1) -> str:
        self.second_turns += request in self.outcomes
        self.outcomes[request] = outcome
        if outcome is SCHEDULED:
            step.commit(self.config, request, rows, 0)
        return outcome

    def update_after_schedule(self, step: Step, request: Request, rows: int) -> None:
        self.advanced.append(request)


def _arrivals(schedulers: Iterable[_Scripted]) -> Iterator[tuple[str, bool]]:
    """Requests enter in every order of urgency."""
    for scheduler, order in zip(schedulers, permutations(range(NUM_REQUESTS)), strict=True):
        requests = _requests(order)
        for request in requests:
            scheduler.add_request(request)
        by_urgency = scheduler.config.priority_scheduling
        expected = sorted(requests, key=_urgency) if by_urgency else requests
        yield "queues in order of arrival or urgency", scheduler.waiting == expected


def _requests(ranks: Iterable[int]) -> list[Request]:
    """Requests by rank, the most urgent first: by priority, and by arrival where that is equal.

    The most urgent arrives last, and the longer prompts are the more urgent ones.  In turn they are
    fresh or in the middle of its prompt, resumed, and decoding with drafts and rows in flight.
    """
    requests = [
        Request(
            f"r{rank}",
            num_prompt_tokens=LATE - rank,
            max_tokens=4 + rank % 2,
            priority=(rank + 1) // 2,
            arrival_time=LATE + rank if rank < 1 else rank,
        )
        for rank in ranks
    ]
    for request, rank in zip(requests, ranks, strict=True):
        if rank % 3:
            request.num_output_tokens, request.num_in_flight_tokens = 2, 1
        if rank % 3 == 1:
            request.num_preemptions = request.num_stale_output_tokens = 1
            request.status = RequestStatus.PREEMPTED
        if rank % 3 == 2:
            request.num_computed_tokens, request.num_spec_tokens = request.num_tokens - 1, 1
            request.num_output_placeholders = 1
            request.num_blocks = 2
    return requests


def _urgency(request: Request) -> tuple[int, int]:
    """Who comes first under priority scheduling, as the engine's documentation has it."""
    return request.priority, request.arrival_time


def _running_pass(scheduler: _Scripted, order: Sequence[int]) -> Iterator[tuple[str, bool]]:
    """Three running requests; two wait, of which one is more and one less urgent than they."""
    requests, behind = _requests(order), _requests([-1, len(order)])
    for request in requests:
        request.status = RequestStatus.RUNNING
        request.is_prefill_chunk = request.num_computed_tokens == 0
    scheduler.num_waiting_for_streaming_input = 1
    scheduler.running, scheduler.waiting = list(requests), list(behind)
    output = scheduler.schedule()
    outcomes, victims = scheduler.outcomes, scheduler.victims
    turns = [r for r in outcomes if r not in behind]
    stopped = BLOCKED in [outcomes[r] for r in turns]
    missed = [r for r in requests if r not in outcomes and r not in victims]
    yield "every running request has its turn", stopped or not missed
    yield "turns in queue order", _is_in_order(turns, requests) and scheduler.second_turns == 0
    yield (
        "nobody overtakes who stops the pass",
        _nobody_follows([outcomes[r] for r in turns]),
    )
    yield "the last or the least urgent is preempted", scheduler.fair
    fcfs = not scheduler.config.priority_scheduling
    left = [r for r in behind if outcomes.get(r) not in (SCHEDULED, LOADING)]
    expected = [*reversed(victims), *left] if fcfs else sorted([*victims, *left], key=_urgency)
    yield "queues in order of arrival or urgency", scheduler.waiting == expected
    yield "only priority scheduling withdraws rows", not (fcfs and scheduler.withdrew)
    seen = [outcomes[request] for request in behind if request in outcomes]
    waited = len(seen) == len(behind) or BLOCKED in seen
    yield "every waiting request has its turn", bool(victims) or waited
    yield "no admission after a preemption", not (victims and len(turns) < len(outcomes))
    scheduled = {r for r, outcome in outcomes.items() if outcome is SCHEDULED} - set(victims)
    given = [share.request for share in output.scheduled]
    yield (
        "the counters advance once per scheduled request",
        scheduler.advanced == given and set(given) == scheduled,
    )
    yield "each request in one queue", _is_kept(scheduler, [*requests, *behind])


def _waiting_pass(
    scheduler: _Scripted, num_holding: int, number: int = NUM_REQUESTS
) -> Iterator[tuple[str, bool]]:
    """Waiting requests, the first few of which hold KV blocks."""
    requests = _requests(range(number))
    scheduler.num_waiting_for_streaming_input = 1
    for request in requests[:num_holding]:
        request.status = RequestStatus.WAITING_FOR_REMOTE_KVS
    scheduler.kv_holding_waiting = requests[:num_holding]
    scheduler.waiting = requests[num_holding:]
    scheduler.schedule()
    outcomes = scheduler.outcomes
    stopped = BLOCKED in outcomes.values()
    turns = list(outcomes)
    yield "every waiting request has its turn", stopped or turns == requests
    yield "turns in queue order", _is_in_order(turns, requests) and scheduler.second_turns == 0
    yield "nobody overtakes who stops the pass", _nobody_follows(list(outcomes.values()))
    admitted = [r for r, outcome in outcomes.items() if outcome is SCHEDULED]
    holding = [r for r in requests[:num_holding] if r not in admitted]
    holding += [r for r in requests[num_holding:] if outcomes.get(r) is LOADING]
    yield (
        "each request in one queue",
        _is_kept(scheduler, requests)
        and scheduler.running == admitted
        and scheduler.kv_holding_waiting == holding,
    )


def _is_in_order(some: Sequence[Request], everyone: Sequence[Request]) -> bool:
    return list(some) == [request for request in everyone if request in some]


def _nobody_follows(outcomes: Sequence[str]) -> bool:
    return BLOCKED not in outcomes[:-1]


def _is_kept(scheduler: Scheduler, requests: Collection[Request]) -> bool:
    queued = [*scheduler.running, *scheduler.kv_holding_waiting, *scheduler.waiting]
    return len(queued) == len(requests) and set(queued) == set(requests)
