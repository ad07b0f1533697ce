"""A real execution of the text: requests enter through ``add_request``, steps follow each other.

Nothing is supposed about a state here.  The scheduler starts empty; what the client, the cache,
the runner and the drafter answer is free under the named assumptions of the spec.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Any

from proofs.source.objects.history import sequence
from proofs.source.objects.requests import Request, RequestStatus
from proofs.source.objects.stubs import Record
from proofs.source.runs.aborts import ABORT, Abort
from proofs.source.runs.bookings import MOST_SAMPLED
from proofs.source.runs.carried import make_arbitrary
from proofs.source.runs.due import Due, goals_of, judged
from proofs.source.runs.goals import known_goals, output_goals, victim_goals
from proofs.source.runs.harness import Harness
from proofs.source.runs.keeping import block_goals, demand_goals, order_goals
from proofs.source.runs.loads import load_goals
from proofs.source.runs.observe import Step
from proofs.source.runs.resting import resting_goals
from proofs.source.runs.settled import booking, request_state
from proofs.source.runs.shapes import Scenario
from proofs.source.runs.state import Moment
from proofs.symbolic.counts import start_counting
from spec import assumptions as spec_world
from spec.logic import not_
from spec.records import SCHEDULED

LONGEST_OUTPUT = 64
"""Bound on ``max_tokens`` in a search, tokens."""


class End(Enum):
    """What is judged of an execution."""

    STEP = "its last step"
    BOOKING = "that, and the booking of its output"
    ABORT = "an abort after it"


def life(steps: int, requests: int, wanted: Collection[str], end: End) -> Scenario:
    """The scenario of a whole execution; only its end is judged.

    Args:
        wanted: ids of the invariants to judge.
    """

    def play(h: Harness) -> list[Due]:
        goals = goals_of(_Life(h, requests, end).play(steps))
        return [goal for goal in goals if goal.invariant in wanted]

    return play


@dataclass(slots=True)
class _Share:
    """One request's part of a step in flight."""

    request: Request
    rows: Any
    drafts: Any
    samples: bool


