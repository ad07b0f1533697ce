"""Policies that break the same promises, told apart by a decision."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.policies import DROP, POLICIES
from proofs.alike import told_apart
from proofs.symbolic import Limits
from proofs.verdict import MODES

RESTORES, DROPS = POLICIES["54102"], POLICIES["53962"]


@pytest.mark.parametrize("mode", MODES)
def test_a_policy_differs_from_another_and_not_from_its_like(mode: str) -> None:
    assert told_apart(RESTORES, DROPS, mode, Limits()) is True
    assert told_apart(replace(RESTORES, when_clipped=DROP), DROPS, mode, Limits()) is False


def test_without_time_nothing_is_said() -> None:
    assert told_apart(RESTORES, RESTORES, MODES[0], Limits(seconds=0.0)) is None
