"""Every waiver applies exactly where it says."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from examples import CONFIG, DECODE

from spec.records import Decision
from spec.waivers import WAIVERS

WAIVED = {
    "length-boundary": replace(DECODE, num_computed_tokens=28),
    "fewer-drafts": replace(DECODE, num_spec_tokens=2),
    "small-budget": replace(DECODE, config=replace(CONFIG, max_num_scheduled_tokens=15)),
    "small-threshold": replace(DECODE, config=replace(CONFIG, long_prefill_token_threshold=3)),
    "mamba-clip": replace(
        DECODE,
        config=replace(CONFIG, mamba_align=True),
        from_waiting=True,
        num_computed_tokens=13,  # inside a block whose end, 16, lies in the padded rows
    ),
    "withdrawn-prefill": replace(
        DECODE, config=replace(CONFIG, priority_scheduling=True), prefill_withdrawn=True
    ),
}
JUST_NOT_WAIVED = {
    "length-boundary": replace(DECODE, num_computed_tokens=27),
    "fewer-drafts": replace(DECODE, num_spec_tokens=2, from_waiting=True),
    "small-budget": replace(DECODE, config=replace(CONFIG, max_num_scheduled_tokens=16)),
    "small-threshold": replace(DECODE, config=replace(CONFIG, long_prefill_token_threshold=4)),
    "mamba-clip": replace(
        DECODE,
        config=replace(CONFIG, mamba_align=True),
        from_waiting=True,
        num_computed_tokens=12,  # the padded rows end at 15, one short of the boundary
    ),
    "withdrawn-prefill": replace(DECODE, prefill_withdrawn=True),
}


def _decode(num_computed_tokens: int = 19, **knobs: Any) -> Decision:
    """A decode of the waiting pass under other knobs."""
    config = replace(CONFIG, **knobs)
    return replace(
        DECODE, config=config, from_waiting=True, num_computed_tokens=num_computed_tokens
    )


ON_BOTH_SIDES = (
    # M = 4 sequences of 1 + K = 4 rows and D = 2 slots each
    ("small-budget", True, _decode(draft_slots=2, max_num_batched_tokens=23)),
    ("small-budget", False, _decode(draft_slots=2, max_num_batched_tokens=24)),
    ("small-threshold", True, _decode(long_prefill_token_threshold=1)),
    ("small-threshold", False, _decode(long_prefill_token_threshold=0)),
    # blocks of 16 tokens: only a start inside one can be clipped
    ("mamba-clip", True, _decode(17, mamba_align=True, num_spec_tokens=15)),
    ("mamba-clip", False, _decode(16, mamba_align=True, num_spec_tokens=16)),
)


@pytest.mark.parametrize(("name", "applies", "decided"), ON_BOTH_SIDES)
def test_a_waiver_on_both_sides(name: str, applies: bool, decided: Decision) -> None:
    (waiver,) = (waiver for waiver in WAIVERS if waiver.id == name)
    assert bool(waiver.applies(decided)) is applies


@pytest.mark.parametrize("waiver", WAIVERS, ids=lambda waiver: str(waiver.id))
def test_a_waiver_applies_exactly_from_its_boundary_on(waiver: Any) -> None:
    assert waiver.applies(WAIVED[waiver.id])
    assert not waiver.applies(JUST_NOT_WAIVED[waiver.id])
    assert waiver.statement and waiver.why and waiver.source


def test_every_waiver_is_tested_and_none_applies_to_an_ordinary_decode() -> None:
    assert {waiver.id for waiver in WAIVERS} == WAIVED.keys() == JUST_NOT_WAIVED.keys()
    assert not any(waiver.applies(DECODE) for waiver in WAIVERS)
