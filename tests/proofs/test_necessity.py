"""Each assumption that can be dropped is needed: without it the recommended policy breaks."""

from __future__ import annotations

import pytest

from proofs.necessity import CORNERS, WITNESSES, without
from proofs.symbolic import Limits
from spec.waivers import WAIVERS

NEEDED = {name: invariant for name, (invariant, _) in (CORNERS | WITNESSES).items()}


@pytest.mark.parametrize("assumption", NEEDED)
def test_dropping_an_assumption_breaks_a_promise(assumption: str) -> None:
    trace = without(assumption, Limits(seconds=60))
    assert trace is not None, f"{assumption} seems not to be needed: drop it, or show why it is"
    assert trace.violation.id == NEEDED[assumption]


def test_every_waiver_has_a_step_that_needs_it() -> None:
    assert {waiver.id for waiver in WAIVERS} <= set(NEEDED)


def test_what_cannot_be_dropped_is_not_claimed_to_be_needed() -> None:
    assert without("output-in-order", Limits()) is None
