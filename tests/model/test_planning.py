"""The arithmetic of one decision, against numbers worked out by hand from vLLM's source."""

from __future__ import annotations

import pytest

from model.planning import (
    NO_ROWS,
    capped,
    mamba_aligned_rows,
    running_rows,
    scheduled_drafts,
    surely_ends_in_flight,
    threshold_in_force,
    waiting_rows,
)
from model.policies import BREAK, PADDED, POLICIES, RECOMMENDED, UNPADDED
from model.request import Request
from spec.config import Config

L33 = Config.checked(max_model_len=33, num_spec_tokens=3)
DIFFUSION = Config.checked(max_model_len=33, num_spec_tokens=3, num_sampled_tokens_per_step=0)
RESUMED = {"running_scheduled": True, "prefill_scheduled": False, "threshold": 0, "budget": 64}


def request(tokens: int, computed: int, placeholders: int = 0, drafts: int = 0) -> Request:
    made = Request("r", tokens, 8)
    made.num_computed_tokens = computed
    made.num_output_placeholders = placeholders
    made.num_spec_tokens = drafts
    return made


@pytest.mark.parametrize(
    ("policy", "computed", "expected"),
    [
        ("none", 20, UNPADDED),
        ("45237", 20, PADDED),
        ("45237", 29, PADDED),  # 29 + 4 = 33 = L: C lands on L, the bug of #53962
        ("45237", 30, BREAK),  # 30 + 4 > 33: starves, and everything behind it
        ("53812", 28, PADDED),  # 28 + 4 + 1 = 33
        ("53812", 29, BREAK),
        ("53962", 29, UNPADDED),
        ("54028", 28, PADDED),
        ("54028", 29, UNPADDED),
    ],
)
def test_the_length_limit_of_each_release(policy: str, computed: int, expected: str) -> None:
    assert POLICIES[policy].decide(L33, 1, computed, **RESUMED) == expected


@pytest.mark.parametrize(
    ("policy", "change", "expected"),
    [
        ("53962", {"running_scheduled": False}, UNPADDED),
        ("55126", {"running_scheduled": False}, PADDED),  # C > 0 is reason enough
        ("55126", {"prefill_scheduled": True}, UNPADDED),
        ("55126", {"threshold": 2}, PADDED),  # the assertion of #54028 follows
        ("54028", {"threshold": 2}, UNPADDED),
        ("54028", {"threshold": 4}, PADDED),  # 1 + K itself is enough
        ("54028", {"budget": 3}, BREAK),
        ("54028", {"budget": 4}, PADDED),
    ],
)
def test_what_else_decides(policy: str, change: dict[str, int], expected: str) -> None:
    assert POLICIES[policy].decide(L33, 1, 20, **{**RESUMED, **change}) == expected


def test_only_one_missing_token_is_padded_and_diffusion_never_since_47464() -> None:
    assert RECOMMENDED.decide(L33, 2, 20, **RESUMED) == UNPADDED
    assert POLICIES["45237"].decide(DIFFUSION, 1, 20, **RESUMED) == PADDED
    assert POLICIES["47464"].decide(DIFFUSION, 1, 20, **RESUMED) == UNPADDED


def waiting(policy: str, threshold: int = 0, budget: int = 64, **knobs: int) -> tuple[int, bool]:
    config = Config.checked(max_model_len=33, num_spec_tokens=3, **knobs)
    rank = POLICIES[policy]
    return waiting_rows(config, rank, request(21, 20), 20, True, False, threshold, budget)


def test_the_threshold_cuts_padded_rows() -> None:
    assert waiting("47464", threshold=2) == (2, True), "wrong tokens: 2 rows for 3 drafts"
    assert waiting("53962", threshold=2) == (2, True), "the scheduler asserts, after allocation"
    assert waiting("54028", threshold=2) == (1, False)


def test_a_prompt_that_must_not_be_split_waits_for_its_budget() -> None:
    split = Config.checked(max_model_len=33, num_spec_tokens=3)
    whole = Config.checked(max_model_len=33, num_spec_tokens=3, enable_chunked_prefill=False)
    prompt = request(20, 0)
    for config, rows in ((split, 8), (whole, NO_ROWS)):
        arguments = (config, RECOMMENDED, prompt, 0, False, False, 0, 8)
        assert waiting_rows(*arguments) == (rows, False)


def test_a_running_request_gets_what_is_missing_up_to_each_limit() -> None:
    decode = request(20, 19, drafts=3)
    assert running_rows(L33, RECOMMENDED, decode, 0, 64) == 4
    assert running_rows(L33, RECOMMENDED, decode, 2, 64) == 2
    assert running_rows(L33, RECOMMENDED, decode, 0, 3) == 3
    assert running_rows(L33, RECOMMENDED, request(31, 30, drafts=3), 0, 64) == 2  # 30 + 2 + 1 = L


def test_computed_tokens_on_the_limit_ask_for_negative_rows() -> None:
    """#53962: 30 tokens, 4 rows in flight, C = L = 33."""
    landed = request(30, 33, placeholders=4, drafts=3)
    assert running_rows(L33, POLICIES["45237"], landed, 0, 64) == -1
    assert running_rows(L33, POLICIES["50342"], landed, 0, 64) == 0


@pytest.mark.parametrize(
    ("rows", "threshold", "left"), [(9, 0, 9), (9, 4, 4), (4, 9, 4), (-1, 4, -1)]
)
def test_a_threshold_caps(rows: int, threshold: int, left: int) -> None:
    assert capped(rows, threshold) == left


def test_a_lone_request_may_be_exempt_from_the_threshold() -> None:
    exempt = Config.checked(long_prefill_token_threshold=8, exempt_only_request=True)
    strict = Config.checked(long_prefill_token_threshold=8)
    assert [threshold_in_force(exempt, n) for n in (1, 2)] == [0, 8]
    assert [threshold_in_force(strict, n) for n in (1, 2)] == [8, 8]


@pytest.mark.parametrize(
    ("rows", "drafts", "expected"), [(4, 3, 3), (2, 3, 1), (1, 3, 0), (4, 0, 0), (9, 3, 3)]
)
def test_rows_past_the_last_known_token_verify_drafts(
    rows: int, drafts: int, expected: int
) -> None:
    assert scheduled_drafts(request(20, 19, drafts=drafts), rows) == expected


@pytest.mark.parametrize(
    ("prompt", "start", "rows", "expected"),
    [
        (40, 0, 20, 16),  # a chunk that leaves prompt behind ends on a block
        (40, 0, 40, 32),  # the last boundary in the prompt is a stop
        (40, 32, 8, 8),  # and the rest follows
        (40, 10, 30, 6),  # a start inside a block stops at its end
        (40, 0, 9, 0),  # no boundary in reach: wait for a larger budget
        (20, 20, 4, 4),  # a decode is left alone
    ],
)
def test_mamba_chunks_end_on_block_boundaries(
    prompt: int, start: int, rows: int, expected: int
) -> None:
    config = Config.checked(max_model_len=64, block_size=16, mamba_align=True)
    assert mamba_aligned_rows(config, request(prompt, start), start, rows) == expected


def test_a_request_whose_end_is_in_flight_is_known() -> None:
    assert surely_ends_in_flight(request(20, 27, placeholders=1))  # 27 + 2 - 1 = 28 = P + 8
    assert not surely_ends_in_flight(request(20, 26, placeholders=1))
    assert not surely_ends_in_flight(request(20, 40))