class _Life:
    def __init__(self, h: Harness, requests: int, end: End) -> None:
        self.h, self.end = h, end
        start_counting(False)  # what is found is run again; a small world has plain numbers
        self.pending = [chr(ord("A") + index) for index in range(requests)]
        self.in_flight: deque[tuple[Any, list[_Share]]] = deque()

    def play(self, steps: int) -> list[Due]:
        """All steps; what must hold in the last."""
        due: list[Due] = []
        for number in range(steps):
            due = self._step(number, number == steps - 1)
        return self._abort(steps) if self.end is End.ABORT else due

    def _abort(self, number: int) -> list[Due]:
        """Whoever is still to enter does, and a client goes away; what must hold then."""
        h, before = self.h, Moment()
        self._arrivals(number, True, before)
        h.everyone[:] = [r for r in h.everyone if r.request_id in h.scheduler.requests]
        h.snapshot()
        h.world.next_step()
        h.world.given_back.clear()
        for request in h.everyone:
            if bool(h.context.bool(f"{request.request_id} is aborted")):
                abort = Abort([request.request_id], (request,))
                returned = ABORT.call(h, abort)
                h.moments[-1].arrived = before.arrived
                return ABORT.claims(h, abort, returned)
        return []

    def _step(self, number: int, last: bool) -> list[Due]:
        h = self.h
        h.world.next_step()
        moment = h.moment()
        self._arrivals(number, last and self.end is not End.ABORT, moment)
        h.snapshot()
        output = h.schedule()
        seen = Step(h, output)
        decisions = seen.decisions()
        h.record(seen, decisions)
        due: list[Due] = []
        if last:
            due += judged([*decisions, seen.totals()])
            due += output_goals(h, output, seen.rows) + victim_goals(h) + order_goals(h)
            for request in h.everyone:
                due += known_goals(h, request) + load_goals(h, request)
                due += resting_goals(h, request)
                due += block_goals(h, request, request.request_id in seen.rows)
                due += demand_goals(h, request)
            if h.is_async:
                due += judged(seen.states())
            if self.end is End.STEP:
                return due
        for decision in decisions:
            if decision.outcome == SCHEDULED:
                alive = spec_world.CRASH_IS_THE_END
                h.assume(alive, decision.num_scheduled_tokens)
        shares = [
            _Share(r, seen.rows[r.request_id], seen.draft_count(r), _samples(r))
            for r in h.everyone
            if r.request_id in seen.rows
        ]
        if shares:
            self.in_flight.append((output, shares))
        if len(self.in_flight) > (1 if h.is_async and shares else 0):
            due += self._book(*self.in_flight.popleft(), moment)
        return due

    def _arrivals(self, number: int, last: bool, moment: Moment) -> None:
        """Requests enter in order, now or later; all have entered when it is over."""
        h = self.h
        while self.pending:
            name = self.pending[0]
            if not last and not bool(h.context.bool(f"{name} enters at {number}")):
                break
            self.pending.pop(0)
            prompt: Any = h.context.int(f"{name} num_prompt_tokens", 1)
            most: Any = h.context.int(f"{name} max_tokens", 1, LONGEST_OUTPUT)
            h.assume(spec_world.PROMPT_FITS, h.config, prompt)
            request = Request(h.loaded.host, name, prompt, most)
            make_arbitrary(h.world, request, arrives=True)
            request.arrival_time = len(h.everyone)
            if h.features.priority:
                request.priority = h.context.int(f"{name} priority", 0, 1)
            h.everyone.append(request)
            h.scheduler.add_request(request)
            moment.arrived.append((name, prompt, most, request.priority))
        if h.features.connector:
            for request in h.everyone:
                if request.status is RequestStatus.WAITING_FOR_REMOTE_KVS:
                    name = request.request_id
                    if bool(h.context.bool(f"{name} KV load is done at {number}")):
                        h.scheduler.finished_recving_kv_req_ids.add(name)
                        moment.loaded.append(name)

    # -- output --------------------------------------------------------------------------------

    def _book(self, output: Any, shares: list[_Share], moment: Moment) -> list[Due]:
        """The output of one step comes back."""
        h = self.h
        h.snapshot()
        tokens = [h.world.returned(share.request, self._sampled(share)) for share in shares]
        names = [share.request.request_id for share in shares]
        answer = {
            "sampled_token_ids": [list(came) for came in tokens],
            "req_id_to_index": {name: index for index, name in enumerate(names)},
        }
        host = h.loaded.host
        h.scheduler.update_from_output(output, Record(host, "ModelRunnerOutput", answer))
        due: list[Due] = []
        for share, came in zip(shares, tokens, strict=True):
            request = share.request
            moment.came_back(request, came)
            if not h.is_async and request.status is RequestStatus.RUNNING:
                self._propose(request, moment)
            made = booking(h, request, share.samples, came)
            due += judged([made, request_state(h, request)])
            due += known_goals(h, request) + block_goals(h, request)
        return due + order_goals(h)

    def _sampled(self, share: _Share) -> int:
        if not share.samples:
            return 0
        h = self.h
        question = h.world.name(f"tokens for {share.request.request_id}")
        generated: Any = h.context.int(question, 0, MOST_SAMPLED)
        h.assume(spec_world.RUNNER_SAMPLES, h.config, share.drafts, generated)
        for count in range(MOST_SAMPLED):
            if bool(generated == count):
                return count
        return MOST_SAMPLED

    def _propose(self, request: Request, moment: Moment) -> None:
        h, name = self.h, request.request_id
        proposed: Any = h.context.int(h.world.name(f"drafts for {name}"), 0)
        h.assume(spec_world.DRAFTS_AT_MOST_K, h.config, proposed)
        made = {"req_ids": [name], "draft_token_ids": [sequence(proposed)]}
        h.scheduler.update_draft_token_ids(Record(h.loaded.host, "DraftTokenIds", made))
        moment.proposed.append((name, proposed))


def _samples(request: Request) -> bool:
    """Whether the rows just scheduled sample: they reach the end of the tokens there are."""
    return bool(not_(request.is_prefill_chunk))
