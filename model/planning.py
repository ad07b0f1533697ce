"""The arithmetic of one decision: how many rows, how many drafts.  Pure functions.

Everything a padding bug can get wrong is in this file and in ``model.policies``; the passes in
``model.scheduler`` only walk the queues and move the requests.
"""

from __future__ import annotations

from spec.config import Config
from spec.logic import max, min

from model.policies import BREAK, DROP, KEEP, PADDED, PaddingPolicy
from model.request import Request

NO_ROWS = 0


def threshold_in_force(config: Config, num_unfinished: int) -> int:
    """θ for this step: newer releases spare a request that is alone (0.31, #57951); tokens."""
    if config.exempt_only_request and num_unfinished <= 1:
        return 0
    return config.long_prefill_token_threshold


def surely_ends_in_flight(request: Request) -> bool:
    """Async scheduling: the step in flight reaches ``max_tokens`` even if all drafts fail."""
    if request.num_output_placeholders <= 0:
        return False
    certain = request.num_computed_tokens + 2 - request.num_output_placeholders
    return certain >= request.num_prompt_tokens + request.max_tokens


def capped(rows: int, threshold: int) -> int:
    """Rows after the long-prefill threshold; 0 = no threshold."""
    if 0 < threshold and threshold < rows:
        return threshold
    return rows


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
    if not config.enable_chunked_prefill and rows > budget:
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
    if padded and policy.asserts_width:
        assert rows == 1 + config.num_spec_tokens, "padded rows must keep the uniform width"
    return rows, padded


def mamba_aligned_rows(config: Config, request: Request, start: int, rows: int) -> int:
    """Rows after Mamba block alignment (``mamba_cache_mode='align'``); tokens, at least 0.

    A prefill chunk ends on a block boundary, where the state is cached; the last chunk of a
    prompt stops once at the last boundary inside it.  A block wider than any chunk is crossed in
    unaligned pieces.
    """
    prefill_end = max(request.num_prompt_tokens, request.num_tokens - 1)
    if start >= prefill_end:
        return rows
    block = config.block_size
    end = start + rows
    if end < prefill_end:
        widest = config.max_num_scheduled_tokens
        if config.long_prefill_token_threshold > 0:
            widest = min(widest, config.long_prefill_token_threshold)
        aligned_end = end // block * block
        if aligned_end > start or block <= widest:
            end = aligned_end
    next_boundary = (start // block + 1) * block
    if start % block != 0 and next_boundary < end:
        end = next_boundary
    last_boundary = request.num_tokens // block * block
    if start < last_boundary and last_boundary < end:
        end = last_boundary
    return max(end - start, 0)


def scheduled_drafts(request: Request, rows: int) -> int:
    """Drafts of a running request that this step's rows verify; tokens."""
    if request.num_spec_tokens == 0:
        return 0
    known = request.num_tokens + request.num_output_placeholders
    verified = rows + request.num_computed_tokens - known
    if verified <= 0:
        return 0
    return min(request.num_spec_tokens, verified)
