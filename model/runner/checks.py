"""The demands of the host side on one row and on one returned sample.

Each check states the condition under which the real runner fails or silently computes the wrong
tokens, and raises the error that names it.
"""

from __future__ import annotations

from model.environment import Sample
from model.request import Request, RequestStatus
from model.runner.errors import (
    BufferOverrun,
    Miscounted,
    MixedShapes,
    NoRows,
    NoSlot,
    NothingSampled,
    NotRunning,
    PastModelLen,
    RowsWithoutDrafts,
)
from model.step import Scheduled
from spec.config import Config
from spec.promises import uniform_decode
from spec.records import SCHEDULED, Decision


def check_share(config: Config, share: Scheduled, row: int, computed: int, known: int) -> None:
    """One request's rows can be executed.

    Args:
        config: the knobs.
        share: what the scheduler handed over.
        row: the request's row in the batch.
        computed: C before this step, tokens.
        known: N + H before this step, tokens: what the rows are to reach before their drafts.

    Raises:
        RunnerError: the subclass that names the broken invariant.
    """
    request = share.request
    n, drafts = share.num_scheduled_tokens, share.num_draft_tokens
    end = computed + n
    if n < 1:
        raise NoRows(request.request_id, row, f"{n} rows scheduled; np.repeat needs at least 1")
    if request.status is not RequestStatus.RUNNING:
        raise NotRunning(request.request_id, row, f"rows for a request that is {request.status}")
    if share.samples:
        # The rows past the last known token are the drafts, one each (``logits_indices``).
        if end != known + drafts:
            problem = f"{n} rows end at token {end}; {known} known tokens and {drafts} drafts "
            raise RowsWithoutDrafts(request.request_id, row, problem + f"end at {known + drafts}")
        # Worst case of the assertion in ``_bookkeeping_sync``: every draft accepted.
        end += config.num_sampled_tokens_per_step
    # The sampler takes the logits of the last ``drafts + s`` rows.
    if drafts > 0 and not (share.samples and n == drafts + config.num_sampled_tokens_per_step):
        kind = "sampling step" if share.samples else "prefill chunk"
        problem = f"{drafts} drafts on a {kind} of {n} rows"
        raise RowsWithoutDrafts(request.request_id, row, problem)
    if end > config.max_model_len:
        problem = f"rows and sampled token end at {end} > max_model_len = {config.max_model_len}"
        raise PastModelLen(request.request_id, row, problem)
    if computed + n > request.num_blocks * config.block_size:
        slots = request.num_blocks * config.block_size
        raise NoSlot(request.request_id, row, f"{computed + n} tokens for {slots} KV slots")


def check_budgets(config: Config, request: Request, row: int, rows: int, requests: int) -> None:
    """The whole step fits the buffers; ``request`` is the last one, the first that may not fit.

    Raises:
        BufferOverrun: more rows than B, or more inputs than I.
    """
    if rows > config.max_num_scheduled_tokens:
        limit = f"max_num_scheduled_tokens = {config.max_num_scheduled_tokens}"
        raise BufferOverrun(request.request_id, row, f"{rows} rows in the step > {limit}")
    inputs = rows + requests * config.draft_slots
    if inputs > config.max_num_batched_tokens:
        limit = f"max_num_batched_tokens = {config.max_num_batched_tokens}"
        raise BufferOverrun(request.request_id, row, f"{inputs} inputs in the step > {limit}")


def check_sample(
    config: Config, request: Request, row: int, drafts: int, padded: bool, sample: Sample
) -> None:
    """One request's output may be returned (``_bookkeeping_sync``, rejection sampler).

    Raises:
        NothingSampled: no token from a sampling row of an autoregressive model.
        Miscounted: a placeholder draft accepted, or more drafts than there were.
        PastModelLen: the tokens do not fit the request's row of the token table.
    """
    generated = sample.num_generated_tokens
    accepted = generated - config.num_sampled_tokens_per_step
    if accepted < 0:
        raise NothingSampled(request.request_id, row, f"{generated} tokens from a sampling row")
    if sample.num_accepted_placeholders > 0 or (padded and accepted > 0):
        problem = f"{max(accepted, sample.num_accepted_placeholders)} placeholders (-1) accepted"
        raise Miscounted(request.request_id, row, problem)
    if accepted > drafts:
        raise Miscounted(request.request_id, row, f"{accepted} of {drafts} drafts accepted")
    end = request.num_tokens + generated
    if end > config.max_model_len:
        problem = f"sampled tokens end at {end} > max_model_len = {config.max_model_len}"
        raise PastModelLen(request.request_id, row, problem)


def decision_seen(
    config: Config, share: Scheduled, computed: int, known: int, fresh: bool
) -> Decision:
    """What the scheduler must have decided about a decode, as far as its runner can tell.

    Args:
        config: the knobs.
        share: what the scheduler handed over.
        computed: C before this step, tokens.
        known: N + H before this step, tokens.
        fresh: the request was not running before this step.
    """
    drafts = share.num_draft_tokens
    # Async scheduling always has K placeholders to verify; sync scheduling attaches all drafts
    # that were proposed.
    proposed = config.num_spec_tokens if config.async_scheduling else drafts
    return Decision(
        config=config,
        request_id=share.request.request_id,
        outcome=SCHEDULED,
        reason="seen by the runner",
        from_waiting=fresh,
        num_prompt_tokens=share.request.num_prompt_tokens,
        num_tokens=share.request.num_tokens,
        num_computed_tokens=computed,
        num_output_placeholders=known - share.request.num_tokens,
        num_spec_tokens=proposed,
        num_scheduled_tokens=share.num_scheduled_tokens,
        num_draft_tokens=drafts,
        is_prefill=False,
        is_padded=share.padded,
        is_loading=False,
        must_wait=False,
        budget_left=0,
        budget_untouched=False,
        prefill_scheduled=False,
        group_has_prefill=False,
        kv_capacity=share.request.num_blocks * config.block_size,
    )


def check_odd_rows(row: int, decision: Decision) -> None:
    """A decode has not 1 + K rows, and no rank computes prompt: the rows need a waiver.

    Raises:
        MixedShapes: none applies.
    """
    claim = uniform_decode(decision)
    if not claim.holds:
        problem = f"{claim.sentence()}: the group falls back from its FULL graph"
        raise MixedShapes(decision.request_id, row, problem)
