"""Contracts of the planning functions, in the notation CrossHair reads (``pre:``, ``post:``).

One function per planning function: it builds the arguments from plain numbers, calls it, and the
postconditions say what the call must have done, written differently from the code wherever that
is possible.  ``crosshair check model/contracts.py`` looks for numbers that break one; nothing here
runs in production, and the prover does not rely on it.

    crosshair check --report_all --per_condition_timeout 10 model/contracts.py

The contracts of Mamba alignment are in ``model.contracts_mamba``.
"""

from __future__ import annotations

from dataclasses import replace

from model import output, planning
from model.policies import BREAK, PADDED, RECOMMENDED, UNPADDED  # noqa: F401 (in conditions)
from model.request import Request, RequestStatus
from spec.config import Config


def config_of(
    max_model_len: int = 32,
    num_spec_tokens: int = 3,
    num_sampled_tokens_per_step: int = 1,
    long_prefill_token_threshold: int = 0,
    enable_chunked_prefill: bool = True,
    exempt_only_request: bool = False,
) -> Config:
    return Config(
        max_model_len=max_model_len,
        num_spec_tokens=num_spec_tokens,
        num_sampled_tokens_per_step=num_sampled_tokens_per_step,
        long_prefill_token_threshold=long_prefill_token_threshold,
        enable_chunked_prefill=enable_chunked_prefill,
        exempt_only_request=exempt_only_request,
    )


def request_of(tokens: int, computed: int, placeholders: int = 0, drafts: int = 0) -> Request:
    """A request whose tokens are all prompt; the functions below only read their sum."""
    request = Request("r", tokens, 1)
    request.num_computed_tokens = computed
    request.num_output_placeholders = placeholders
    request.num_spec_tokens = drafts
    return request


def threshold_in_force(threshold: int, exempt: bool, num_unfinished: int) -> int:
    """The threshold is the configured one, or off for an exempt request that is alone.

    pre: threshold >= 0 and num_unfinished >= 1
    post: __return__ == (0 if exempt and num_unfinished == 1 else threshold)
    """
    config = config_of(long_prefill_token_threshold=threshold, exempt_only_request=exempt)
    return planning.threshold_in_force(config, num_unfinished)


def surely_ends_in_flight(
    prompt: int, generated: int, max_tokens: int, in_flight: int, decodes: bool
) -> bool:
    """A decode with a step in flight gets one token more at least: is that the last one?

    ``in_flight`` is H.  C is N - 1 + H for a decode, and H is 0 for anything else.

    pre: prompt >= 1 and generated >= 0 and max_tokens >= 1 and in_flight >= 0
    post: __return__ == (decodes and in_flight > 0 and generated + 1 >= max_tokens)
    """
    request = Request("r", prompt, max_tokens)
    request.num_output_tokens = generated
    request.num_computed_tokens = prompt + generated - 1 + in_flight
    request.num_output_placeholders = in_flight if decodes else 0
    return planning.surely_ends_in_flight(request)


def capped(rows: int, threshold: int) -> int:
    """A threshold of 0 is off; any other is the most there can be.

    pre: threshold >= 0
    post: __return__ in ((rows, threshold) if threshold > 0 else (rows,))
    post: __return__ <= rows
    post: threshold == 0 or __return__ <= threshold
    """
    return planning.capped(rows, threshold)


def decide(
    length: int,
    drafts: int,
    sampled: int,
    rows: int,
    computed: int,
    running: bool,
    prefill: bool,
    threshold: int,
    budget: int,
) -> tuple[str, bool]:
    """Padded exactly if one row is needed, padding helps, and 1 + K rows fit everywhere.

    pre: drafts >= 0 and sampled in (0, 1) and rows >= 1 and computed >= 0 and threshold >= 0
    post: __return__[0] in (PADDED, UNPADDED, BREAK)
    post: __return__[0] != PADDED or __return__[1]
    post: __return__[0] != PADDED or budget > drafts
    post: __return__[0] != BREAK or (rows == 1 and drafts >= budget)
    post: __return__[0] != UNPADDED or not __return__[1]
    """
    config = config_of(length, drafts, sampled)
    decision = RECOMMENDED.decide(config, rows, computed, running, prefill, threshold, budget)
    return decision, _due(length, drafts, sampled, rows, computed, running, prefill, threshold)


