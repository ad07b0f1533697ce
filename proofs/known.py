"""The table of known bugs as data: what each policy is expected to break, and in which mode.

Nothing is ever filled in from here: ``check`` computes every cell and compares.  A cell not named
below is expected to be *proved*.
"""

from __future__ import annotations

from proofs.verdict import ASYNC, PROVED, SYNC, VIOLATED

Cells = dict[str, tuple[str, ...]]

BOTH = (SYNC, ASYNC)
LIMIT: Cells = {"within-model-len": BOTH, "progress": BOTH}
"""The limit that forgets the sampled token, and the ``break`` at it (#53962)."""
NARROW: Cells = {"rows-match-drafts": BOTH, "placeholder-accounting": BOTH}
"""Padded rows cut by the threshold or by Mamba alignment, all K drafts kept (#54028, #54392)."""
LONE: Cells = {"uniform-decode": BOTH}
"""A resumed request on a rank without running work gets one row (#55126)."""
ASSERT: Cells = {"no-reachable-assert": BOTH}
"""The padded width is asserted after the threshold cut it (#54028)."""
CRASH: Cells = {"positive-schedule": (ASYNC,)}
"""C lands on L, the next row count is negative (#53962)."""

BROKEN: dict[str, Cells] = {
    "none": LONE,
    "45237": LIMIT | NARROW | LONE | CRASH | {"no-padding-diffusion": BOTH},
    "47464": LIMIT | NARROW | LONE | CRASH,
    "50342": LIMIT | NARROW | LONE,
    "53812": NARROW | LONE | {"progress": BOTH},
    "53962": LONE | ASSERT,
    "54102": LONE | ASSERT,
    "55126": ASSERT,
    "54028": {},
}
"""Policy → invariant → the modes in which it is violated."""


CLIPPED = (frozenset({"threshold"}), frozenset({"mamba"}))
"""The threshold and Mamba alignment each cut padded rows: two bugs, which show in one cell."""
CAUSES: dict[tuple[str, str], dict[str, tuple[frozenset[str], ...]]] = {
    (policy, ASYNC): {"placeholder-accounting": CLIPPED}
    for policy in ("45237", "47464", "50342", "53812")
}
"""Policy and mode → invariant → the features (``bodies.FEATURES``) of each bug behind a cell that
has several: every one must be shown by an execution of its own.  One cell of a policy is enough, as
both modes and ``rows-match-drafts`` have them from the same lines; the other bugs that share a cell
have one of their own."""
ALIKE: dict[str, tuple[str, str]] = {"54102": ("53962", "uniform-decode")}
"""Policy → another with the same row, and the cell it would stand in all the same if it decided as
that one does: some decision must tell them apart."""


def expected(policy: str, invariant: str, mode: str) -> str | None:
    """The verdict a cell is expected to have; None for a policy outside the table."""
    if policy not in BROKEN:
        return None
    return VIOLATED if mode in BROKEN[policy].get(invariant, ()) else PROVED
