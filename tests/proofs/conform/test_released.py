"""The released engine itself, where the environment names one; otherwise skipped."""

from __future__ import annotations

import time

import pytest

from model.request import Request
from proofs.conform.campaign import compare
from proofs.conform.compare import Execution, difference, knobs
from proofs.conform.engine import EngineProcess, Installation
from proofs.conform.findings import findings
from proofs.conform.lockstep import ModelSide
from proofs.conform.releases import release_of
from proofs.conform.show import show
from tests.model import test_standstill as standstill

pytestmark = pytest.mark.engine
STEPS = 3000


def test_no_difference(released: tuple[Installation, str]) -> None:
    installation, version = released
    with EngineProcess(installation, version) as engine:
        result = compare(release_of(version), engine, 0, STEPS, lambda steps: None)
    if result.found is not None:
        pytest.fail(show(*result.found, release_of(version).policy.name, version))
    assert result.num_steps >= STEPS


@pytest.mark.parametrize("async_scheduling", [False, True])
def test_loads_that_hold_all_blocks_stop_the_engine_too(
    released: tuple[Installation, str], async_scheduling: bool
) -> None:
    installation, version = released
    release, world = release_of(version), standstill.OneLoad()
    config = standstill.config(async_scheduling)
    side = ModelSide(config, release.policy, world, release.scheduler)
    for order in range(standstill.REQUESTS):
        side.add_request(Request(f"r{order}", standstill.PROMPT, 2, 0, order))
    for _ in range(10):
        side.advance()
    execution = Execution(config, tuple(side.calls), tuple(side.seen), side.num_steps)
    with EngineProcess(installation, version) as engine:
        seen = engine.play(knobs(config), execution.calls)
    assert difference(execution, seen) is None
    assert seen[-1]["free_blocks"] == 0 and not seen[-1]["running"]


def test_every_finding_is_confirmed(released: tuple[Installation, str]) -> None:
    installation, version = released
    with EngineProcess(installation, version) as engine:
        told = list(findings(release_of(version), engine, time.time() + 300))
    assert told
    assert [finding for finding in told if not finding.confirmed] == []
