"""Every promise on both sides of each of its conditions."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from examples import (
    ALONE,
    BOOKED,
    CHUNK,
    DECODE,
    ENDED,
    FULL,
    IDLE,
    INSIDE,
    LAST,
    MOVED,
    POOL,
    SPENT,
    STATE,
    TAIL,
    TURN,
    UNSPLIT,
    configured,
)

from spec.invariants import CATALOGUE
from spec.records import (
    BLOCKED,
    LOADING,
    SKIPPED,
)

BOUNDARIES: dict[str, tuple[tuple[bool, Any], ...]] = {
    "positive_schedule": (
        (True, replace(DECODE, num_scheduled_tokens=1)),
        (False, replace(DECODE, num_scheduled_tokens=0)),
        (True, IDLE),
    ),
    "within_model_len": (
        (True, replace(DECODE, num_computed_tokens=27)),
        (False, replace(DECODE, num_tokens=32, num_computed_tokens=28)),
        (True, replace(DECODE, num_tokens=33, num_computed_tokens=28)),  # it does not sample
        (True, replace(DECODE, num_computed_tokens=28, outcome=SKIPPED)),
        (True, replace(configured(DECODE, num_sampled_tokens_per_step=0), num_computed_tokens=28)),
    ),
    "rows_match_drafts": (
        (True, replace(DECODE, num_scheduled_tokens=2, is_prefill=True)),
        (False, replace(DECODE, num_scheduled_tokens=2, is_prefill=True, is_padded=True)),
        (False, replace(DECODE, num_draft_tokens=2)),
        (True, replace(DECODE, num_draft_tokens=2, outcome=SKIPPED)),
    ),
    "drafts_need_rows": (
        (True, replace(DECODE, outcome=SKIPPED, num_draft_tokens=0)),
        (False, replace(DECODE, outcome=SKIPPED, num_draft_tokens=1)),
        (False, replace(DECODE, outcome=BLOCKED, num_draft_tokens=1)),
    ),
    "within_budget_chunk": (
        (True, replace(DECODE, is_prefill=True, threshold=4)),
        (True, replace(DECODE, is_prefill=True, threshold=0)),
        (False, replace(DECODE, is_prefill=True, threshold=1)),
        (True, replace(DECODE, threshold=3)),
        (True, replace(DECODE, is_prefill=True, threshold=3, outcome=SKIPPED)),
    ),
    "within_budget_whole": (
        (False, configured(FULL, enable_chunked_prefill=False)),
        (True, replace(configured(FULL, enable_chunked_prefill=False), num_scheduled_tokens=10)),
        (True, replace(configured(FULL, enable_chunked_prefill=False), num_scheduled_tokens=11)),
        (True, replace(configured(FULL, enable_chunked_prefill=False), from_waiting=False)),
        (True, replace(configured(FULL, enable_chunked_prefill=False), outcome=SKIPPED)),
        (True, FULL),
        (True, configured(FULL, enable_chunked_prefill=False, mamba_align=True)),
        (True, configured(FULL, enable_chunked_prefill=False, long_prefill_token_threshold=1)),
    ),
    "progress_step": (
        (False, IDLE),
        (True, DECODE),
        (True, replace(IDLE, outcome=LOADING)),
        (True, replace(IDLE, is_loading=True)),
        (True, replace(IDLE, must_wait=True)),
        (False, replace(IDLE, budget_left=0)),
        (False, replace(SPENT, budget_left=1)),
        (True, replace(SPENT, budget_left=0)),
        (False, replace(configured(SPENT, mamba_align=True), budget_left=1)),
        (True, replace(configured(SPENT, mamba_align=True), budget_left=1, is_prefill=True)),
        (True, replace(configured(LAST, mamba_align=True), budget_left=4)),
        (False, replace(LAST, budget_left=4)),
        (True, replace(LAST, budget_left=3)),
        (False, replace(configured(LAST, num_spec_tokens=0), budget_left=1)),
        (True, replace(configured(LAST, num_spec_tokens=0), budget_left=0)),
        (False, replace(LAST, num_computed_tokens=18, budget_left=1)),
        (True, replace(LAST, num_computed_tokens=20, budget_left=0)),
        (False, replace(UNSPLIT, budget_left=7)),
        (True, replace(UNSPLIT, budget_left=6)),
        (False, replace(UNSPLIT, budget_left=3, threshold=3)),
        (True, replace(UNSPLIT, budget_left=2, threshold=3)),
        (False, replace(UNSPLIT, budget_left=1, threshold=1)),
    ),
    "progress_rows": (
        (False, replace(DECODE, num_scheduled_tokens=3)),
        (True, replace(DECODE, num_scheduled_tokens=3, outcome=SKIPPED)),
        (True, replace(DECODE, num_scheduled_tokens=3, rows_withdrawn=True)),
        (True, replace(DECODE, num_scheduled_tokens=3, budget_left=3)),
        (False, replace(DECODE, num_scheduled_tokens=2, budget_left=3)),
        (True, replace(DECODE, num_scheduled_tokens=3, num_spec_tokens=2)),
        (
            False,
            replace(DECODE, num_scheduled_tokens=3, num_spec_tokens=2, num_output_placeholders=1),
        ),
        (True, replace(DECODE, num_scheduled_tokens=1, from_waiting=True)),
        (False, replace(FULL, num_scheduled_tokens=9)),
        (True, replace(FULL, num_scheduled_tokens=10)),
        (True, replace(DECODE, num_scheduled_tokens=3, num_tokens=29, num_computed_tokens=28)),
        (False, replace(DECODE, num_scheduled_tokens=2, num_tokens=29, num_computed_tokens=28)),
        (True, replace(configured(DECODE, long_prefill_token_threshold=3), num_scheduled_tokens=3)),
        (
            False,
            replace(configured(DECODE, long_prefill_token_threshold=3), num_scheduled_tokens=2),
        ),
        (False, replace(configured(DECODE, mamba_align=True), num_scheduled_tokens=3)),
        (
            True,
            replace(configured(DECODE, mamba_align=True), num_scheduled_tokens=3, is_prefill=True),
        ),
        (
            True,
            replace(configured(FULL, mamba_align=True), num_scheduled_tokens=3, is_prefill=False),
        ),
    ),
    "progress_attention": (
        (True, replace(TURN, looked_at=False, excused=True)),
        (False, replace(TURN, looked_at=False)),
    ),
    "progress_no_block": (
        (False, replace(ALONE, budget_left=1)),
        (True, replace(ALONE, budget_left=0)),
        (True, replace(ALONE, outcome=SKIPPED)),
        (True, replace(ALONE, has_slot=False)),
        (True, replace(IDLE, must_wait=True)),
        (True, IDLE),
        (False, replace(IDLE, is_loading=True)),
        (True, replace(IDLE, is_loading=True, must_wait=True)),
    ),
    "progress_no_overtaking": (
        (False, replace(IDLE, outcome=SKIPPED, from_waiting=True)),
        (True, replace(IDLE, outcome=SKIPPED)),
        (True, replace(IDLE, from_waiting=True)),
        (True, replace(IDLE, outcome=SKIPPED, from_waiting=True, is_loading=True)),
        (True, replace(IDLE, outcome=SKIPPED, from_waiting=True, waits_alone=True)),
    ),
    "progress_counts": ((False, replace(MOVED, num_computed_tokens=13)),),
    "progress_finish": (
        (True, replace(BOOKED, num_emitted_tokens=2)),
        (True, replace(BOOKED, num_emitted_tokens=0, must_emit=False)),
    ),
    "progress_keeps": (
        (True, replace(BOOKED, num_due_tokens=1)),
        (False, replace(BOOKED, num_due_tokens=0)),
        (True, replace(BOOKED, num_due_tokens=-1)),
    ),
    "progress_stops": (
        (True, replace(BOOKED, num_due_tokens=1)),
        (True, replace(BOOKED, num_due_tokens=1, stop_due=True, is_stopped=True)),
        (False, replace(BOOKED, num_due_tokens=0, is_stopped=True)),
        (False, replace(BOOKED, num_due_tokens=0, stop_due=True)),
        (True, replace(BOOKED, num_due_tokens=-1, is_stopped=True)),
    ),
    "length_capped_fits": ((True, replace(BOOKED, num_tokens=32)),),
    "length_capped_ends": (
        (False, replace(BOOKED, num_tokens=32)),
        (False, replace(BOOKED, num_output_tokens=20)),
        (True, replace(BOOKED, num_tokens=31, num_output_tokens=19)),
        (True, replace(BOOKED, num_tokens=32, stopped_early=True)),
        (True, replace(ENDED, num_tokens=32)),
    ),
    "length_capped_only_there": (
        (True, replace(ENDED, num_tokens=32)),
        (True, replace(ENDED, num_output_tokens=20)),
        (False, replace(ENDED, num_tokens=31, num_output_tokens=19)),
        (True, replace(BOOKED, num_tokens=31)),
    ),
    "length_capped_or_stopped": (
        (True, replace(BOOKED, num_due_tokens=1)),
        (True, replace(ENDED, num_due_tokens=1)),
        (True, replace(BOOKED, num_due_tokens=1, is_finished=True, is_stopped=True)),
        (False, replace(BOOKED, num_due_tokens=0, is_finished=True)),
        (True, replace(BOOKED, num_due_tokens=-1, is_finished=True)),
    ),
    "placeholders_balance": (
        (False, replace(STATE, num_computed_tokens=24)),
        (True, replace(STATE, num_computed_tokens=22, is_decode=False)),
    ),
    "placeholders_not_negative": (
        (True, replace(STATE, num_output_placeholders=0, is_decode=False)),
        (True, replace(STATE, num_output_placeholders=1, is_decode=False)),
    ),
    "placeholders_not_emitted": ((False, replace(BOOKED, num_accepted_placeholders=1)),),
    "placeholders_not_invented": (
        (True, replace(BOOKED, num_returned_tokens=1)),
        (True, replace(BOOKED, num_returned_tokens=2)),
        (False, replace(BOOKED, num_returned_tokens=0)),
        (True, replace(BOOKED, num_returned_tokens=-1)),
    ),
    "placeholders_end": (
        (True, replace(IDLE, ends_in_flight=True)),
        (True, replace(IDLE, ends_in_flight=True, num_scheduled_tokens=-1)),
        (False, replace(DECODE, ends_in_flight=True, num_scheduled_tokens=1)),
    ),
    "no_padding_with_prefill": (
        (True, replace(DECODE, is_padded=True)),
        (True, replace(DECODE, prefill_scheduled=True)),
    ),
    "no_padding_diffusion": ((True, configured(DECODE, num_sampled_tokens_per_step=0)),),
    "async_load_idle": (
        (True, replace(IDLE, is_loading=True)),
        (False, replace(IDLE, is_loading=True, num_draft_tokens=1)),
        (False, replace(DECODE, outcome=LOADING)),
        (True, replace(IDLE, outcome=LOADING)),
        (False, replace(DECODE, is_loading=True, num_draft_tokens=-3)),
    ),
    "blocks_not_overdrawn": (
        (True, replace(POOL, num_free_blocks=0)),
        (True, replace(POOL, num_free_blocks=1)),
    ),
    "blocks_given_back": (
        (False, replace(STATE, num_blocks=1, needs_no_blocks=True)),
        (True, replace(STATE, num_blocks=1)),
    ),
    "blocks_cover_rows": (
        (True, replace(DECODE, kv_capacity=23)),
        (False, replace(DECODE, kv_capacity=22, outcome=LOADING)),
        (True, replace(DECODE, kv_capacity=22, outcome=SKIPPED)),
    ),
    "blocks_end_chunks": (
        (False, CHUNK),
        (True, replace(CHUNK, num_scheduled_tokens=16)),
        (True, configured(CHUNK, mamba_align=False)),
        (True, replace(CHUNK, outcome=SKIPPED)),
        (True, replace(CHUNK, is_prefill=False)),
        (True, replace(CHUNK, num_computed_tokens=17)),
        (True, replace(CHUNK, num_scheduled_tokens=48)),  # the end of the prompt
        (True, replace(CHUNK, num_prompt_tokens=36, num_tokens=36)),
        (False, replace(CHUNK, num_prompt_tokens=37, num_tokens=37)),
        (False, replace(CHUNK, num_prompt_tokens=10, num_tokens=38)),
        (True, replace(CHUNK, num_prompt_tokens=10, num_tokens=37)),
        # A block wider than any chunk is crossed in pieces, but for one that holds a boundary.
        (False, replace(CHUNK, num_scheduled_tokens=8)),
        (True, replace(configured(CHUNK, long_prefill_token_threshold=8), num_scheduled_tokens=8)),
        (False, configured(CHUNK, long_prefill_token_threshold=8)),
        (
            False,
            replace(configured(CHUNK, long_prefill_token_threshold=16), num_scheduled_tokens=8),
        ),
        (True, replace(configured(CHUNK, max_num_scheduled_tokens=15), num_scheduled_tokens=8)),
        (False, replace(configured(CHUNK, max_num_scheduled_tokens=16), num_scheduled_tokens=8)),
        (True, replace(configured(CHUNK, long_prefill_token_threshold=1), num_scheduled_tokens=1)),
    ),
    "blocks_not_passed": (
        (True, replace(INSIDE, num_scheduled_tokens=12)),
        (False, INSIDE),
        (True, configured(INSIDE, mamba_align=False)),
        (True, replace(INSIDE, num_tokens=32)),  # the rest is padding
        (False, replace(INSIDE, num_tokens=33)),
        (True, replace(INSIDE, num_computed_tokens=16, num_scheduled_tokens=17)),
        (False, configured(INSIDE, max_num_scheduled_tokens=15)),
        (True, configured(INSIDE, max_num_scheduled_tokens=16)),
        (True, configured(INSIDE, max_num_scheduled_tokens=64)),
        (
            False,
            configured(INSIDE, max_num_scheduled_tokens=64, long_prefill_token_threshold=15),
        ),
    ),
    "blocks_not_past_the_last": (
        (True, replace(TAIL, num_scheduled_tokens=16)),
        (False, TAIL),
        (True, configured(TAIL, mamba_align=False)),
        (True, replace(TAIL, num_computed_tokens=64, num_scheduled_tokens=6)),
        (False, replace(TAIL, num_computed_tokens=63, num_scheduled_tokens=6)),
        (True, replace(TAIL, num_tokens=64)),  # the rest is padding
        (False, replace(TAIL, num_tokens=65)),
    ),
    "request_conservation": ((False, replace(STATE, num_queues=0)),),
}
"""Claim → records on both sides of each of its conditions, and whether they keep it."""


@pytest.mark.parametrize("name", BOUNDARIES)
def test_a_claim_holds_up_to_its_boundary(name: str) -> None:
    (claim,) = {entry.claim for entry in CATALOGUE if entry.claim.__name__ == name}
    wrong = [record for holds, record in BOUNDARIES[name] if claim(record).holds is not holds]
    assert not wrong
