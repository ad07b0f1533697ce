"""The table of known bugs as data: what each policy is expected to break, and in which mode.

Nothing is ever filled in from here: ``check`` computes every cell and compares.  A cell not named
below is expected to be *proved*.
"""

from __future__ import annotations

from proofs.verdict import ASYNC, MODES, PROVED, SYNC, VIOLATED

BROKEN: dict[str, dict[str, tuple[str, ...]]] = {}
"""Policy → invariant → the modes in which it is violated."""


def expected(policy: str, invariant: str, mode: str) -> str | None:
    """The verdict a cell is expected to have; None for a policy outside the table."""
    if policy not in BROKEN:
        return None
    return VIOLATED if mode in BROKEN[policy].get(invariant, ()) else PROVED


__all__ = ["ASYNC", "BROKEN", "MODES", "SYNC", "expected"]
