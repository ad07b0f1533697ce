"""What several tests share: one computation of the whole table."""

from __future__ import annotations

import time

import pytest

from model.policies import POLICIES
from proofs import campaign
from proofs.campaign import Outcome
from spec.invariants import IDS


@pytest.fixture(scope="session")
def whole_check() -> Outcome:
    """Every policy, every invariant, both modes, as ``python -m proofs check`` computes it."""
    return campaign.run(
        "table",
        list(POLICIES.values()),
        IDS,
        time.time() + 600,
        campaign.default_jobs(),
        lambda *_: None,
    )