def _due(
    length: int,
    drafts: int,
    sampled: int,
    rows: int,
    computed: int,
    running: bool,
    prefill: bool,
    threshold: int,
) -> bool:
    """A decode would leave the graph without it, and its padded rows are legal."""
    decode = (rows == 1) & (sampled == 1) & (drafts > 0) & (running | (computed > 0))
    legal = (computed + drafts + 2 <= length) & ((threshold == 0) | (threshold > drafts))
    return decode & legal & (not prefill)


def waiting_rows(
    length: int,
    drafts: int,
    sampled: int,
    tokens: int,
    computed: int,
    running: bool,
    prefill: bool,
    chunked: bool,
    threshold: int,
    budget: int,
) -> tuple[int, bool, bool]:
    """Padded rows are 1 + K, unpadded ones all that fit; the pass stops only for the budget.

    pre: drafts >= 1 and sampled in (0, 1) and threshold >= 0 and budget >= 1
    pre: 0 <= computed < tokens < length
    post: 0 <= __return__[0] <= budget
    post: __return__[0] > 0 or budget <= drafts or (not chunked and tokens - computed > budget)
    post: not __return__[1] or (__return__[0] == 1 + drafts and __return__[2])
    post: __return__[1] or __return__[0] == 0 or not __return__[2]
    post: __return__[1] or __return__[0] in (0, tokens - computed, threshold, budget)
    """
    config = config_of(length, drafts, sampled, enable_chunked_prefill=chunked)
    request = request_of(tokens, computed)
    rows, padded = planning.waiting_rows(
        config, RECOMMENDED, request, computed, running, prefill, threshold, budget
    )
    needed = tokens - computed
    return (
        rows,
        padded,
        _due(length, drafts, sampled, needed, computed, running, prefill, threshold),
    )


def running_rows(
    length: int,
    sampled: int,
    tokens: int,
    computed: int,
    placeholders: int,
    drafts: int,
    threshold: int,
    budget: int,
    clamps: bool,
) -> tuple[int, int, int]:
    """The least of what is wanted, the threshold, the budget, and the room up to L.

    With the clamp of #50342, 0 where that would be negative.

    pre: sampled in (0, 1) and threshold >= 0 and placeholders >= 0 and drafts >= 0
    post: (clamps and __return__[0] == 0) or __return__[0] <= min(__return__[1:])
    post: (clamps and __return__[0] == 0) or __return__[0] <= budget
    post: threshold == 0 or __return__[0] <= threshold
    post: (clamps and __return__[0] == 0) or __return__[0] in (*__return__[1:], budget, threshold)
    post: not clamps or __return__[0] >= 0
    post: not clamps or __return__[0] > 0 or min(*__return__[1:], budget) <= 0
    """
    config = config_of(length, num_sampled_tokens_per_step=sampled)
    request = request_of(tokens, computed, placeholders, drafts)
    policy = replace(RECOMMENDED, clamps_running=clamps)
    rows = planning.running_rows(config, policy, request, threshold, budget)
    return rows, tokens + placeholders + drafts - computed, length - sampled - computed


def scheduled_drafts(tokens: int, computed: int, placeholders: int, drafts: int, rows: int) -> int:
    """The rows past the last known token verify drafts, one each.

    pre: drafts >= 0 and rows >= 0
    post: 0 <= __return__ <= drafts
    post: __return__ == 0 or computed + rows >= tokens + placeholders + __return__
    post: __return__ == drafts or computed + rows <= tokens + placeholders + __return__
    """
    return planning.scheduled_drafts(request_of(tokens, computed, placeholders, drafts), rows)


