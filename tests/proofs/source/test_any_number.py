"""Why one earlier request stands for any number: two of each, run in full, change no verdict."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import GOOD_PAD, OVERFLOWING_PAD, texts

from proofs.source.goals import Goal
from proofs.source.harness import Harness
from proofs.source.induct import check_mode
from proofs.source.loader import load
from proofs.source.profile import profile_for
from proofs.source.scenarios import Task, one_step, scheduled
from proofs.source.state import Features
from proofs.symbolic import Limits


def crowded(h: Harness) -> list[Goal]:
    """Two running and two waiting requests, the first of each standing in front of the second."""
    h.running("Q")
    h.running("R")
    h.context.assume(h.config.max_num_seqs >= 2)
    h.waiting("V")
    h.waiting("W")
    h.others_wait()
    return scheduled(h)


@pytest.mark.parametrize("pad", [GOOD_PAD, OVERFLOWING_PAD], ids=["good", "overflowing"])
def test_a_crowd_breaks_nothing_that_a_pair_keeps(pad: str) -> None:
    verdicts = []
    for tasks in (one_step(False), [Task("crowded", crowded, Features())]):
        findings, _, _ = check_mode(
            load(texts(pad), profile_for(None)), tasks, "", Limits(paths=50_000), False
        )
        verdicts.append({finding.invariant: finding.verdict for finding in findings})
    pair, crowd = verdicts
    assert crowd == pair
