"""Graph dispatch and the group's agreement."""

from __future__ import annotations

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