def roll_back_rejected(
    sampled: int, computed: int, placeholders: int, drafts: int, generated: int
) -> tuple[int, int]:
    """Rejected drafts leave C and H; a counter at 0 was reset or is not in use, and stays 0.

    pre: sampled in (0, 1) and drafts >= 0 and 0 <= generated <= drafts + sampled
    pre: computed == 0 or computed > drafts
    pre: placeholders == 0 or placeholders >= drafts + sampled
    post: __return__[0] == (computed and computed - _rejected(sampled, drafts, generated))
    post: __return__[1] == (placeholders and placeholders - _rejected(sampled, drafts, generated))
    """
    config = config_of(num_sampled_tokens_per_step=sampled)
    request = request_of(1, computed, placeholders)
    output.roll_back_rejected(config, request, drafts, generated)
    return request.num_computed_tokens, request.num_output_placeholders


def _rejected(sampled: int, drafts: int, generated: int) -> int:
    """All drafts if nothing but the sampled token came back, else those that became no token."""
    return drafts if generated <= sampled else drafts + sampled - generated


def append_tokens(
    length: int,
    prompt: int,
    max_tokens: int,
    before: int,
    generated: int,
    stop_after: int,
    in_flight: int,
    asynchronous: bool,
    stale: bool,
) -> tuple[int, int, int, bool, bool]:
    """No token past L, ``max_tokens`` or a stop; C stays N - 1 + H; a stale output moves only O.

    pre: prompt >= 1 and before >= 0 and before < max_tokens and prompt + before < length
    pre: 1 <= generated and stop_after >= 0 and in_flight >= 0
    pre: asynchronous or in_flight == 0
    post: before < __return__[0] <= min(before + generated, max_tokens, length - prompt)
    post: stop_after == 0 or __return__[0] <= before + stop_after
    post: __return__[3] == (stop_after > 0 and __return__[0] == before + stop_after)
    post: __return__[4] or not (__return__[0] == max_tokens or prompt + __return__[0] == length)
    post: not __return__[4] or __return__[3] or __return__[0] in (max_tokens, length - prompt)
    post: stale or __return__[1:3] == (prompt + __return__[0] - 1 + in_flight, in_flight)
    post: not stale or __return__[1] == prompt + before - 1 + generated + in_flight
    """
    request = Request("r", prompt, max_tokens)
    request.status = RequestStatus.RUNNING
    request.num_output_tokens = before
    request.num_output_placeholders = generated + in_flight if asynchronous else 0
    request.num_computed_tokens = prompt + before - 1 + generated + in_flight
    output.append_tokens(config_of(length), request, generated, stop_after, stale)
    return (
        request.num_output_tokens,
        request.num_computed_tokens,
        request.num_output_placeholders,
        request.status is RequestStatus.FINISHED_STOPPED,
        request.is_finished,
    )


def append_at_limit(length: int, prompt: int, max_tokens: int, before: int) -> tuple[int, bool]:
    """A request at its limit already, which no theorem allows, gets one token and ends.

    pre: prompt >= 1 and max_tokens >= 1 and before >= 0
    pre: before >= max_tokens or prompt + before >= length
    post: __return__ == (before + 1, True)
    """
    request = Request("r", prompt, max_tokens)
    request.status = RequestStatus.RUNNING
    request.num_output_tokens = before
    output.append_tokens(config_of(length), request, 1, 0, False)
    return request.num_output_tokens, request.is_finished


CONTRACTS = (
    threshold_in_force,
    surely_ends_in_flight,
    capped,
    decide,
    waiting_rows,
    running_rows,
    scheduled_drafts,
    roll_back_rejected,
    append_tokens,
    append_at_limit,
)
"""Every contract of this module."""
