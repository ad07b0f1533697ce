"""The record of one decision: what the catalogue is told about it, and which excuses are honest.

Nothing here decides anything.  What excuses a step for giving a request no rows is worked out from
the state, not taken from the scheduler's own word for it.
"""

from __future__ import annotations

from model.kv_cache import KVCacheManager
from model.request import Request, RequestStatus
from model.step import Step
from spec.config import Config
from spec.excuses import admits_prefill, ends_in_flight, waits_for_output
from spec.logic import all_of, any_of, ceil_div, ite, min, not_
from spec.records import Advance, Decision


def decision(
    config: Config,
    step: Step,
    request: Request,
    outcome: str,
    reason: str,
    *,
    rows: int,
    drafts: int,
    padded: bool,
    computed: int | None,
    slots_taken: int,
    slots_refused: int,
    pool: KVCacheManager,
) -> Decision:
    """What ``step`` decides about ``request``; call it before the counters move.

    Args:
        config: the knobs.
        step: the step so far.
        request: the request looked at.
        outcome: ``SCHEDULED``, ``LOADING``, ``SKIPPED`` or ``BLOCKED``.
        reason: why, for people.
        rows: rows given, tokens.
        drafts: drafts attached to them, tokens.
        padded: the drafts are placeholders.
        computed: C including the hits found now, tokens; None where there are none.
        slots_taken: sequence slots in use, requests.
        slots_refused: KV slots the pool was asked for and did not give, tokens; 0 = none.
        pool: the KV block pool.
    """
    preempted = request in step.preempted_reqs
    from_waiting = request.status is not RequestStatus.RUNNING and not preempted
    if computed is None:
        computed = request.num_computed_tokens
    if from_waiting:
        is_prefill = admits_prefill(config, request.num_tokens, computed)
    else:
        is_prefill = request.is_prefill_chunk
    slots_free = slots_taken < config.max_num_seqs
    must_wait = _must_wait(config, request, slots_free)
    # A preemption has reset what the request had in flight; then the longest it can get will do.
    most = config.max_model_len
    if from_waiting:
        left, width = request.num_tokens - computed, 1 + config.num_spec_tokens
        end = computed + width + config.num_sampled_tokens_per_step
        can_pad = all_of(left == 1, end <= config.max_model_len)
        most = computed + ite(can_pad, width, left)
    return Decision(
        config=config,
        request_id=request.request_id,
        outcome=outcome,
        reason=reason,
        from_waiting=from_waiting,
        num_prompt_tokens=request.num_prompt_tokens,
        num_tokens=request.num_tokens,
        num_computed_tokens=computed,
        num_output_placeholders=request.num_output_placeholders,
        num_spec_tokens=request.num_spec_tokens,
        num_scheduled_tokens=rows,
        num_draft_tokens=drafts,
        is_prefill=is_prefill,
        is_padded=padded,
        is_loading=request.status is RequestStatus.WAITING_FOR_REMOTE_KVS,
        # A running request that lacks blocks preempts somebody: it waits only if that is itself.
        must_wait=must_wait
        | all_of(from_waiting | preempted, _pool_is_short(pool, request, slots_refused, most)),
        budget_left=min(step.token_budget, step.input_budget - config.draft_slots),
        budget_untouched=(step.token_budget == config.max_num_scheduled_tokens)
        & (step.input_budget == config.max_num_batched_tokens),
        prefill_scheduled=step.prefill_scheduled,
        group_has_prefill=is_prefill,
        kv_capacity=pool.capacity(request),
        waits_alone=any_of(
            preempted & config.priority_scheduling,
            (request.status is RequestStatus.RUNNING) & must_wait,
            all_of(from_waiting, request.num_stale_output_tokens > 0),
        ),
        has_slot=slots_free,
        threshold=step.threshold,
        ends_in_flight=(request.status is RequestStatus.RUNNING) & ends_in_flight(request),
    )


def advance(config: Config, request: Request, counted: int, rows: int) -> Advance:
    """How ``rows`` moved a request on that had ``counted`` tokens computed; call it after that."""
    return Advance(config, request.request_id, counted, rows, request.num_computed_tokens)


def _must_wait(config: Config, request: Request, slots_free: bool) -> bool:
    """Facts, apart from budgets and blocks, that excuse a step for not serving a request."""
    if request.status is RequestStatus.RUNNING:
        return waits_for_output(config, request)
    return any_of(request.num_stale_output_tokens > 0, not_(slots_free))


def _pool_is_short(pool: KVCacheManager, request: Request, slots: int, most: int) -> bool:
    """Whether the pool really lacks the blocks for ``slots`` tokens of this request.

    To ask for more than the ``most`` it can use is no excuse.
    """
    missing = ceil_div(slots, pool.block_size) - request.num_blocks
    return all_of(slots <= most, missing > pool.num_free_blocks)
