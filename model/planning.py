"""The arithmetic of one decision: how many rows, how many drafts.  Pure functions.

Everything a padding bug can get wrong is in this file and in ``model.policies``; the passes in
``model.scheduler`` only walk the queues and move the requests.
"""

from __future__ import annotations

from model.policies import BREAK, DROP, KEEP, PADDED, PaddingPolicy
from model.request import Request
from spec.config import Config
from spec.logic import any_of, ite, max, min, not_

NO_ROWS = 0


def threshold_in_force(config: Config, num_unfinished: int) -> int:
    """θ for this step: newer releases spare a request that is alone (0.31, #57951); tokens."""
    if config.exempt_only_request and num_unfinished <= 1:
        return 0
    return config.long_prefill_token_threshold


def surely_ends_in_flight(request: Request) -> bool:
    """Async scheduling: the step in flight reaches ``max_tokens`` even if all drafts fail."""
    certain = request.num_computed_tokens + 2 - request.num_output_placeholders
    limit = request.num_prompt_tokens + request.max_tokens
    return (request.num_output_placeholders > 0) & (certain >= limit)


def capped(rows: int, threshold: int) -> int:
    """Rows after the long-prefill threshold; 0 = no threshold."""
    return ite((threshold > 0) & (threshold < rows), threshold, rows)


def running_rows(
    config: Config, policy: PaddingPolicy, request: Request, threshold: int, budget: int
) -> int:
    """Rows for a running request; tokens.  0 means it has nothing to do this step."""
    rows = request.num_tokens + request.num_spec_tokens + request.num_output_placeholders
    rows = capped(rows - request.num_computed_tokens, threshold)
    rows = min(rows, budget)
    # Drafts may ask for more than fits: keep room for the token the step will sample.
    room = config.max_model_len - request.num_computed_tokens - config.num_sampled_tokens_per_step
    rows = min(rows, room)
    if policy.clamps_running:
        rows = max(rows, 0)
    if config.mamba_align:
        rows = mamba_aligned_rows(config, request, request.num_computed_tokens, rows)
    return rows


def waiting_rows(
    config: Config,
    policy: PaddingPolicy,
    request: Request,
    num_computed_tokens: int,
    running_scheduled: bool,
    prefill_scheduled: bool,
    threshold: int,
    budget: int,
) -> tuple[int, bool]:
    """Rows for a waiting request and whether they are padded; tokens.

    ``num_computed_tokens`` includes the hits found in this step.  ``NO_ROWS`` tells the waiting
    pass to stop here.
    """
    rows = request.num_tokens - num_computed_tokens
    decision = policy.decide(
        config, rows, num_computed_tokens, running_scheduled, prefill_scheduled, threshold, budget
    )
    if decision == BREAK:
        return NO_ROWS, False
    padded = decision == PADDED
    if padded:
        rows = 1 + config.num_spec_tokens
    rows = capped(rows, threshold)
    if not_(config.enable_chunked_prefill) & (rows > budget):
        return NO_ROWS, False
    rows = min(rows, budget)
    assert rows > 0, "a waiting request needs at least one row"
    if config.mamba_align:
        aligned = mamba_aligned_rows(config, request, num_computed_tokens, rows)
        if aligned == 0:
            return NO_ROWS, False
        if not padded or policy.when_clipped == KEEP:
            rows = aligned
        elif aligned != 1 + config.num_spec_tokens and policy.when_clipped == DROP:
            rows, padded = 1, False
    return rows, padded


def mamba_aligned_rows(config: Config, request: Request, start: int, rows: int) -> int:
    """Rows after Mamba block alignment (``mamba_cache_mode='align'``); tokens, at least 0.

    A prefill chunk ends on a block boundary, where the state is cached; the last chunk of a
    prompt stops once at the last boundary inside it.  A block wider than any chunk is crossed in
    unaligned pieces.
    """
    block = config.block_size
    prefill_end = max(request.num_prompt_tokens, request.num_tokens - 1)
    end = start + rows
    # A chunk that leaves prompt behind ends on a boundary, unless no chunk can reach one.
    widest = config.max_num_scheduled_tokens
    widest = min(
        widest,
        ite(config.long_prefill_token_threshold > 0, config.long_prefill_token_threshold, widest),
    )
    aligned_end = end // block * block
    reaches = any_of(aligned_end > start, block <= widest)
    end = ite((end < prefill_end) & reaches, aligned_end, end)
    # A chunk that starts inside a block stops at its end.
    next_boundary = (start // block + 1) * block
    end = ite((start % block != 0) & (next_boundary < end), next_boundary, end)
    # No chunk runs past the last boundary whose state will be cached (0.32 and later; before, the
    # boundary at N itself counted too).
    last_boundary = (request.num_tokens - 1) // block * block
    end = ite((start < last_boundary) & (last_boundary < end), last_boundary, end)
    return ite(start >= prefill_end, rows, max(end - start, 0))


def scheduled_drafts(request: Request, rows: int) -> int:
    """Drafts of a running request that this step's rows verify; tokens."""
    known = request.num_tokens + request.num_output_placeholders
    verified = max(rows + request.num_computed_tokens - known, 0)
    return min(request.num_spec_tokens, verified)
