"""Bugs in what a step asks of the pool, in who comes first, in loads that end, in prefills held
back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from planted import HELD_BACK, LOADING, MAMBA, ONE, STEP, Plant, verdicts_about

from proofs.verdict import ASYNC, VIOLATED

EMPTY = ("step, nobody",)
BEHIND = ("step, behind who holds KV",)
LOADED = ("booking, a load is done",)
BESIDE = ("running, prefills held back",)
CACHED = "new_computed_blocks=new_computed_blocks,\n                    num_lookahead_tokens"
HOLDERS_FIRST = (
    "request_queue = self.kv_holding_waiting\n"
    "                if not request_queue and self._pause_state == PauseState.UNPAUSED:\n"
    "                    request_queue = self.waiting\n"
)
HOLDERS_LAST = (
    "request_queue = self.waiting\n"
    "                if not request_queue:\n"
    "                    request_queue = self.kv_holding_waiting\n"
)
TRUNCATED = "self.kv_cache_manager.truncate_computed_blocks("
CUT = (
    "next_block_boundary\n"
    "            if start % block_size != 0 and not use_internal_checkpoint\n"
    "            else 0,\n"
)

PLANTS: dict[str, Plant] = {
    "no slots for what the drafter writes": Plant(
        "block-accounting", STEP, "num_lookahead_tokens=self.num_lookahead_tokens,", "\n"
    ),
    "cached blocks that are counted and not handed on": Plant(
        "block-accounting", STEP, CACHED, "num_lookahead_tokens"
    ),
    "more cached blocks than are counted": Plant(
        "block-accounting", LOADING, TRUNCATED, "(lambda blocks, tokens: blocks)("
    ),
    "a pool that is not told of a step": Plant(
        "block-accounting", EMPTY, "self.kv_cache_manager.new_step_starts()", "pass"
    ),
    "a chunk across the end of a wide block": Plant("block-accounting", MAMBA, CUT, "\n"),
    "a chunk across the last end of a block": Plant(
        "block-accounting",
        MAMBA,
        "last_cache_position,\n            # Stop at the prompt",
        "# Stop at the prompt",
    ),
    "who holds KV comes last": Plant("progress", BEHIND, HOLDERS_FIRST, HOLDERS_LAST),
    "who was passed over comes last": Plant(
        "progress",
        BEHIND,
        "return self.skipped_waiting or self.waiting or None",
        "return self.waiting or self.skipped_waiting or None",
        version="0.30.0",
    ),
    "rows in flight put into the prefix cache": Plant(
        "block-accounting",
        ONE,
        "request.num_computed_tokens - request.num_in_flight_tokens,\n                    )",
        "request.num_computed_tokens,\n                    )",
        mode=ASYNC,
    ),
    "more put into the prefix cache than was loaded": Plant(
        "block-accounting",
        LOADING,
        "# This will cache the blocks iff caching is enabled.\n"
        "            self.kv_cache_manager.cache_blocks(request, request.num_computed_tokens)",
        "self.kv_cache_manager.cache_blocks(request, request.num_tokens)",
    ),
    "a load whose end is forgotten": Plant(
        "progress", LOADED, "self.finished_recving_kv_req_ids.add(req_id)", "pass"
    ),
    "a running prefill that is not held back": Plant(
        "uniform-decode",
        BESIDE,
        "if defer_prefills and request.is_prefill_chunk:",
        "if defer_prefills and request.is_prefill_chunk and req_index > 0:",
    ),
    "a resumed prefill that is not held back": Plant(
        "uniform-decode",
        HELD_BACK,
        "elif defer_prefills and num_computed_tokens < request.num_tokens - 1:",
        "elif defer_prefills and num_computed_tokens < request.num_prompt_tokens - 1:",
    ),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_bug_in_what_is_asked_is_found(name: str) -> None:
    about = verdicts_about(PLANTS[name])
    assert VIOLATED in about, about
