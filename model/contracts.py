"""Contracts of the planning functions, in the notation CrossHair reads (``pre:``, ``post:``).

One function per planning function: it builds the arguments from plain numbers, calls it, and the
postconditions say what the call must have done, written differently from the code wherever that
is possible.  ``crosshair check model/contracts.py`` looks for numbers that break one; nothing here
runs in production, and the prover does not rely on it.

    crosshair check --report_all --per_condition_timeout 10 model/contracts.py
"""

from __future__ import annotations

from model import output, planning
from model.policies import BREAK, PADDED, RECOMMENDED, UNPADDED  # noqa: F401 (in conditions)
from model.request import Request, RequestStatus
from spec.config import Config


def _config(
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


def _request(tokens: int, computed: int, placeholders: int = 0, drafts: int = 0) -> Request:
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
    config = _config(long_prefill_token_threshold=threshold, exempt_only_request=exempt)
    return planning.threshold_in_force(config, num_unfinished)


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
    config = _config(length, drafts, sampled)
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
    post: 0 <= __return__[0] <= budget and (__return__[0] > 0 or budget <= drafts or not chunked)
    post: not __return__[1] or (__return__[0] == 1 + drafts and __return__[2])
    post: __return__[1] or __return__[0] == 0 or not __return__[2]
    post: __return__[1] or __return__[0] in (0, tokens - computed, threshold, budget)
    """
    config = _config(length, drafts, sampled, enable_chunked_prefill=chunked)
    request = _request(tokens, computed)
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
) -> tuple[int, int, int]:
    """The least of what is wanted, the threshold, the budget, and the room up to L.

    pre: sampled in (0, 1) and threshold >= 0 and placeholders >= 0 and drafts >= 0
    post: __return__[0] <= __return__[1] and __return__[0] <= __return__[2]
    post: __return__[0] <= budget and (threshold == 0 or __return__[0] <= threshold)
    post: __return__[0] in (__return__[1], __return__[2], budget, threshold)
    """
    config = _config(length, num_sampled_tokens_per_step=sampled)
    request = _request(tokens, computed, placeholders, drafts)
    rows = planning.running_rows(config, RECOMMENDED, request, threshold, budget)
    return rows, tokens + placeholders + drafts - computed, length - sampled - computed


def mamba_aligned_rows(block: int, prompt: int, generated: int, start: int, rows: int) -> int:
    """Never more rows; decodes are left alone; a chunk cut short ends on a block boundary.

    pre: block >= 1 and prompt >= 1 and generated >= 0 and rows >= 1
    pre: 0 <= start < prompt + generated
    post: 0 <= __return__ <= rows
    post: start < prompt or start < prompt + generated - 1 or __return__ == rows
    post: __return__ in (0, rows) or (start + __return__) % block == 0
    post: __return__ > 0 or start + rows < prompt or start + rows < prompt + generated - 1
    """
    config = Config(block_size=block)
    request = _request(prompt, start)
    request.num_output_tokens = generated
    return planning.mamba_aligned_rows(config, request, start, rows)


def scheduled_drafts(tokens: int, computed: int, placeholders: int, drafts: int, rows: int) -> int:
    """The rows past the last known token verify drafts, one each.

    pre: drafts >= 0 and rows >= 0
    post: 0 <= __return__ <= drafts
    post: __return__ == 0 or computed + rows >= tokens + placeholders + __return__
    post: __return__ == drafts or computed + rows <= tokens + placeholders + __return__
    """
    return planning.scheduled_drafts(_request(tokens, computed, placeholders, drafts), rows)


def roll_back_rejected(
    sampled: int, computed: int, placeholders: int, drafts: int, accepted: int
) -> tuple[int, int]:
    """Rejected drafts leave C and H, and never more than the drafts there were.

    pre: sampled in (0, 1) and 0 <= accepted <= drafts
    pre: computed > drafts and (placeholders == 0 or placeholders >= drafts + sampled)
    post: __return__[0] + drafts == computed + accepted
    post: placeholders == 0 or __return__[1] + drafts == placeholders + accepted
    post: placeholders > 0 or __return__[1] == 0
    """
    config = _config(num_sampled_tokens_per_step=sampled)
    request = _request(1, computed, placeholders)
    output.roll_back_rejected(config, request, drafts, sampled + accepted)
    return request.num_computed_tokens, request.num_output_placeholders


def append_tokens(
    length: int,
    prompt: int,
    max_tokens: int,
    before: int,
    generated: int,
    stop_after: int,
    in_flight: int,
    stale: bool,
) -> tuple[int, int, int, bool, bool]:
    """No token past L, ``max_tokens`` or a stop; C stays N - 1 + H; a stale output moves only O.

    pre: prompt >= 1 and before >= 0 and before < max_tokens and prompt + before < length
    pre: 1 <= generated and stop_after >= 0 and in_flight >= 0
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
    request.num_output_placeholders = generated + in_flight
    request.num_computed_tokens = prompt + before - 1 + request.num_output_placeholders
    stopped = output.append_tokens(_config(length), request, generated, stop_after, stale)
    return (
        request.num_output_tokens,
        request.num_computed_tokens,
        request.num_output_placeholders,
        stopped,
        request.is_finished,
    )


CONTRACTS = (
    threshold_in_force,
    capped,
    decide,
    waiting_rows,
    running_rows,
    mamba_aligned_rows,
    scheduled_drafts,
    roll_back_rejected,
    append_tokens,
)
"""Every contract of this module."""
