"""Why one earlier request stands for any number: two of each, run in full, change no verdict."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import GOOD_PAD, OVERFLOWING_PAD, text, texts

from proofs.source.check import check_source
from proofs.source.loader import Text, load
from proofs.source.profile import profile_for
from proofs.source.proving.induct import check_mode
from proofs.source.runs.deciding import STEP
from proofs.source.runs.harness import Harness
from proofs.source.runs.scenarios import one_step
from proofs.source.runs.shapes import Shape
from proofs.source.runs.state import Features
from proofs.symbolic import Limits
from proofs.verdict import SYNC, VIOLATED


def crowded(h: Harness) -> None:
    """Two running and two waiting requests, the first of each standing in front of the second."""
    h.running("Q")
    h.running("R")
    h.context.assume(h.config.max_num_seqs >= 2)
    h.waiting("V")
    h.waiting("W")
    h.others_wait()


@pytest.mark.parametrize("pad", [GOOD_PAD, OVERFLOWING_PAD], ids=["good", "overflowing"])
def test_a_crowd_breaks_nothing_that_a_pair_keeps(pad: str) -> None:
    verdicts = []
    for tasks in (one_step(False), [Shape("crowded", crowded, Features(), STEP).task]):
        findings, _, _ = check_mode(
            load(texts(pad), profile_for(None)), tasks, "", Limits(paths=50_000), False
        )
        verdicts.append({finding.invariant: finding.verdict for finding in findings})
    pair, crowd = verdicts
    assert crowd == pair


@pytest.mark.parametrize(
    ("old", "new", "invariant"),
    [
        (
            "rows_of[request.request_id] = rows\n            budget -= rows\n            if padded",
            "rows_of[request.request_id] = rows\n            if padded",
            "within-budget",
        ),
        ("prefill |= request", "prefill = request", "no-padding-with-prefill"),
        (
            "rows = self.cap(rows)\n            if rows",
            "rows = self.cap(rows) if len(self.running) > 1 or not padded else 1\n"
            "            if rows",
            "uniform-decode",
        ),
    ],
    ids=["the waiting pass spends no budget", "the last prefill counts", "two are running"],
)
def test_a_text_that_counts_requests_is_caught(old: str, new: str, invariant: str) -> None:
    content = text(GOOD_PAD)
    assert content.count(old) == 1
    content = content.replace(old, new)
    report = check_source(
        (Text("scheduler.py", content),), "mini", whole_loop_too=True, modes=[SYNC]
    )
    found = report.finding(invariant, SYNC)
    assert found is not None and found.verdict == VIOLATED, report
