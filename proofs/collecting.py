"""When a process that explores paths looks for cycles among what it holds."""

from __future__ import annotations

import gc


def collect_rarely() -> None:
    """Look among what is young alone: what lives longer lives as long as the process.

    Terms, formulas and proofs are kept for the next path, and looking through all of them again and
    again takes a tenth of the time.
    """
    gc.freeze()
    gc.set_threshold(20_000, 1_000)
