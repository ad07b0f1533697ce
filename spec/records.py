"""What an invariant speaks about: a decision, a turn, a step, a booking, a state.

The model and the source front end fill these records from what they did; the fuzzer fills them
with numbers and the prover with symbolic values.  A record says nothing about *how* the scheduler
decided.
"""

from __future__ import annotations

from dataclasses import dataclass

from spec.config import Config

SCHEDULED = "scheduled"
"""The request got rows this step."""
LOADING = "loading"
"""No rows: its KV is being loaded from elsewhere, or the load was started now."""
SKIPPED = "skipped"
"""No rows; the scheduler went on to the next request."""
BLOCKED = "blocked"
"""No rows, and the scheduler stopped looking: nothing behind this request gets rows either."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What one step decided about one request it looked at.  Token counts are as of the decision.

    ``num_computed_tokens`` includes the prefix-cache and connector hits found by this very step.
    """

    config: Config
    request_id: str
    outcome: str
    reason: str
    from_waiting: bool
    num_prompt_tokens: int
    num_tokens: int
    num_computed_tokens: int
    num_output_placeholders: int
    num_spec_tokens: int
    """``len(spec_token_ids)``: drafts waiting to be verified (S), tokens."""
    num_scheduled_tokens: int
    num_draft_tokens: int
    """Drafts attached to this step's rows, placeholders included, tokens."""
    is_prefill: bool
    """The rows compute prompt, or recompute tokens lost to preemption: no uniform shape is due."""
    is_padded: bool
    is_loading: bool
    """The request's KV was still being loaded when the step looked at it."""
    must_wait: bool
    """An honest reason outside the row arithmetic: no KV block, no free sequence slot, output of
    an earlier life still in flight, or nothing left to schedule."""
    budget_left: int
    """Rows this request could get when the step came to it, tokens."""
    budget_untouched: bool
    """No request before it in this step got rows."""
    prefill_scheduled: bool
    """A running prefill got rows in this step on this rank, before this decision."""
    group_has_prefill: bool
    """Some request on some data-parallel rank computes prompt in this step."""
    kv_capacity: int
    """Tokens the request's KV blocks can hold after the decision."""
    prefill_withdrawn: bool = False
    """A prefill that got rows before this request was preempted later in the same step."""
    rows_withdrawn: bool = False
    """Somebody who got rows before this request was: less may have been left than ``budget_left``
    says."""
    waits_alone: bool = False
    """Only this request cannot go on: it needs output that is in flight, or it was preempted under
    priority scheduling.  The requests behind it can."""
    has_slot: bool = True
    """A waiting request finds a free sequence slot."""
    threshold: int = 0
    """The long-prefill threshold in force in this step, tokens; 0 = off."""
    ends_in_flight: bool = False
    """Rows in flight sample at least one token more, and that is the last it may have."""


@dataclass(frozen=True, slots=True)
class Attention:
    """Whether a step looked at one request that had not finished when the step began."""

    config: Config
    request_id: str
    looked_at: bool
    excused: bool
    """The pass stopped before it came to this request, or preempted it on the way."""


@dataclass(frozen=True, slots=True)
class Advance:
    """What one step made of the computed tokens of one request it scheduled."""

    config: Config
    request_id: str
    num_counted_tokens: int
    """Computed when the step came to it, hits found by this very step included, tokens."""
    num_scheduled_tokens: int
    num_computed_tokens: int
    """After the step, before any output is booked, tokens."""


@dataclass(frozen=True, slots=True)
class StepTotals:
    """One rank's step as a whole."""

    config: Config
    num_scheduled_tokens: int
    """Sum of rows over the scheduled requests, tokens."""
    num_scheduled_reqs: int


@dataclass(frozen=True, slots=True)
class Booking:
    """One request's output booked: what the runner returned and what the scheduler made of it."""

    config: Config
    request_id: str
    max_tokens: int
    num_output_tokens: int
    """After the booking, tokens."""
    num_tokens: int
    num_computed_tokens: int
    num_output_placeholders: int
    num_accepted_placeholders: int
    """Placeholder drafts (-1) among the accepted tokens."""
    is_decode: bool
    """The request goes on as a decode (running, its prompt computed, no output stale)."""
    is_finished: bool
    is_length_capped: bool
    """Finished with FINISHED_LENGTH_CAPPED."""
    stopped_early: bool
    """Ended by a stop token or by the client, not by its length."""
    num_emitted_tokens: int
    """Tokens this booking added to the request."""
    must_emit: bool
    """The step sampled for a request that was still alive: at least one token is due."""
    num_returned_tokens: int = -1
    """Tokens the runner returned for a request that was still alive; -1 = not known."""
    num_due_tokens: int = -1
    """Of those, the ones up to its first stop token and within its length; -1 = not known."""
    stop_due: bool = False
    """The last token due is its stop token."""
    is_stopped: bool = False
    """Finished with FINISHED_STOPPED."""


@dataclass(frozen=True, slots=True)
class RequestState:
    """One request between two steps."""

    config: Config
    request_id: str
    num_tokens: int
    num_computed_tokens: int
    num_output_placeholders: int
    is_decode: bool
    num_queues: int
    """How many of waiting, running and finished hold the request."""
    num_blocks: int = 0
    """KV blocks it holds."""
    needs_no_blocks: bool = False
    """It has ended, or waits with nothing computed and nothing loaded."""


@dataclass(frozen=True, slots=True)
class PoolState:
    """The KV block pool of one rank between two steps."""

    config: Config
    num_free_blocks: int
    num_held_blocks: int
    """Sum over all requests, blocks."""
