"""What a search says when it cannot look everywhere."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from editing import edited

from model import engine, output
from model.policies import PR_45237
from proofs.search import Search, search
from proofs.verdict import SYNC

WANTED = "within-model-len"
PLAIN = {WANTED: (frozenset[str](),)}


def test_a_search_that_may_look_everywhere_finds_it() -> None:
    found = search(Search(PR_45237, SYNC, PLAIN))
    assert WANTED in found.scenarios


def test_a_search_that_runs_out_of_paths_does_not_say_that_nothing_is_there() -> None:
    found = search(Search(PR_45237, SYNC, PLAIN, paths=3))
    assert found.statistics.paths <= 3
    assert not found.complete and WANTED not in found.scenarios


def test_a_promise_without_a_meaning_leaves_the_search_incomplete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``~`` makes a number of a truth value, of which a promise cannot be made."""
    denied = edited(output.is_decode, "not_(request.is_prefill_chunk)", "~request.is_prefill_chunk")
    for module in (output, engine):
        monkeypatch.setattr(module, "is_decode", denied)
    found = search(Search(PR_45237, SYNC, {"placeholder-accounting": PLAIN[WANTED]}))
    assert not found.complete
