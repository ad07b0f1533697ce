"""A waiting queue can do what vLLM's can, and no more: first come, first served it is a deque."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import text, texts
from planted import LEAST_URGENT, VICTIM, findings

from proofs.source.loader import Text, load
from proofs.source.profile import profile_for
from proofs.source.proving.induct import check_mode
from proofs.source.runs.arrangements import pair
from proofs.source.runs.deciding import STEP as DECIDED
from proofs.source.runs.harness import Harness
from proofs.source.runs.shapes import Shape
from proofs.source.runs.state import Features
from proofs.symbolic import Limits
from proofs.verdict import PROVED, SYNC, UNDECIDED

AGAIN = "\n            self.waiting.remove_request(r)\n            self.waiting.prepend_request(r)"
WALKS: dict[str, tuple[str, bool, str]] = {
    "a deque": (f"for r in self.waiting:{AGAIN}", False, UNDECIDED),
    "what is made of a deque": (f"for r in (q for q in self.waiting):{AGAIN}", False, UNDECIDED),
    "before its first": (
        "walk = iter(self.waiting)\n        for r in list(self.waiting):"
        f"{AGAIN}\n        next(walk, None)",
        False,
        UNDECIDED,
    ),
    "by priority": (f"for r in self.waiting:{AGAIN}", True, PROVED),
    "a copy": (f"for r in list(self.waiting):{AGAIN}", False, PROVED),
    "no further": (f"for r in self.waiting:{AGAIN}\n            break", False, PROVED),
    "without a change": ("for r in self.waiting:\n            pass", False, PROVED),
}
"""What a step does, by priority or not, and what comes out where one request waits."""


def _one_waits(h: Harness) -> None:
    h.waiting("W")


def _walked(schedule: str, by_priority: bool, arrange: Callable[[Harness], None]) -> set[str]:
    task = Shape("walk", arrange, Features(priority=by_priority), DECIDED).task
    loaded = load(texts(schedule=schedule), profile_for(None))
    found, _, _ = check_mode(loaded, [task], "", Limits(seconds=60), True)
    return {finding.verdict for finding in found}


@pytest.mark.parametrize("name", WALKS)
def test_who_walks_a_deque_must_not_change_it(name: str) -> None:
    schedule, by_priority, verdict = WALKS[name]
    assert _walked(schedule, by_priority, _one_waits) == {verdict}


@pytest.mark.parametrize(
    ("schedule", "verdict"),
    [
        ("for r in self.waiting:\n            pass", UNDECIDED),
        ("all(r.priority == 0 for r in self.waiting)", UNDECIDED),
        ("list(self.waiting)", UNDECIDED),
        ("for r in self.waiting:\n            break", PROVED),
    ],
)
def test_who_walks_on_meets_requests_nobody_knows(schedule: str, verdict: str) -> None:
    assert _walked(schedule, False, pair) == {verdict}


CALLS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "first come, first served": ("appendleft(request)", VICTIM, PROVED),
    "by priority": ("appendleft(request)", LEAST_URGENT, UNDECIDED),
    "several": ("extendleft([request])", VICTIM, PROVED),
    "several by priority": ("extendleft([request])", LEAST_URGENT, UNDECIDED),
    "what the harness does not know": ("insert(0, request)", VICTIM, UNDECIDED),
}


@pytest.mark.parametrize("name", CALLS)
def test_only_a_deque_has_the_methods_of_one(name: str) -> None:
    call, run, verdict = CALLS[name]
    content = text().replace("prepend_request(request)", call)
    found = findings((Text("scheduler.py", content),), SYNC, run)
    assert {finding.verdict for finding in found} == {verdict}
