"""Input preparation against the slow way to say the same, and the worked example of the engine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.request import Request
from model.runner.batch import PersistentBatch, Row
from model.runner.errors import NoRows
from model.runner.inputs import InputPreparer
from spec.config import Config

CONFIG = Config.checked(
    max_model_len=256,
    max_num_seqs=8,
    max_num_scheduled_tokens=512,
    max_num_batched_tokens=512,
    block_size=4,
    num_gpu_blocks=1024,
)


def batch_of(num_reqs: int) -> PersistentBatch:
    batch = PersistentBatch(CONFIG)
    batch.rows = [Row(Request(f"r{i}", 1, 1)) for i in range(num_reqs)]
    batch.block_table[:] = (
        np.random.default_rng(0)
        .permutation(batch.block_table.size)
        .reshape(batch.block_table.shape)
    )
    return batch


def test_the_engines_worked_example_of_draft_metadata() -> None:
    preparer = InputPreparer(CONFIG)
    made = preparer.draft_metadata(np.array([3, 0, 2, 0, 1]), np.array([4, 104, 107, 207, 209]))
    assert made.cu_num_draft_tokens.tolist() == [3, 3, 5, 5, 6]
    assert made.logits_indices.tolist() == [0, 1, 2, 3, 103, 104, 105, 106, 206, 207, 208]
    assert made.target_logits_indices.tolist() == [0, 1, 2, 5, 6, 9]
    assert made.bonus_logits_indices.tolist() == [3, 4, 7, 8, 10]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 200)),
        min_size=1,
        max_size=8,
    )
)
def test_every_array_is_what_a_loop_over_rows_gives(rows: list[tuple[int, int, int]]) -> None:
    drafts = [d for d, _, _ in rows]
    counts = [1 + d + (0 if d else extra) for d, extra, _ in rows]
    starts = [start for _, _, start in rows]
    batch = batch_of(len(rows))
    made = InputPreparer(CONFIG).prepare(batch, counts, starts, drafts)
    flat = [(i, starts[i] + k) for i, n in enumerate(counts) for k in range(n)]
    assert made.layout.req_indices.tolist() == [i for i, _ in flat]
    assert made.positions.tolist() == [position for _, position in flat]
    assert made.token_indices.tolist() == [i * 256 + position for i, position in flat]
    slots = [batch.block_table[i, p // 4] * 4 + p % 4 for i, p in flat]
    assert made.slot_mapping.tolist() == slots
    ends = np.cumsum(counts).tolist()
    logits = [ends[i] - 1 - d + k for i, d in enumerate(drafts) for k in range(d + 1)]
    assert made.layout.drafts.logits_indices.tolist() == logits


def test_the_layout_is_reused_only_for_the_same_counts() -> None:
    preparer, batch = InputPreparer(CONFIG), batch_of(2)
    first = preparer.prepare(batch, [4, 4], [0, 8], [3, 3])
    again = preparer.prepare(batch, [4, 4], [4, 12], [3, 3])
    other = preparer.prepare(batch, [4, 4], [8, 16], [3, 0])
    assert again.layout is first.layout
    assert again.positions.tolist() == [4, 5, 6, 7, 12, 13, 14, 15]
    assert other.layout is not first.layout
    assert other.layout.num_draft_tokens.tolist() == [3, 0]


def test_a_negative_row_count_kills_np_repeat_and_is_named() -> None:
    with pytest.raises(ValueError, match="negative"):
        np.repeat(np.arange(2), [4, -1])
    with pytest.raises(NoRows, match=r"positive-schedule: request r1, row 1: .*-1 rows") as raised:
        InputPreparer(CONFIG).prepare(batch_of(2), [4, -1], [0, 30], [3, 0])
    assert raised.value.row == 1
    assert raised.value.invariant_id == "positive-schedule"
