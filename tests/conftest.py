"""What several tests share: one computation of the whole table, also across processes."""

from __future__ import annotations

import fcntl
import os
import pickle
import time
from pathlib import Path

import pytest
from hypothesis import settings

from model.policies import POLICIES
from proofs import campaign
from proofs.campaign import Outcome
from proofs.cli import collect_rarely
from spec.invariants import IDS


@pytest.fixture(scope="session")
def whole_check(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Outcome:
    """Every policy, every invariant, both modes, as ``python -m proofs check`` computes it.

    The first test process that needs it computes; the others wait and read its result.
    """
    if worker_id == "master":
        return _compute(campaign.default_jobs())
    shared: Path = tmp_path_factory.getbasetemp().parent / "whole-check.pickle"
    with open(f"{shared}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            shared.write_bytes(pickle.dumps(_compute(jobs=1)))
        outcome: Outcome = pickle.loads(shared.read_bytes())
        return outcome


def _compute(jobs: int) -> Outcome:
    return campaign.run(
        "table", list(POLICIES.values()), IDS, time.time() + 900, jobs, lambda *_: None
    )


collect_rarely()
# No test is about time: a busy machine must not fail one.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
# Nor about the width of the window it was started in.
os.environ.pop("COLUMNS", None)
