"""Every invariant has a record that keeps it and one that breaks it, and says by how much."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from examples import (
    BOOKED,
    CONFIG,
    DECODE,
    DIFFUSION,
    INSIDE,
    KEPT,
    MAMBA,
    MOVED,
    POOL,
    STATE,
    TAIL,
    TOTALS,
    TURN,
    WHOLE,
)

from spec.invariants import CATALOGUE, IDS, about
from spec.promises import no_reachable_assert
from spec.records import (
    BLOCKED,
    LOADING,
    SKIPPED,
    Decision,
)

BROKEN: dict[str, tuple[Any, str]] = {
    "positive_schedule": (
        replace(DECODE, num_scheduled_tokens=-1),
        "num_scheduled_tokens = -1 < 1",
    ),
    "within_model_len": (
        replace(DECODE, num_computed_tokens=28),
        "28 + 4 + 1 = 33 > 32 = max_model_len",
    ),
    "uniform_decode": (
        replace(DECODE, num_scheduled_tokens=1),
        "num_scheduled_tokens = 1 != 4 = 1 + 3",
    ),
    "rows_match_drafts": (
        replace(DECODE, num_scheduled_tokens=2),
        "num_draft_tokens = 3 != 1 = 2 + (-1)",
    ),
    "drafts_need_rows": (
        replace(DECODE, outcome=SKIPPED, num_scheduled_tokens=0),
        "num_draft_tokens = 3 != 0",
    ),
    "within_budget_rows": (
        replace(TOTALS, num_scheduled_tokens=65),
        "total_num_scheduled_tokens = 65 > 64 = max_num_scheduled_tokens",
    ),
    "within_budget_inputs": (
        replace(TOTALS, config=replace(CONFIG, draft_slots=1)),
        "64 + 4 = 68 > 64 = max_num_batched_tokens",
    ),
    "within_budget_chunk": (
        replace(DECODE, is_prefill=True, threshold=3),
        "num_scheduled_tokens = 4 > 3 = long_prefill_token_threshold",
    ),
    "within_budget_whole": (
        replace(DECODE, config=WHOLE, from_waiting=True, num_computed_tokens=10),
        "num_scheduled_tokens = 4 < 10 = 20 + (-10)",
    ),
    "progress_attention": (replace(TURN, looked_at=False), "looked at = 0 < 1"),
    "progress_counts": (
        replace(MOVED, num_computed_tokens=11),
        "num_computed_tokens = 11 != 12 = 4 + 8",
    ),
    "progress_keeps": (
        replace(BOOKED, num_due_tokens=2),
        "emitted tokens = 1 != 2 = tokens due",
    ),
    "progress_stops": (
        replace(BOOKED, num_due_tokens=1, stop_due=True),
        "finished stopped = 0 != 1 = stop token due",
    ),
    "progress_no_overtaking": (
        replace(DECODE, from_waiting=True, outcome=SKIPPED),
        "passed over = 1 != 0",
    ),
    "length_capped_or_stopped": (
        replace(BOOKED, num_due_tokens=1, is_finished=True),
        "finished = 1 != 0 = stopped or length-capped",
    ),
    "length_capped_only_there": (
        replace(BOOKED, is_finished=True, is_length_capped=True),
        "at the boundary = 0 < 1",
    ),
    "progress_step": (replace(DECODE, outcome=BLOCKED), "scheduled = 0 < 1 = eligible"),
    "progress_rows": (
        replace(DECODE, num_scheduled_tokens=2),
        "num_scheduled_tokens = 2 < 4 = rows needed and allowed",
    ),
    "blocks_not_passed": (INSIDE, "end of the chunk = 33 > 32 = end of the block"),
    "blocks_not_past_the_last": (TAIL, "end of the chunk = 65 > 64 = end of the last full block"),
    "progress_no_block": (
        replace(DECODE, outcome=BLOCKED, is_loading=True),
        "blocks the queue = 1 != 0",
    ),
    "progress_finish": (replace(BOOKED, num_emitted_tokens=0), "emitted tokens = 0 < 1"),
    "length_capped_fits": (
        replace(BOOKED, num_tokens=33),
        "num_tokens = 33 > 32 = max_model_len",
    ),
    "length_capped_ends": (
        replace(BOOKED, num_output_tokens=20),
        "finished length-capped = 0 < 1",
    ),
    "placeholders_balance": (
        replace(STATE, num_computed_tokens=22),
        "num_computed_tokens = 22 != 23 = 20 + (-1) + 4",
    ),
    "placeholders_not_negative": (
        replace(STATE, num_output_placeholders=-1, num_computed_tokens=18),
        "num_output_placeholders = -1 < 0",
    ),
    "placeholders_not_emitted": (
        replace(BOOKED, num_accepted_placeholders=2),
        "accepted placeholders = 2 != 0",
    ),
    "placeholders_not_invented": (
        replace(BOOKED, num_returned_tokens=0),
        "emitted tokens = 1 > 0 = returned tokens",
    ),
    "placeholders_end": (replace(DECODE, ends_in_flight=True), "num_scheduled_tokens = 4 > 0"),
    "no_padding_with_prefill": (
        replace(DECODE, is_padded=True, prefill_scheduled=True),
        "padded = 1 != 0",
    ),
    "no_padding_diffusion": (replace(DECODE, config=DIFFUSION, is_padded=True), "padded = 1 != 0"),
    "async_load_idle": (replace(DECODE, is_loading=True), "rows and drafts = 7 != 0"),
    "blocks_conserved": (
        replace(POOL, num_held_blocks=5),
        "60 + 5 = 65 != 64 = num_gpu_blocks",
    ),
    "blocks_not_overdrawn": (
        replace(POOL, num_free_blocks=-1, num_held_blocks=65),
        "num_free_blocks = -1 < 0",
    ),
    "blocks_given_back": (
        replace(STATE, num_blocks=2, needs_no_blocks=True),
        "KV blocks held = 2 != 0",
    ),
    "blocks_cover_rows": (replace(DECODE, kv_capacity=22), "19 + 4 = 23 > 22 = KV slots held"),
    "blocks_end_chunks": (
        replace(
            DECODE,
            config=MAMBA,
            is_prefill=True,
            num_prompt_tokens=64,
            num_computed_tokens=16,
            num_scheduled_tokens=20,
        ),
        "16 + 20 = 36 != 32 = end of a block",
    ),
    "request_conservation": (
        replace(STATE, num_queues=2),
        "queues holding the request = 2 != 1",
    ),
    "no_reachable_assert": (True, "exceptions = 1 != 0"),
}
"""Claim → a record that breaks it, and what the report says."""


def test_every_claim_has_a_breaking_record() -> None:
    assert {entry.claim.__name__ for entry in CATALOGUE} == BROKEN.keys()


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: str(entry.claim.__name__))
def test_a_claim_is_kept_by_one_record_and_broken_by_another(entry: Any) -> None:
    kept = KEPT.get(entry.about, False)
    assert entry.claim(kept).holds, entry.claim(kept).sentence()
    record, sentence = BROKEN[entry.claim.__name__]
    claim = entry.claim(record)
    assert not claim.holds
    assert claim.sentence() == sentence


def test_ids_are_the_documented_interface() -> None:
    assert IDS == (
        "positive-schedule",
        "within-model-len",
        "uniform-decode",
        "rows-match-drafts",
        "within-budget",
        "progress",
        "length-capped-finish",
        "placeholder-accounting",
        "no-padding-with-prefill",
        "no-padding-diffusion",
        "async-load-idle",
        "block-accounting",
        "request-conservation",
        "no-reachable-assert",
    )


def test_every_invariant_says_what_why_and_where_from() -> None:
    for entry in CATALOGUE:
        assert entry.statement.endswith("."), entry.id
        assert entry.why.endswith("."), entry.id
        assert all(entry.sources), entry.id
        assert entry in about(entry.about)


def test_an_idle_or_prefilling_group_owes_no_uniform_step() -> None:
    (claim,) = (entry.claim for entry in about(Decision) if entry.id == "uniform-decode")
    odd = replace(DECODE, num_scheduled_tokens=1)
    assert not claim(odd).holds
    assert claim(replace(odd, group_has_prefill=True)).holds
    assert claim(replace(odd, config=DIFFUSION)).holds
    for outcome in (SKIPPED, BLOCKED, LOADING):
        assert claim(replace(odd, outcome=outcome)).holds


def test_an_exception_is_a_violation() -> None:
    assert no_reachable_assert(False).holds
    assert not no_reachable_assert(True).holds


def test_no_id_is_given_twice_to_one_claim() -> None:
    assert max(Counter(entry.claim for entry in CATALOGUE).values()) == 1
