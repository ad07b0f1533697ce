"""What varies in a running engine is free, or nobody may look at it: one value proves nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import text, texts

from proofs.source.check import check_source
from proofs.source.loader import Text
from proofs.verdict import PROVED, SYNC, UNDECIDED, VIOLATED

IMPORTS = """
import time

from vllm.logger import init_logger

logger = init_logger(__name__)
"""

PASSED_ON = {
    "the time": "time.time() > 5",
    "how long it took": "time.monotonic() - started > 5",
    "whether it took time": "time.perf_counter() != started",
    "the time as a text": 'f"{time.time():.1f}" == "0.0"',
    "the time, even or odd": "time.time() % 2 == 1",
    "the time within bounds": "min(time.time(), 5) == 5",
    "how full the pool is": "self.kv_cache_manager.usage > 0.5",
    "whether the pool is empty": "self.kv_cache_manager.usage",
    "an estimate": "self.kv_cache_manager.estimate_cached_tokens(request) + 1 > rows",
    "an estimate compared": "rows < self.kv_cache_manager.estimate_cached_tokens(request)",
    "blocks to come": "self.kv_cache_manager.coordinator.get_num_blocks_to_allocate() > 3",
    "the watermark": "self.scheduler_config.watermark > 0",
    "a whole prompt's reservation": "self.scheduler_config.scheduler_reserve_full_isl",
}
"""Conditions of which nothing is known."""

FREE = {
    "the number of ranks": "self.vllm_config.parallel_config.data_parallel_size == 3",
    "the rank": "self.vllm_config.parallel_config.data_parallel_index == 3",
    "look-ahead slots": "self.vllm_config.num_lookahead_tokens > 2",
    "prefix caching": "not self.vllm_config.cache_config.enable_prefix_caching",
}
"""Conditions that some configuration meets."""

HANDED_ON = {
    "a report": 'said = {"usage": self.kv_cache_manager.usage * 100, "at": time.time()}\n'
    "            logger.info(said)",
    "a log": 'logger.info(f"{time.time() - started:.1f} s, {self.kv_cache_manager.usage:.0%}")',
    "a duration": "took = (time.time() - started) / 1000 + rows\n            logger.info(took)",
}


@pytest.mark.parametrize("name", PASSED_ON)
def test_what_is_passed_on_decides_nothing(name: str) -> None:
    looks = f"if {PASSED_ON[name]}:\n                rows = -rows"
    content = texts(imports=IMPORTS, schedule="started = time.monotonic()", admit=looks)
    report = check_source(content, name, modes=[SYNC])
    assert {finding.verdict for finding in report.findings} == {UNDECIDED}, report


@pytest.mark.parametrize("name", FREE)
def test_what_is_free_takes_every_value(name: str) -> None:
    looks = f"if {FREE[name]}:\n                rows = -rows"
    report = check_source(texts(admit=looks), name, modes=[SYNC])
    found = report.finding("positive-schedule", SYNC)
    assert found is not None and found.verdict == VIOLATED, report


@pytest.mark.parametrize("name", HANDED_ON)
def test_what_is_handed_on_is_decided(name: str) -> None:
    content = texts(imports=IMPORTS, schedule="started = time.time()", admit=HANDED_ON[name])
    report = check_source(content, name, modes=[SYNC])
    assert {finding.verdict for finding in report.findings} == {PROVED}, report


def test_prefills_may_be_held_back() -> None:
    content = text(schedule="if throttle_prefills:\n            raise ValueError")
    content = content.replace("def schedule(self):", "def schedule(self, throttle_prefills=False):")
    report = check_source((Text("scheduler.py", content),), "throttled", whole_loop_too=True)
    found = report.finding("no-reachable-assert", SYNC)
    assert found is not None and found.verdict == VIOLATED
