"""Records by hand that keep every promise, for the tests to spoil."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spec.config import Config
from spec.records import (
    BLOCKED,
    SCHEDULED,
    Advance,
    Attention,
    Booking,
    Decision,
    PoolState,
    RequestState,
    StepTotals,
)


def configured(record: Any, **knobs: Any) -> Any:
    return replace(record, config=replace(record.config, **knobs))


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

FULL = replace(DECODE, from_waiting=True, num_computed_tokens=10, is_prefill=True)
"""A request that is admitted with 10 tokens to compute."""
IDLE = replace(DECODE, outcome=BLOCKED, num_scheduled_tokens=0, num_draft_tokens=0)
SPENT = replace(IDLE, budget_untouched=False)
LAST = replace(SPENT, from_waiting=True)
"""A request that waits for its last token, in a step that has given rows."""
UNSPLIT = configured(replace(LAST, num_computed_tokens=13), enable_chunked_prefill=False)
"""One that waits for seven and may not be split."""
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
INSIDE = replace(
    configured(CHUNK, max_num_scheduled_tokens=8), num_computed_tokens=20, num_scheduled_tokens=13
)
"""A chunk from inside a block that is wider than any chunk, and past its end."""
TAIL = replace(
    CHUNK, num_prompt_tokens=70, num_tokens=70, num_computed_tokens=48, num_scheduled_tokens=17
)
"""A chunk past 64, the end of the last full block of a prompt of 70 tokens."""
ENDED = replace(BOOKED, is_finished=True, is_length_capped=True)
