"""Two explicit data-parallel ranks say what the free flag for the other ranks says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import GOOD_PAD, texts

from proofs.source.check import check_source
from proofs.source.errors import CANNOT_TELL, SourceError
from proofs.source.fetch import fetch_release
from proofs.source.loader import Loaded, Text, load
from proofs.source.profile import profile_for
from proofs.source.proving.concrete import replay
from proofs.source.proving.induct import check_mode
from proofs.source.runs.arrangements import one_running, pair
from proofs.source.runs.harness import Harness
from proofs.source.runs.ranks import INVARIANT, two_ranks
from proofs.source.runs.shapes import Task
from proofs.source.runs.state import Features
from proofs.source.verdicts import Finding
from proofs.symbolic import Limits
from proofs.verdict import ASYNC, MODES, PROVED, SYNC, VIOLATED

ONLY_WITH_RUNNING_WORK = GOOD_PAD.replace("if room and", "if room and rows_of and")


def _idle(h: Harness) -> None:
    """A rank with nothing running."""
    h.waiting("W")
    h.others_wait()


def _task(mode: str, first: str) -> Task:
    arrange = _idle if first == "idle" else pair
    return Task("two ranks", two_ranks(arrange, one_running), Features(mode == ASYNC))


def _explicit(loaded: Loaded, mode: str, first: str) -> Finding:
    found, _, _ = check_mode(loaded, [_task(mode, first)], "", Limits(paths=20_000), False)
    return next(finding for finding in found if finding.invariant == INVARIANT)


def _by_flag(content: tuple[Text, ...], version: str | None, mode: str) -> str:
    finding = check_source(content, "", version, modes=[mode]).finding(INVARIANT, mode)
    assert finding is not None
    return finding.verdict


@pytest.mark.parametrize("first", ["idle", "busy"])
@pytest.mark.parametrize(
    ("rule", "verdict"), [(GOOD_PAD, PROVED), (ONLY_WITH_RUNNING_WORK, VIOLATED)]
)
def test_both_arguments_agree_on_a_scheduler_of_our_own(
    rule: str, verdict: str, first: str
) -> None:
    content = texts(rule)
    assert _by_flag(content, None, SYNC) == verdict
    assert _explicit(load(content, profile_for(None)), SYNC, first).verdict == verdict


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("version", "verdict"), [("0.29.0", VIOLATED), ("0.33.0", PROVED)])
def test_both_arguments_agree_on_a_release(version: str, verdict: str, mode: str) -> None:
    try:
        content = fetch_release(version).texts
    except SourceError as error:
        if error.status != CANNOT_TELL:
            raise
        pytest.skip(str(error))
    assert _by_flag(content, version, mode) == verdict
    loaded = load(content, profile_for(version))
    finding = _explicit(loaded, mode, "idle")
    assert finding.verdict == verdict
    if finding.trace is not None and finding.trace.scenario is not None:
        answers = finding.trace.scenario["answers"]
        assert replay(loaded, _task(mode, "idle"), answers, INVARIANT) == finding.trace


def test_the_trace_shows_both_ranks() -> None:
    finding = _explicit(load(texts(ONLY_WITH_RUNNING_WORK), profile_for(None)), SYNC, "idle")
    assert finding.trace is not None
    first, second = finding.trace.steps
    assert (first.rank, second.rank) == (0, 1)
    violation = finding.trace.violation
    assert violation.left == first.requests[0].num_scheduled_tokens == 1
    assert violation.right == second.requests[0].num_scheduled_tokens
    assert violation.right == 1 + finding.trace.config["num_spec_tokens"]
