"""A handler of the text catches an exception: is it one that Python would have raised there?"""

from __future__ import annotations

from proofs.source.objects.host import Host
from proofs.symbolic import Veiled
from proofs.symbolic.active import ACTIVE

AMBIGUOUS = (TypeError, AttributeError, NameError, RecursionError, MemoryError)
"""Exceptions that a stand-in, or the prover's own depth, may cause where Python would go on."""


def caught(host: Host, error: BaseException | None) -> None:
    """Leave the path undecided if nobody knows whether an engine would have come here."""
    if isinstance(error, AMBIGUOUS) and (ACTIVE.get() is not None or host.world is None):
        kind = type(error).__name__
        host.undecided(f"a handler catches a {kind}, which a stand-in may have caused")
    if error is not None and error.args and _is_ours(host, error):
        error.args = tuple(Veiled(str, "what an exception says") for _ in error.args)


def _is_ours(host: Host, error: BaseException) -> bool:
    """Whether a stand-in raised it, in words of its own."""
    frames = host.frames(error)
    return bool(frames) and frames[-1][0] not in host.files
