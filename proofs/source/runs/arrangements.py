"""The states a run of the text starts from: who is running, who is waiting, in which order."""

from __future__ import annotations

from collections.abc import Callable

from proofs.source.objects.requests import Request, RequestStatus, length_of
from proofs.source.runs.carried import LOADED
from proofs.source.runs.harness import Harness
from proofs.source.runs.places import enqueue, loads
from spec.logic import implies, ite, not_

Arrangement = Callable[[Harness], None]
"""Builds an arbitrary state of some shape."""


def nobody(h: Harness) -> None:
    """No request: an engine steps once more to tell the runner who has ended."""


def pair(h: Harness, anywhere: bool = True) -> None:
    """At most one running and at most one waiting request."""
    if bool(h.context.bool("a request is running")):
        h.running("R")
    h.waiting("W", anywhere)
    h.others_wait()


def pair_in_one_queue(h: Harness) -> None:
    """``pair``, but who waits stands in the queue of those that nobody has passed over."""
    pair(h, anywhere=False)


def beside_a_decode(h: Harness) -> None:
    """A running request, and another that takes one row behind it."""
    h.running("R")
    other = h.stand_in("S")
    h.context.assume(not_(other.is_prefill_chunk))
    h.context.assume(h.config.max_num_seqs >= 2)


def after_running_pass(h: Harness) -> None:
    """One waiting request, after any running pass.

    What an earlier running pass does to a waiting request is that some request got rows, that one
    of them was a prefill, and that budgets shrank.  A stand-in that takes one row, with arbitrary
    budgets, produces each of these contexts; nothing is claimed about it.
    """
    if bool(h.context.bool("a request is running")):
        h.stand_in("R")
    h.waiting("W")
    h.others_wait()


def one_running(h: Harness) -> None:
    """One running request, any number waiting behind."""
    h.running("R")
    h.others_wait()


def two_running(h: Harness) -> None:
    """Two running requests, either of which may be preempted for the other."""
    h.running("R")
    h.running("S")
    h.context.assume(h.config.max_num_seqs >= 2)


def two_waiting(h: Harness) -> None:
    """Two waiting requests: what the first takes, the second no longer finds.

    Either is arbitrary, so which of them stands apart makes no difference.
    """
    h.waiting("V")
    h.waiting("W", anywhere=False)


def behind_two_new(h: Harness) -> None:
    """A waiting request behind two that are new, of one token, and get it: the third to be looked
    at, whatever else it is."""
    for name in ("U", "V"):
        new = h.request(name, RequestStatus.WAITING)
        h.suppose(new, 0)
        new.num_preemptions = 0
        for nothing in (new.num_output_tokens, new.num_computed_tokens, new.num_in_flight_tokens):
            h.context.assume(nothing == 0)
        h.context.assume(new.num_tokens == 1)
        h.world.never_short.add(new.request_id)
        h.stand_ins.add(new.request_id)
        enqueue(h, new, anywhere=False)
    h.waiting("W", anywhere=False)


def behind_a_holder(h: Harness) -> None:
    """A waiting request that holds KV, all of it loaded, and gets no more blocks, and a new one.

    What either is besides is no matter: all that is asked is which of them comes first.
    """
    holder = h.waiting("V")
    h.context.assume(holder.num_computed_tokens >= 1)
    h.context.assume(loads(holder) and holder.request_id in getattr(h.scheduler, LOADED))
    h.holders.add(holder.request_id)
    h.world.always_short.add(holder.request_id)
    other = h.waiting("W", anywhere=False)
    h.context.assume(other.num_computed_tokens == 0)
    for one in (holder, other):
        h.context.assume(one.num_preemptions == 0)


def two_running_one_waiting(h: Harness) -> None:
    """A waiting request behind two running ones, of which one, both or none may be a prefill.

    The first of them gets rows, all it asks for if it is a decode, and nobody is preempted for it:
    what cuts one request short is what ``pair`` and ``two_running`` are about.
    """
    two_running(h)
    _is_served(h, h.everyone[0])
    h.waiting("W", anywhere=False)


def _is_served(h: Harness, request: Request) -> None:
    """Budgets, length and pool leave rows for a running request, and all of them for a decode."""
    config, threshold = h.config, h.config.long_prefill_token_threshold
    ahead = request.num_computed_tokens - request.num_output_placeholders
    wanted = request.num_tokens + request.num_output_placeholders - request.num_computed_tokens
    rows = ite(request.is_prefill_chunk, 1, wanted + length_of(request.spec_token_ids))
    for most in (
        config.max_num_scheduled_tokens,
        config.max_num_batched_tokens - config.draft_slots,
        config.max_model_len - request.num_computed_tokens - config.num_sampled_tokens_per_step,
        ite(threshold > 0, threshold, rows),
    ):
        h.context.assume(rows <= most)
    h.context.assume(rows >= 1)
    # Async scheduling skips who may end with what is in flight.
    last = request.num_prompt_tokens + request.max_tokens
    h.context.assume(implies(request.num_output_placeholders > 0, ahead + 2 < last))
    h.world.never_short.add(request.request_id)


def behind_a_victim(h: Harness) -> None:
    """The first of three may be preempted for the second: the third finds what it gave back."""
    victim, others = h.stand_in("R"), [h.running("S"), h.running("T")]
    h.world.never_short.add(others[1].request_id)
    h.context.assume(h.config.max_num_seqs >= 3)
    for other in others:
        h.context.assume(victim.priority > other.priority)
