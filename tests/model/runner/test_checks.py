"""Every limit of the checks, on both sides: the last legal number, and the first illegal one."""

from __future__ import annotations

import pytest

from model.environment import Sample
from model.request import Request, RequestStatus
from model.runner.checks import check_budgets, check_sample, check_share
from model.runner.errors import (
    BufferOverrun,
    Miscounted,
    NoRows,
    NoSlot,
    NothingSampled,
    PastModelLen,
    RowsWithoutDrafts,
    RunnerError,
)
from model.step import Scheduled
from spec.config import Config

CONFIG = Config.checked(max_model_len=64, num_spec_tokens=3, block_size=16)
"""L = 64, K = 3, s = 1, 16 tokens to a block."""


def victim(num_tokens: int = 8, num_blocks: int = 4) -> Request:
    request = Request("victim", num_tokens, 64)
    request.status = RequestStatus.RUNNING
    request.num_blocks = num_blocks
    return request


@pytest.mark.parametrize(
    ("n", "drafts", "computed", "known", "blocks", "error"),
    [
        (1, 0, 7, 8, 4, None),
        (4, 3, 7, 8, 4, None),
        (0, 0, 8, 8, 4, NoRows),
        (-1, 0, 9, 8, 4, NoRows),
        # ``logits_indices``: the last 1 + drafts rows are the last known token and the drafts.
        (1, 0, 6, 8, 4, RowsWithoutDrafts),  # end at 7, one short of the last known token
        (1, 0, 8, 8, 4, RowsWithoutDrafts),  # end at 9, one past it
        (4, 3, 6, 8, 4, RowsWithoutDrafts),  # end at 10 of 8 + 3
        (4, 3, 8, 8, 4, RowsWithoutDrafts),  # end at 12 of 8 + 3
        (5, 3, 6, 8, 4, RowsWithoutDrafts),  # end right, but a known token too many for a decode
        # Slots are those of the blocks held: tokens 0 to 15 lie in the first of 16.
        (1, 0, 15, 16, 1, None),
        (1, 0, 16, 17, 1, NoSlot),  # 17 tokens for 16 slots
        (1, 0, 16, 17, 2, None),
        (4, 3, 12, 13, 1, None),
        (4, 3, 13, 14, 1, NoSlot),
        (1, 0, 0, 1, 0, NoSlot),
        # ``_bookkeeping_sync``: the sampled token must have a place below L too.
        (4, 3, 59, 60, 4, None),  # rows end at 63, their sample at 64
        (4, 3, 60, 61, 4, PastModelLen),
        (1, 0, 62, 63, 4, None),
        (1, 0, 63, 64, 4, PastModelLen),
    ],
)
def test_the_limits_of_a_share(
    n: int, drafts: int, computed: int, known: int, blocks: int, error: type[RunnerError] | None
) -> None:
    share = Scheduled(victim(num_blocks=blocks), n, drafts, False, True)
    if error is None:
        check_share(CONFIG, share, 0, computed, known)
    else:
        with pytest.raises(error):
            check_share(CONFIG, share, 0, computed, known)


@pytest.mark.parametrize(
    ("n", "drafts", "computed", "error"),
    [
        (64, 0, 0, None),  # a chunk samples nothing: it may end at L
        (16, 0, 49, PastModelLen),
        (4, 3, 0, RowsWithoutDrafts),
        (4, 1, 0, RowsWithoutDrafts),
    ],
)
def test_the_limits_of_a_prefill_chunk(
    n: int, drafts: int, computed: int, error: type[RunnerError] | None
) -> None:
    chunk = Scheduled(victim(), n, drafts, False, False)
    if error is None:
        check_share(CONFIG, chunk, 0, computed, 80)
    else:
        with pytest.raises(error):
            check_share(CONFIG, chunk, 0, computed, 80)


@pytest.mark.parametrize(
    ("rows", "requests", "fits"),
    [(12, 1, True), (13, 1, False), (10, 5, True), (11, 5, False), (10, 6, False)],
)
def test_the_limits_of_a_step(rows: int, requests: int, fits: bool) -> None:
    """B = 12 rows, and I = 15 inputs, of which each request takes one more."""
    config = Config(max_num_scheduled_tokens=12, max_num_batched_tokens=15, draft_slots=1)
    if fits:
        check_budgets(config, victim(), 0, rows, requests)
    else:
        with pytest.raises(BufferOverrun):
            check_budgets(config, victim(), 0, rows, requests)


@pytest.mark.parametrize(
    ("num_tokens", "drafts", "padded", "sample", "error"),
    [
        (8, 3, False, Sample(1), None),
        (8, 3, False, Sample(0), NothingSampled),
        (8, 3, False, Sample(4), None),  # three drafts and the bonus token
        (8, 3, False, Sample(5), Miscounted),
        (8, 0, False, Sample(1), None),
        (8, 0, False, Sample(2), Miscounted),
        # -1 is no token: not one placeholder may be accepted, padded rows or not.
        (8, 3, False, Sample(3, num_accepted_placeholders=1), Miscounted),
        (8, 3, False, Sample(4, num_accepted_placeholders=2), Miscounted),
        (8, 3, True, Sample(1), None),
        (8, 3, True, Sample(2), Miscounted),
        (8, 3, True, Sample(4), Miscounted),
        # ``assert end_idx <= self.max_model_len``
        (60, 3, False, Sample(4), None),
        (61, 3, False, Sample(4), PastModelLen),
        (63, 0, False, Sample(1), None),
        (64, 0, False, Sample(1), PastModelLen),
    ],
)
def test_the_limits_of_a_sample(
    num_tokens: int, drafts: int, padded: bool, sample: Sample, error: type[RunnerError] | None
) -> None:
    request = victim(num_tokens)
    if error is None:
        check_sample(CONFIG, request, 0, drafts, padded, sample)
    else:
        with pytest.raises(error):
            check_sample(CONFIG, request, 0, drafts, padded, sample)
