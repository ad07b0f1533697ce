"""The block pool: all the blocks a request needs, or none."""

from __future__ import annotations

import pytest

from model.kv_cache import KVCacheManager
from model.request import Request
from spec.config import Config

CONFIG = Config.checked(block_size=4, num_gpu_blocks=5)


@pytest.mark.parametrize(("tokens", "blocks"), [(1, 1), (4, 1), (5, 2), (20, 5)])
def test_blocks_are_rounded_up(tokens: int, blocks: int) -> None:
    pool, request = KVCacheManager(CONFIG), Request("r", 1, 1)
    assert pool.allocate_slots(request, tokens)
    assert (request.num_blocks, pool.num_free_blocks) == (blocks, 5 - blocks)
    assert pool.capacity(request) >= tokens


def test_a_request_grows_by_what_is_missing_and_never_shrinks() -> None:
    pool, request = KVCacheManager(CONFIG), Request("r", 1, 1)
    for tokens, blocks in ((3, 1), (9, 3), (2, 3)):
        assert pool.allocate_slots(request, tokens)
        assert request.num_blocks == blocks


def test_a_pool_that_is_too_small_changes_nothing() -> None:
    pool, first, second = KVCacheManager(CONFIG), Request("a", 1, 1), Request("b", 1, 1)
    assert pool.allocate_slots(first, 12)
    assert not pool.allocate_slots(second, 9)
    assert (second.num_blocks, pool.num_free_blocks) == (0, 2)
    pool.free(first)
    assert (first.num_blocks, pool.num_free_blocks) == (0, 5)
    assert pool.allocate_slots(second, 9)
