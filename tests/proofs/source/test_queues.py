"""A waiting queue can do what vLLM's can, and no more: first come, first served it is a deque."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import text, texts
from planted import LEAST_URGENT, STEP, URGENCY, VICTIM, findings

from proofs.source.loader import Text
from proofs.verdict import PROVED, SYNC, UNDECIDED

AGAIN = "\n            self.waiting.remove_request(r)\n            self.waiting.prepend_request(r)"
WALKS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "a deque": (f"for r in self.waiting:{AGAIN}", STEP, UNDECIDED),
    "what is made of a deque": (f"for r in (q for q in self.waiting):{AGAIN}", STEP, UNDECIDED),
    "before its first": (
        "walk = iter(self.waiting)\n        for r in list(self.waiting):"
        f"{AGAIN}\n        next(walk, None)",
        STEP,
        UNDECIDED,
    ),
    "by priority": (f"for r in self.waiting:{AGAIN}", URGENCY, PROVED),
    "a copy": (f"for r in list(self.waiting):{AGAIN}", STEP, PROVED),
    "no further": (f"for r in self.waiting:{AGAIN}\n            break", STEP, PROVED),
    "without a change": ("for r in self.waiting:\n            pass", STEP, PROVED),
}


@pytest.mark.parametrize("name", WALKS)
def test_who_walks_a_deque_must_not_change_it(name: str) -> None:
    schedule, run, verdict = WALKS[name]
    found = findings(texts(schedule=schedule), SYNC, run)
    assert {finding.verdict for finding in found} == {verdict}


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
