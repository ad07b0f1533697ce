"""Whether KV is on its way is told by what the connector said, not by the scheduler's books."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "spec"))

from examples import DECODE

from model.environment import Quiet
from model.loads import Loads
from model.request import Request
from spec.config import Config
from spec.records import LOADING, SCHEDULED, SKIPPED, Decision

REQUEST = Request("r", 10, 5)


class Connector(Quiet):
    """Offers to load, as often as it is told to; says that a load is done when it is told to."""

    offers = True
    done = False

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        return (4, True) if self.offers else (0, False)

    def load_finished(self, request: Request) -> bool:
        return self.done


class Watched:
    """What is passed on about one request."""

    def __init__(self) -> None:
        self.connector, self.seen = Connector(), list[Any]()
        self.loads = Loads(self.connector, self.seen.append)

    def decided(self, outcome: str) -> bool:
        """Whether a decision is passed on as one about a request that loads."""
        self.loads.record(told(outcome))
        passed: Decision = self.seen[-1]
        assert passed.outcome is outcome
        return passed.is_loading

    def offered(self) -> None:
        self.loads.connector_match(REQUEST, 0)


def told(outcome: str) -> Decision:
    return replace(DECODE, request_id="r", outcome=outcome, is_loading=False)


def test_rows_for_a_request_that_was_to_load_are_seen() -> None:
    watched = Watched()
    assert not watched.decided(SCHEDULED)
    watched.offered()
    assert watched.decided(SCHEDULED)


def test_an_offer_that_was_not_taken_is_forgotten() -> None:
    watched = Watched()
    watched.offered()
    assert not watched.decided(SKIPPED)
    assert not watched.decided(SCHEDULED)


def test_a_load_lasts_until_the_connector_says_that_it_is_done() -> None:
    watched = Watched()
    watched.offered()
    assert not watched.decided(LOADING)
    for _ in range(2):
        assert not watched.loads.load_finished(REQUEST)
        assert watched.decided(SKIPPED)
    watched.connector.done = True
    assert watched.loads.load_finished(REQUEST)
    assert not watched.decided(SCHEDULED)


def test_records_of_other_kinds_are_passed_on_as_they_are() -> None:
    watched, other = Watched(), Config
    watched.loads.record(other)
    assert watched.seen == [other]
