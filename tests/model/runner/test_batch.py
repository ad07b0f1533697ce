"""The persistent batch: rows stay, holes are filled, blocks are mirrored and never shared."""

from __future__ import annotations

import random

import pytest

from model.request import Request, RequestStatus
from model.runner.batch import NO_ROW, PersistentBatch
from model.runner.errors import BufferOverrun, NoSlot, PastModelLen
from model.step import Scheduled, SchedulerOutput
from spec.config import Config

CONFIG = Config.checked(max_model_len=32, max_num_seqs=4, block_size=4, num_gpu_blocks=16)


def request(name: str, blocks: int = 1) -> Request:
    made = Request(name, 4, 4)
    made.status = RequestStatus.RUNNING
    made.num_blocks = blocks
    return made


def step(*requests: Request, preempted: tuple[Request, ...] = ()) -> SchedulerOutput:
    return SchedulerOutput(tuple(Scheduled(r, 1, 0, False, True) for r in requests), preempted)


def names(batch: PersistentBatch) -> list[str]:
    return [row.request.request_id for row in batch.rows]


def test_rows_stay_in_place_whatever_order_the_scheduler_lists_them() -> None:
    a, b, c = (request(name) for name in "abc")
    batch = PersistentBatch(CONFIG)
    batch.update(step(a, b, c))
    batch.update(step(c, a, b))
    assert names(batch) == ["a", "b", "c"]


def test_the_last_row_moves_into_the_hole_a_finished_request_leaves() -> None:
    a, b, c = (request(name, blocks=2) for name in "abc")
    batch = PersistentBatch(CONFIG)
    batch.update(step(a, b, c))
    of_c = list(batch.block_table[2, :2])
    a.status, a.num_blocks = RequestStatus.FINISHED_STOPPED, 0
    batch.update(step(b, c))
    assert names(batch) == ["c", "b"]
    assert list(batch.block_table[0, :2]) == of_c
    assert batch.row_of(a) == NO_ROW


def test_a_new_request_takes_the_lowest_hole() -> None:
    a, b, c, d = (request(name) for name in "abcd")
    batch = PersistentBatch(CONFIG)
    batch.update(step(a, b, c))
    batch.update(step(b, c, d))
    assert names(batch) == ["d", "b", "c"]


SIX = Config.checked(max_model_len=32, max_num_seqs=6, block_size=4, num_gpu_blocks=16)


@pytest.mark.parametrize(
    ("before", "now", "rows"),
    [
        # ``_register_add_request`` pops the lowest removed index: e takes row 0, and d, the last,
        # moves into row 2.
        ("abcd", "bde", "ebd"),
        ("abcde", "bdefg", "fbgde"),
        # ``condense``: the largest occupied index goes to the smallest empty one, again and again.
        ("abcdef", "bdef", "fbed"),
        ("abcdef", "def", "fed"),
        ("abcdef", "cf", "fc"),
        # Holes at the end are cut off, not filled.
        ("abcdef", "bcdf", "fbcd"),
        ("abcdef", "abcd", "abcd"),
        ("abcdef", "abce", "abce"),
        # Holes left over by new requests are condensed: g takes 0, then f moves to 2.
        ("abcdef", "bdefg", "gbfde"),
        # Without holes new requests go to the end, in the scheduler's order.
        ("ab", "bdac", "abdc"),
    ],
)
def test_rows_are_filled_and_condensed_as_in_gpu_input_batch(
    before: str, now: str, rows: str
) -> None:
    made = {name: request(name) for name in "abcdefg"}
    batch = PersistentBatch(SIX)
    batch.update(step(*(made[name] for name in before)))
    batch.update(step(*(made[name] for name in now)))
    assert "".join(names(batch)) == rows
    assert [row.index for row in batch.rows] == list(range(len(rows)))
    for row in batch.rows:
        assert batch.block_table[row.index, 0] == row.block_ids[0]


@pytest.mark.parametrize("preempted", [False, True])
def test_new_requests_enter_before_returning_ones(preempted: bool) -> None:
    """``_update_states``: ``scheduled_new_reqs`` first, then ``scheduled_cached_reqs``."""
    a, b, c = (request(name) for name in "abc")
    batch = PersistentBatch(SIX)
    batch.update(step(a, b))
    a.num_preemptions = int(preempted)
    batch.update(step(b, preempted=(a,) if preempted else ()))
    assert names(batch) == ["b"]
    batch.update(step(b, a, c))
    assert names(batch) == ["b", "c", "a"]


def test_an_unscheduled_request_keeps_its_blocks_and_a_preempted_one_does_not() -> None:
    a, b = request("a", 3), request("b", 3)
    batch = PersistentBatch(CONFIG)
    batch.update(step(a, b))
    held = list(batch.block_table[0, :3])
    batch.update(step(b))
    batch.update(step(b, a))
    assert list(batch.block_table[1, :3]) == held
    a.num_blocks = 0
    batch.update(step(b, preempted=(a,)))
    assert batch.row_of(a) == NO_ROW
    batch.update(step(b, request("c", 8), request("d", 5)))  # all 13 others are free again


def test_no_block_ever_belongs_to_two_requests() -> None:
    draw = random.Random(1)
    pool = [request(str(i), 0) for i in range(6)]
    batch = PersistentBatch(CONFIG)
    for _ in range(500):
        chosen = draw.sample(pool, draw.randint(1, 4))
        preempted = tuple(r for r in pool if r not in chosen and draw.random() < 0.3)
        for victim in preempted:
            victim.num_blocks = 0
        for one in chosen:
            free = 16 - sum(r.num_blocks for r in pool)
            one.num_blocks = min(one.num_blocks + draw.randint(0, 2), 8, one.num_blocks + free)
        rows = batch.update(step(*chosen, preempted=preempted))
        held = [block for row in rows for block in row.block_ids]
        assert len(held) == len(set(held)), f"a block belongs to two requests: {held}"
        for row in rows:
            table = batch.block_table[row.index, : len(row.block_ids)]
            assert list(table) == row.block_ids, f"row {row.index} reads another request's KV"
            assert batch.rows[row.index] is row
        assert len(batch.rows) == len(chosen), "condense left a hole"


def test_one_request_too_many_is_a_buffer_overrun() -> None:
    with pytest.raises(BufferOverrun, match=r"request 4, row 4: .*max_num_seqs = 4"):
        PersistentBatch(CONFIG).update(step(*(request(str(i)) for i in range(5))))


def test_blocks_counted_beyond_the_pool_are_refused() -> None:
    with pytest.raises(NoSlot, match="block-accounting: request a, row 0: 17 blocks counted"):
        PersistentBatch(CONFIG).update(step(request("a", 17)))


def test_a_request_with_more_blocks_than_the_table_has_columns_is_refused() -> None:
    with pytest.raises(PastModelLen, match="within-model-len: request a, row 0: 9 blocks"):
        PersistentBatch(CONFIG).update(step(request("a", 9)))
