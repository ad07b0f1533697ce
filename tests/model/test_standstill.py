"""What ``progress`` does not promise: loads that hold all KV blocks bring everything to a stop.

Reported for the engine as #45388 and #57841, for FCFS without ``scheduler_reserve_full_isl`` and
otherwise; ``tests/proofs/conform/test_released.py`` plays the same on the released object.
"""

from __future__ import annotations

from typing import Any

import pytest

from model.engine import Engine
from model.environment import Quiet
from model.policies import RECOMMENDED
from model.request import Request, RequestStatus
from spec.config import Config
from spec.invariants import about

REQUESTS, PROMPT, LOADED = 4, 6, 2


class OneLoad(Quiet):
    """A connector that loads a part of each prompt by itself, once."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        first = request.request_id not in self.asked
        self.asked.add(request.request_id)
        return (LOADED, True) if first else (0, False)


def config(async_scheduling: bool) -> Config:
    """Blocks for any one of the requests, or for what is loaded of all."""
    return Config.checked(
        max_model_len=8,
        num_spec_tokens=1,
        max_num_scheduled_tokens=16,
        max_num_batched_tokens=16,
        max_num_seqs=REQUESTS,
        block_size=1,
        num_gpu_blocks=REQUESTS * LOADED,
        async_scheduling=async_scheduling,
    )


@pytest.mark.parametrize("async_scheduling", [False, True])
def test_loads_that_hold_all_blocks_stop_everybody_and_break_no_promise(
    async_scheduling: bool,
) -> None:
    broken: list[str] = []

    def judge(record: Any) -> None:
        broken.extend(i.id for i in about(type(record)) if not i.claim(record).holds)

    engine = Engine(config(async_scheduling), RECOMMENDED, OneLoad(), judge)
    requests = [Request(f"r{i}", PROMPT, 2, arrival_time=i) for i in range(REQUESTS)]
    for request in requests:
        engine.add_request(request)
    steps = [engine.step() for _ in range(20)]
    assert not any(step.scheduled for step in steps)
    first, *others = [request.status for request in requests]
    assert first is RequestStatus.WAITING
    assert set(others) == {RequestStatus.WAITING_FOR_REMOTE_KVS}
    assert engine.scheduler.kv_cache_manager.num_free_blocks == 0
    assert not broken
