"""Every invariant has a record that keeps it and one that breaks it, and says by how much."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from spec.config import Config
from spec.invariants import CATALOGUE, IDS, about
from spec.promises import no_reachable_assert
from spec.records import (
    BLOCKED,
    LOADING,
    SCHEDULED,
    SKIPPED,
    Advance,
    Attention,
    Booking,
    Decision,
    PoolState,
    RequestState,
    StepTotals,
)
from spec.waivers import WAIVERS

CONFIG = Config.checked(max_model_len=32, num_spec_tokens=3)
DECODE = Decision(
    config=CONFIG,
    request_id="r",
    outcome=SCHEDULED,
    reason="running",
    from_waiting=False,
    num_prompt_tokens=10,
    num_tokens=20,
    num_computed_tokens=19,
    num_output_placeholders=0,
    num_spec_tokens=3,
    num_scheduled_tokens=4,
    num_draft_tokens=3,
    is_prefill=False,
    is_padded=False,
    is_loading=False,
    must_wait=False,
    budget_left=64,
    budget_untouched=True,
    prefill_scheduled=False,
    group_has_prefill=False,
    kv_capacity=32,
)
BOOKED = Booking(
    config=CONFIG,
    request_id="r",
    max_tokens=20,
    num_output_tokens=11,
    num_tokens=21,
    num_computed_tokens=20,
    num_output_placeholders=0,
    num_accepted_placeholders=0,
    is_decode=True,
    is_finished=False,
    is_length_capped=False,
    stopped_early=False,
    num_emitted_tokens=1,
    must_emit=True,
)
STATE = RequestState(
    config=CONFIG,
    request_id="r",
    num_tokens=20,
    num_computed_tokens=23,
    num_output_placeholders=4,
    is_decode=True,
    num_queues=1,
)
TOTALS = StepTotals(CONFIG, 64, 4)
POOL = PoolState(CONFIG, 60, 4)
TURN = Attention(CONFIG, "r", looked_at=True, excused=False)
MOVED = Advance(CONFIG, "r", num_counted_tokens=4, num_scheduled_tokens=8, num_computed_tokens=12)
MAMBA = replace(CONFIG, mamba_align=True)
WHOLE = replace(CONFIG, enable_chunked_prefill=False)
KEPT = {
    Attention: TURN,
    Advance: MOVED,
    Decision: DECODE,
    Booking: BOOKED,
    RequestState: STATE,
    StepTotals: TOTALS,
    PoolState: POOL,
}
DIFFUSION = replace(CONFIG, num_sampled_tokens_per_step=0)

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
    "length_capped_only_there": (
        replace(BOOKED, is_finished=True, is_length_capped=True),
        "at the boundary = 0 < 1",
    ),
    "progress_step": (replace(DECODE, outcome=BLOCKED), "scheduled = 0 < 1 = eligible"),
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


FULL = replace(DECODE, from_waiting=True, num_computed_tokens=10, is_prefill=True)
"""A request that is admitted with 10 tokens to compute."""
IDLE = replace(DECODE, outcome=BLOCKED, num_scheduled_tokens=0, num_draft_tokens=0)
SPENT = replace(IDLE, budget_untouched=False)
ALONE = replace(IDLE, waits_alone=True)
CHUNK = replace(
    DECODE,
    config=MAMBA,
    is_prefill=True,
    num_prompt_tokens=64,
    num_tokens=64,
    num_computed_tokens=16,
    num_scheduled_tokens=20,
)
"""A chunk from the start of a block of 16 tokens that ends inside one."""
ENDED = replace(BOOKED, is_finished=True, is_length_capped=True)


def configured(record: Any, **knobs: Any) -> Any:
    return replace(record, config=replace(record.config, **knobs))


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
        (False, replace(SPENT, budget_left=4)),
        (True, replace(SPENT, budget_left=3)),
        (True, replace(configured(SPENT, mamba_align=True), budget_left=4)),
        (False, replace(configured(SPENT, num_spec_tokens=0), budget_left=1)),
        (True, replace(configured(SPENT, num_spec_tokens=0), budget_left=0)),
        (
            False,
            replace(
                configured(SPENT, enable_chunked_prefill=False),
                budget_left=7,
                num_computed_tokens=13,
            ),
        ),
        (
            True,
            replace(
                configured(SPENT, enable_chunked_prefill=False),
                budget_left=6,
                num_computed_tokens=13,
            ),
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
    "request_conservation": ((False, replace(STATE, num_queues=0)),),
}
"""Claim → records on both sides of each of its conditions, and whether they keep it."""


@pytest.mark.parametrize("name", BOUNDARIES)
def test_a_claim_holds_up_to_its_boundary(name: str) -> None:
    (claim,) = {entry.claim for entry in CATALOGUE if entry.claim.__name__ == name}
    wrong = [record for holds, record in BOUNDARIES[name] if claim(record).holds is not holds]
    assert not wrong


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


WAIVED = {
    "length-boundary": replace(DECODE, num_computed_tokens=28),
    "fewer-drafts": replace(DECODE, num_spec_tokens=2),
    "small-budget": replace(DECODE, config=replace(CONFIG, max_num_scheduled_tokens=15)),
    "small-threshold": replace(DECODE, config=replace(CONFIG, long_prefill_token_threshold=3)),
    "mamba-clip": replace(
        DECODE,
        config=replace(CONFIG, mamba_align=True),
        from_waiting=True,
        num_computed_tokens=13,  # inside a block whose end, 16, lies in the padded rows
    ),
    "withdrawn-prefill": replace(
        DECODE, config=replace(CONFIG, priority_scheduling=True), prefill_withdrawn=True
    ),
}
JUST_NOT_WAIVED = {
    "length-boundary": replace(DECODE, num_computed_tokens=27),
    "fewer-drafts": replace(DECODE, num_spec_tokens=2, from_waiting=True),
    "small-budget": replace(DECODE, config=replace(CONFIG, max_num_scheduled_tokens=16)),
    "small-threshold": replace(DECODE, config=replace(CONFIG, long_prefill_token_threshold=4)),
    "mamba-clip": replace(
        DECODE,
        config=replace(CONFIG, mamba_align=True),
        from_waiting=True,
        num_computed_tokens=12,  # the padded rows end at 15, one short of the boundary
    ),
    "withdrawn-prefill": replace(DECODE, prefill_withdrawn=True),
}


def _decode(num_computed_tokens: int = 19, **knobs: Any) -> Decision:
    """A decode of the waiting pass under other knobs."""
    config = replace(CONFIG, **knobs)
    return replace(
        DECODE, config=config, from_waiting=True, num_computed_tokens=num_computed_tokens
    )


ON_BOTH_SIDES = (
    # M = 4 sequences of 1 + K = 4 rows and D = 2 slots each
    ("small-budget", True, _decode(draft_slots=2, max_num_batched_tokens=23)),
    ("small-budget", False, _decode(draft_slots=2, max_num_batched_tokens=24)),
    ("small-threshold", True, _decode(long_prefill_token_threshold=1)),
    ("small-threshold", False, _decode(long_prefill_token_threshold=0)),
    # blocks of 16 tokens: only a start inside one can be clipped
    ("mamba-clip", True, _decode(17, mamba_align=True, num_spec_tokens=15)),
    ("mamba-clip", False, _decode(16, mamba_align=True, num_spec_tokens=16)),
)


@pytest.mark.parametrize(("name", "applies", "decided"), ON_BOTH_SIDES)
def test_a_waiver_on_both_sides(name: str, applies: bool, decided: Decision) -> None:
    (waiver,) = (waiver for waiver in WAIVERS if waiver.id == name)
    assert bool(waiver.applies(decided)) is applies


@pytest.mark.parametrize("waiver", WAIVERS, ids=lambda waiver: str(waiver.id))
def test_a_waiver_applies_exactly_from_its_boundary_on(waiver: Any) -> None:
    assert waiver.applies(WAIVED[waiver.id])
    assert not waiver.applies(JUST_NOT_WAIVED[waiver.id])
    assert waiver.statement and waiver.why and waiver.source


def test_every_waiver_is_tested_and_none_applies_to_an_ordinary_decode() -> None:
    assert {waiver.id for waiver in WAIVERS} == WAIVED.keys() == JUST_NOT_WAIVED.keys()
    assert not any(waiver.applies(DECODE) for waiver in WAIVERS)


def test_an_exception_is_a_violation() -> None:
    assert no_reachable_assert(False).holds
    assert not no_reachable_assert(True).holds


def test_no_id_is_given_twice_to_one_claim() -> None:
    assert max(Counter(entry.claim for entry in CATALOGUE).values()) == 1
