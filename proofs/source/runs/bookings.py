"""Output is booked, of one request or of two."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from model.request import RequestStatus as ModelStatus
from proofs.source.objects.history import sequence
from proofs.source.objects.requests import Request, RequestStatus
from proofs.source.objects.stubs import Record
from proofs.source.objects.tokens import Token
from proofs.source.runs.due import Due, clauses_of, judged
from proofs.source.runs.goals import (
    Goal,
    as_asked_goals,
    draft_goals,
    flight_goals,
    known_goals,
    settled_goals,
)
from proofs.source.runs.harness import Harness
from proofs.source.runs.keeping import DECIDED, OUTPUT, block_goals, order_goals
from proofs.source.runs.places import enqueue
from proofs.source.runs.resting import resting_goals
from proofs.source.runs.settled import booking, request_state
from proofs.source.runs.shapes import Event
from proofs.symbolic import Veiled
from spec import assumptions as spec_world
from spec.logic import implies, ite, not_

MOST_SAMPLED = 3
"""Tokens one request may get back from one step; the text's own loop appends them one by one."""


@dataclass(slots=True)
class Share:
    """One request's part of the step in flight."""

    request: Request
    rows: Any
    drafts: Any
    samples: Any
    most: int = MOST_SAMPLED
    """Tokens it gets back at most."""
    is_gone: bool = False
    """The client aborted it while the step was in flight."""
    tokens: list[Token] = field(default_factory=list)
    """What the runner returned for it."""

    @property
    def name(self) -> str:
        """The request's id."""
        return self.request.request_id


# -- the states -----------------------------------------------------------------------------------


def one_in_flight(h: Harness) -> list[Share]:
    """A step is in flight for one running request."""
    return [_running(h, "R")]


def stale_in_flight(h: Harness) -> list[Share]:
    """Rows are in flight for a request that was preempted meanwhile."""
    return [_preempted(h, "R")]


def two_in_flight(h: Harness) -> list[Share]:
    """A step of two requests: each goes on or ends, or one was preempted or has been aborted.

    To tell a text that confuses the two, one has drafts in flight and gets more tokens back.
    """
    h.context.assume(h.config.max_num_seqs >= 2)
    one = _lost(h, "Q")
    other = _lost(h, "R", drafts=0) if one is None else None
    shares = [one or _running(h, "Q"), other or _running(h, "R", drafts=0)]
    for share, most in zip(shares, (2, 1), strict=True):
        share.most = most
    return shares


def three_in_flight(h: Harness) -> list[Share]:
    """A step of three requests, each of which gets one token: all of them end with it, or none
    does for its length.  The third is booked as the first is."""
    h.context.assume(h.config.max_num_seqs >= 3)
    shares = [_running(h, name, drafts=0) for name in ("P", "Q", "R")]
    end = bool(h.context.bool("all of them end"))
    for share in shares:
        share.most = 1
        h.context.assume(share.samples)
        h.context.assume(h.config.num_sampled_tokens_per_step == 1)
        left = share.request.max_tokens - share.request.num_output_tokens
        h.context.assume(left == 1 if end else left > 1)
        h.context.assume(share.request.num_tokens + 1 < h.config.max_model_len)
    return shares


def _lost(h: Harness, name: str, drafts: int | None = None) -> Share | None:
    """A request that is no longer running, if it is one."""
    ask = h.context.bool
    if bool(ask(f"{name} was aborted")):
        return _aborted(h, name, bool(ask(f"{name} is forgotten")))
    if h.is_async and bool(ask(f"{name} was preempted")):
        return _preempted(h, name, drafts, anywhere=False)
    return None


def _in_flight(h: Harness, request: Request, drafts: int | None) -> Share:
    """Some rows of a request are in flight, with this many drafts (None: any number)."""
    context, name = h.context, request.request_id
    rows: Any = context.int(f"{name} rows in flight", 1)
    samples = context.bool(f"{name} samples")
    attached: Any = context.int(f"{name} drafts in flight", 0) if drafts is None else drafts
    if not h.is_async:
        request.num_in_flight_tokens = rows
    elif h.tracks_flight:
        h.assume(spec_world.OUTPUT_IN_ORDER, request.num_in_flight_tokens, rows)
    context.assume(implies(attached > 0, samples))
    context.assume(attached <= h.config.num_spec_tokens)
    return Share(request, rows, attached, samples)


def _running(h: Harness, name: str, drafts: int | None = None) -> Share:
    request = h.request(name, RequestStatus.RUNNING)
    h.scheduler.running.append(request)
    share = _in_flight(h, request, drafts)
    pending = _pending(h, share)
    if h.is_async:
        h.suppose(request, request.num_output_placeholders)
        h.assume(spec_world.OUTPUT_IN_ORDER, request.num_output_placeholders, pending)
    else:
        h.suppose(request, pending, mid_step=True)
        h.context.assume(share.samples == not_(request.is_prefill_chunk))
    return share


def _preempted(h: Harness, name: str, drafts: int | None = None, anywhere: bool = True) -> Share:
    request = h.request(name, RequestStatus.WAITING)
    request.status = RequestStatus.PREEMPTED
    h.context.assume(request.num_preemptions >= 1)
    request.is_prefill_chunk = h.context.bool(f"{name} is_prefill_chunk")
    if not h.world.connector:  # nothing is computed, nor loaded, before it is admitted again
        h.context.assume(request.num_computed_tokens == 0)
    h.suppose(request, 0)
    enqueue(h, request, anywhere)
    share = _in_flight(h, request, drafts)
    if h.keeps_placeholders:  # what is in flight is part of it, as it was before
        request.num_output_placeholders = _pending(h, share)
    return share


