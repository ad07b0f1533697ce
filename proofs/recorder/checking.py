"""The catalogue on one record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from spec.claims import Claim
from spec.invariants import CATALOGUE, Invariant

BY_RECORD: dict[type, list[Invariant]] = {}
for _entry in CATALOGUE:
    BY_RECORD.setdefault(_entry.about, []).append(_entry)


@dataclass(frozen=True, slots=True)
class Broken:
    """One promise that does not hold."""

    invariant: str
    request: str
    sentence: str
    """With the numbers."""


def claims(record: Any) -> Iterator[tuple[str, Claim]]:
    """Every promise about a record."""
    for invariant in BY_RECORD[type(record)]:
        yield invariant.id, invariant.claim(record)


def broken(record: Any) -> Iterator[Broken]:
    """The promises about a record that do not hold."""
    for invariant, claim in claims(record):
        if not claim.holds:
            yield Broken(invariant, getattr(record, "request_id", ""), claim.sentence())
