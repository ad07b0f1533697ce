"""A text that counts further than a proof does is undecided, with its line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import texts

from proofs.source.check import check_source
from proofs.source.objects.counting import MOST
from proofs.source.verdicts import SourceReport
from proofs.verdict import PROVED, SYNC, UNDECIDED, VIOLATED


def _checked(schedule: str, init: str = "pass") -> SourceReport:
    return check_source(texts(schedule=schedule, init=init), "mini", modes=[SYNC])


@pytest.mark.parametrize(
    ("schedule", "init"),
    [
        ("assert not len(self.running) > 8", "pass"),
        ("assert not len(self.running) > self.most", "self.most = 8"),
        ("assert not 8 <= len(self.running) <= 9", "pass"),
        ("assert len(self.running) != 8", "pass"),
        ("assert len(self.running) not in (8, 9)", "pass"),
        ("assert not len(self.running) >= 4", "pass"),
        ("for _ in range(16):\n            break", "pass"),
        ("assert not len(self.running) - 8 >= 0", "pass"),
        ("assert not len(self.running) // 8", "pass"),
        ("assert not len(self.running) >> 3 >> 4", "pass"),
        ("assert len(self.running) % 8 == len(self.running)", "pass"),
        ("assert min(len(self.running), 8) == len(self.running)", "pass"),
        ("assert len(self.running[:8]) == len(self.running)", "pass"),
        ("assert all(n != len(self.running) for n in range(8, 9))", "pass"),
        ("assert sum(1 for r in self.running) < 8", "pass"),
        ("for at, r in enumerate(self.running):\n            assert at != 8", "pass"),
    ],
)
def test_what_counts_further_than_a_run_is_undecided(schedule: str, init: str) -> None:
    report = _checked(schedule, init)
    verdicts = {finding.verdict for finding in report.findings}
    assert UNDECIDED in verdicts, "a proof about three requests said nothing of eight"
    assert any("counts up to" in finding.reason for finding in report.findings), report


def test_a_long_queue_is_not_walked() -> None:
    report = _checked("assert all(r.num_tokens < 9 for r in self.waiting)")
    assert any("walks a queue" in finding.reason for finding in report.findings), report


@pytest.mark.parametrize(
    "schedule",
    [
        "seats = len(self.running) < self.max_model_len",
        "alone = len(self.running) > 1",
        "long = any(r.num_tokens > 4096 for r in self.running)",
        "many = len(self.waiting) > 8",
        "part = self.max_model_len // 8 > 512",
        "few = len(self.running) in (0, 1)",
    ],
)
def test_what_a_run_knows_is_decided(schedule: str) -> None:
    report = _checked(schedule)
    assert not [finding.reason for finding in report.findings if finding.verdict == UNDECIDED]


@pytest.mark.parametrize(("most", "verdict"), [(MOST, PROVED), (MOST - 1, VIOLATED)])
def test_a_run_has_as_many_requests_as_may_be_counted(most: int, verdict: str) -> None:
    report = check_source(
        texts(init=f"self.most = {most}", schedule="assert len(self.requests) <= self.most"),
        "mini",
        whole_loop_too=True,
        modes=[SYNC],
    )
    found = report.finding("no-reachable-assert", SYNC)
    assert found is not None and found.verdict == verdict, report
