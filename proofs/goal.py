"""`Goal`: what must hold at the end of a path, and which id of the catalogue is at stake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Goal:
    """One formula to prove at the end of a path."""

    invariant: str
    """The catalogue id that is at stake."""
    name: str
    """The claim's function or the clause's name."""
    formula: bool
    granted: Mapping[str, bool] = field(default_factory=dict)
    """Tracked extra hypotheses: assumptions by id, and ``not <waiver>`` for each waiver."""


NOTHING: Mapping[str, bool] = MappingProxyType({})
QUEUED = "queued-holds-no-block"
"""The clause about requests that wait; which queue holds them says which of them it is about."""
FRAMED = {
    "request": "request-conservation",
    "scheduler": "request-conservation",
    "engine": "request-conservation",
    "pool": "block-accounting",
    "step": "within-budget",
}
"""Watched object → the catalogue id at stake when something changes it that has no business to."""
WAIVED = "unless:"
"""Prefix of a tracked hypothesis that says a waiver does not apply."""
