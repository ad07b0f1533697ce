"""Graph dispatch and the group's agreement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.runner.cudagraph import Dispatch, Dispatcher, Mode, Shape, default_sizes, rounded_sizes
from spec.config import Config

CONFIG = Config.checked(
    num_spec_tokens=3, max_num_seqs=8, max_num_scheduled_tokens=128, max_num_batched_tokens=128
)


def test_sizes_are_rounded_up_to_multiples_of_one_plus_k() -> None:
    assert default_sizes(32) == [1, 2, 4, 8, 16, 24, 32]
    assert default_sizes(300)[-4:] == [248, 256, 272, 288]
    assert rounded_sizes([1, 2, 4, 8, 16], multiple=3, largest=16) == [3, 6, 9]
    assert Dispatcher(CONFIG).sizes == [4, 8, 16, 24, 32, 40, 48, 56, 64]
    assert Dispatcher(CONFIG).full_sizes == [4, 8, 16, 24, 32]


@pytest.mark.parametrize(
    ("largest", "last"),
    [
        (1, [1]),
        (7, [2, 4]),
        (8, [4, 8]),
        (255, [240, 248]),
        (256, [248, 256]),
        (271, [248, 256]),
        (272, [256, 272]),
        (511, [480, 496]),
        (512, [496, 512]),
    ],
)
def test_the_largest_default_size_is_captured_too(largest: int, last: list[int]) -> None:
    """``_set_cudagraph_sizes``: steps of 8 below 256, then 16, both ends included."""
    assert default_sizes(largest)[-2:] == last


@pytest.mark.parametrize(
    ("num_seqs", "spec", "largest", "largest_full"),
    [
        (8, 3, 64, 32),  # twice the decodes: 2 * 8 * 4
        (5, 3, 40, 16),  # 5 * 4 = 20 rows at once, and no size between 16 and 24
        (128, 3, 512, 512),  # 128 * 4 = 512 rows at once, twice that is too many
        (127, 3, 512, 496),  # 127 * 4 = 508 rows at once
        (1, 1, 4, 2),  # 1, 2, 4 rounded up to even numbers
    ],
)
def test_twice_the_decodes_are_captured_and_no_more_than_512(
    num_seqs: int, spec: int, largest: int, largest_full: int
) -> None:
    config = Config.checked(max_num_seqs=num_seqs, num_spec_tokens=spec)
    dispatcher = Dispatcher(config)
    assert dispatcher.sizes[-1] == largest
    assert dispatcher.full_sizes[-1] == largest_full


@pytest.mark.parametrize(
    ("rows", "uniform"),
    [
        ([4], True),
        ([4, 4], True),
        ([5, 3], False),  # the right sum, but not the right width
        ([3, 5, 4], False),
        ([4, 1], False),  # the right width, but not everywhere
        ([8], False),
        ([1, 1], False),
    ],
)
def test_uniform_is_one_width_everywhere(rows: list[int], uniform: bool) -> None:
    """``_is_uniform_decode``: the longest has 1 + K rows, and the sum is that times requests."""
    assert Dispatcher(CONFIG).shape(rows) == Shape(sum(rows), uniform)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (Shape(32, True), Dispatch(Mode.FULL, 32)),  # 8 decodes, all that fit
        (Shape(28, True), Dispatch(Mode.FULL, 32)),
        (Shape(36, True), Dispatch(Mode.PIECEWISE, 40)),  # more than max_num_seqs decodes
        (Shape(32, False), Dispatch(Mode.PIECEWISE, 32)),
        (Shape(33, False), Dispatch(Mode.PIECEWISE, 40)),
        (Shape(64, False), Dispatch(Mode.PIECEWISE, 64)),
        (Shape(65, False), Dispatch(Mode.NONE, 65)),
    ],
)
def test_the_last_size_of_each_kind(shape: Shape, expected: Dispatch) -> None:
    """``initialize_cudagraph_keys``: FULL up to (1 + K) * max_num_seqs, PIECEWISE up to the end."""
    assert Dispatcher(CONFIG).dispatch(shape) == expected


def test_a_uniform_decode_gets_the_next_full_graph() -> None:
    dispatcher = Dispatcher(CONFIG)
    assert dispatcher.dispatch(dispatcher.shape([4, 4, 4])) == Dispatch(Mode.FULL, 16)
    assert dispatcher.dispatch(dispatcher.shape([4])) == Dispatch(Mode.FULL, 4)


def test_one_odd_row_gets_a_piecewise_graph_and_a_long_step_none() -> None:
    dispatcher = Dispatcher(CONFIG)
    assert dispatcher.dispatch(dispatcher.shape([4, 4, 1])) == Dispatch(Mode.PIECEWISE, 16)
    assert dispatcher.dispatch(dispatcher.shape([1] * 4)) == Dispatch(Mode.PIECEWISE, 4)
    assert dispatcher.dispatch(dispatcher.shape([65])) == Dispatch(Mode.NONE, 65)


def test_sizes_of_ones_own() -> None:
    dispatcher = Dispatcher(CONFIG, sizes=[5, 17])
    assert dispatcher.sizes == [8], "17 rounds up to 20 > 17 and is not captured"
    assert Dispatcher(CONFIG, sizes=[]).dispatch(Shape(4, True)) == Dispatch(Mode.NONE, 4)


def test_diffusion_decodes_have_k_rows() -> None:
    config = Config.checked(num_spec_tokens=3, num_sampled_tokens_per_step=0)
    assert Dispatcher(config).dummy == Shape(3, True)
    assert Dispatcher(config).shape([3, 3]).uniform


def test_the_group_takes_the_lowest_mode_and_the_largest_size() -> None:
    dispatcher = Dispatcher(CONFIG)
    uniform, busy = dispatcher.shape([4]), dispatcher.shape([4] * 6)
    odd, long = dispatcher.shape([1]), dispatcher.shape([100])
    assert dispatcher.agree([uniform, busy, uniform]) == [Dispatch(Mode.FULL, 24)] * 3
    assert dispatcher.agree([uniform, busy, odd]) == [Dispatch(Mode.PIECEWISE, 24)] * 3
    assert dispatcher.agree([uniform, busy, long]) == [
        Dispatch(Mode.NONE, 4),
        Dispatch(Mode.NONE, 24),
        Dispatch(Mode.NONE, 100),
    ], "without graphs every rank keeps its own size"
    three = dispatcher.shape([1] * 3)
    assert dispatcher.agree([three, long])[0] == Dispatch(Mode.NONE, 4), "it has padded already"


def test_one_decode_is_captured_where_rounding_leaves_no_size() -> None:
    assert rounded_sizes([5], multiple=4, largest=5) == [4]
    assert rounded_sizes([5], multiple=4, largest=4) == [4]
    assert rounded_sizes([3], multiple=4, largest=3) == []
    assert rounded_sizes([], multiple=4, largest=8) == []


def test_an_idle_rank_runs_the_uniform_dummy_and_keeps_the_groups_graph() -> None:
    dispatcher = Dispatcher(CONFIG)
    assert dispatcher.shape([]) == dispatcher.dummy == Shape(4, True)
    assert dispatcher.agree([dispatcher.shape([]), dispatcher.shape([4, 4])])[0].mode is Mode.FULL


@given(st.lists(st.lists(st.integers(1, 9), max_size=8), min_size=1, max_size=5))
def test_agreement_fits_every_rank(ranks: list[list[int]]) -> None:
    dispatcher = Dispatcher(CONFIG)
    shapes = [dispatcher.shape(rows) for rows in ranks]
    agreed = dispatcher.agree(shapes)
    for shape, dispatch in zip(shapes, agreed, strict=True):
        assert dispatch.num_tokens >= shape.num_tokens
        assert dispatch.mode is agreed[0].mode
        assert shape.uniform or dispatch.mode < Mode.FULL, "a FULL graph holds uniform steps only"
        if dispatch.mode is not Mode.NONE:
            assert dispatch.num_tokens % 4 == 0
