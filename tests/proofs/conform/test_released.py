"""The released engine itself, where the environment names one; otherwise skipped."""

from __future__ import annotations

import time

import pytest

from proofs.conform.campaign import compare
from proofs.conform.engine import EngineProcess, Installation
from proofs.conform.findings import findings
from proofs.conform.releases import release_of
from proofs.conform.show import show

pytestmark = pytest.mark.engine
STEPS = 3000


def test_no_difference(released: tuple[Installation, str]) -> None:
    installation, version = released
    with EngineProcess(installation, version) as engine:
        result = compare(release_of(version), engine, 0, STEPS, lambda steps: None)
    if result.found is not None:
        pytest.fail(show(*result.found, release_of(version).policy.name, version))
    assert result.num_steps >= STEPS


def test_every_finding_is_confirmed(released: tuple[Installation, str]) -> None:
    installation, version = released
    with EngineProcess(installation, version) as engine:
        told = list(findings(release_of(version), engine, time.time() + 300))
    assert told
    assert [finding for finding in told if not finding.confirmed] == []
