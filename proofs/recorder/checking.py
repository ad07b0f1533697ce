"""The catalogue on one record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from spec.claims import Claim
from spec.invariants import about


@dataclass(frozen=True, slots=True)
class Broken:
    """One promise that does not hold."""

    invariant: str
    request: str
    sentence: str
    """With the numbers."""


def claims(record: Any) -> Iterator[tuple[str, Claim]]:
    """Every promise about a record."""
    for invariant in about(type(record)):
        yield invariant.id, invariant.claim(record)


def broken(record: Any) -> Iterator[Broken]:
    """The promises about a record that do not hold."""
    for invariant, claim in claims(record):
        if not claim.holds:
            yield Broken(invariant, getattr(record, "request_id", ""), claim.sentence())