def _aborted(h: Harness, name: str, is_forgotten: bool) -> Share:
    """A request that ended otherwise; the text may still know it, until its blocks are free."""
    share = _running(h, name, 0)
    request = share.request
    share.is_gone, request.status = True, RequestStatus.FINISHED_ABORTED
    h.scheduler.running.remove(request)
    if is_forgotten:
        del h.scheduler.requests[request.request_id]
    return share


def _pending(h: Harness, share: Share) -> Any:
    """What the rows in flight of a request will sample, drafts included."""
    return ite(share.samples, h.config.num_sampled_tokens_per_step + share.drafts, 0)


# -- the call -------------------------------------------------------------------------------------


def book(h: Harness, shares: Iterable[Share]) -> Any:
    """Call ``update_from_output`` with what the runner returns for these; what that returned."""
    shares = list(shares)
    for share in shares:
        share.tokens = h.world.returned(share.request, _sampled(h, share))
    return update(h, shares)


def _sampled(h: Harness, share: Share) -> int:
    """How many tokens the runner returns, decided now: the text appends them one by one."""
    config, context, most = h.config, h.context, share.most
    generated = context.int(f"{share.name} tokens returned", 0, most)
    legal = spec_world.RUNNER_SAMPLES.condition(config, share.drafts, generated)
    context.assume(implies(share.samples, legal), spec_world.RUNNER_SAMPLES.id)
    context.assume(implies(not_(share.samples), generated == 0))
    for count in range(most):
        if bool(generated == count):
            return count
    return most


def update(h: Harness, shares: Iterable[Share], loaded: Record | None = None) -> Any:
    """Call ``update_from_output`` with these shares, then propose drafts; what the first returned.

    ``loaded``: what the connector says of its loads, if it says anything.
    """
    shares = list(shares)
    in_batch = shares[::-1]  # the runner has an order of its own
    host, total = h.loaded.host, 0
    attached: dict[str, Any] = {}
    for share in shares:
        total = total + share.rows
        if bool(share.drafts > 0):
            attached[share.name] = h.drafts(share.drafts)
    step = _output_record(h)(
        num_scheduled_tokens={share.name: share.rows for share in shares},
        total_num_scheduled_tokens=total,
        scheduled_spec_decode_tokens=attached,
        **{DECIDED: Veiled(int, f"{OUTPUT}.{DECIDED}")},
    )
    output = Record(
        host,
        "ModelRunnerOutput",
        {
            "sampled_token_ids": [list(share.tokens) for share in in_batch],
            "req_id_to_index": {share.name: index for index, share in enumerate(in_batch)},
            "kv_connector_output": loaded,
        },
    )
    moment = h.moment()
    moment.only_books = True
    returned = h.scheduler.update_from_output(step, output)
    for share in shares:
        moment.came_back(share.request, share.tokens)
    if not h.is_async:
        _propose(h, shares)
    return returned


def _propose(h: Harness, shares: Iterable[Share]) -> None:
    """The drafter proposes for all that were in the step, those that have ended included."""
    made: dict[str, list[Any]] = {"req_ids": [], "draft_token_ids": []}
    for share in shares:
        proposed: Any = h.context.int(f"{share.name} drafts proposed", 0)
        h.assume(spec_world.DRAFTS_AT_MOST_K, h.config, proposed)
        made["req_ids"].append(share.name)
        made["draft_token_ids"].append(sequence(proposed))
        h.moments[-1].proposed.append((share.name, proposed))
    h.scheduler.update_draft_token_ids(Record(h.loaded.host, "DraftTokenIds", made))


def _output_record(h: Harness) -> Callable[..., Any]:
    """What makes the text's ``SchedulerOutput``: the class that extends it, or the usual one."""
    made = [c for c in h.loaded.classes.values() if issubclass(c, Record) and c is not Record]
    own = [c for c in made if any(base.__name__ == OUTPUT for base in c.__mro__)]
    if len(own) == 1:
        return own[0]
    return lambda **fields: Record(h.loaded.host, OUTPUT, fields)


# -- what must hold -------------------------------------------------------------------------------


def _claims(h: Harness, shares: list[Share], _: Any) -> list[Due]:
    """Everything about output that has just been booked."""
    return [*(due for share in shares for due in _after(h, share)), *order_goals(h)]


BOOKING = Event(book, _claims, "output")


def _after(h: Harness, share: Share) -> list[Due]:
    """What must hold of one of them then."""
    request = share.request
    records = [booking(h, request, share.samples, share.tokens), request_state(h, request)]
    due: list[Due] = [*judged(records)]
    due += as_asked_goals(h, request) + known_goals(h, request) + block_goals(h, request)
    if not share.is_gone:
        due += flight_goals(h, request, -share.rows) + _settled(h, share)
    if request.status <= RequestStatus.PREEMPTED:
        due.append(clauses_of(h, request, h.in_flight(request)))
        due += draft_goals(h, request) + resting_goals(h, request)
    return due


def _settled(h: Harness, share: Share) -> list[Goal]:
    """Nothing that came back of a preempted request counts: it starts anew."""
    if h.before[share.name].status is not ModelStatus.RUNNING:
        return settled_goals(h, share.request, 0, 0)
    pending = _pending(h, share)
    return settled_goals(h, share.request, pending, pending - len(share.tokens))
