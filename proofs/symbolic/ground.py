"""`Ground`: what explorations of one function may have in common, one after the other.

Terms are interned, translated and defined once; what was proved on a path is a statement about the
inputs (see `lemmas`), and as true in the next exploration that declares the same inputs, whatever
other decisions its runs make.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import NoReturn

from proofs.symbolic.backend import Backend
from proofs.symbolic.bools import SymBool
from proofs.symbolic.lemmas import Proved
from proofs.symbolic.lowering import Lowering
from proofs.symbolic.pool import Pool
from proofs.symbolic.solver import Found


class Ground:
    """Z3's context, the terms made so far, their translation, what was proved about them, and
    the inputs that were found."""

    def __init__(self) -> None:
        self.lowering = Lowering(Backend())
        self.proved: Proved = {}
        self.found: Found = {}
        self.pool: Pool = Pool(_nobody_decides, _nobody_decides)

    def serve(self, decide: Callable[[SymBool], bool], refuse: Callable[[str], NoReturn]) -> Pool:
        """The terms, for an exploration that begins: it is asked from now on."""
        self.pool.decide, self.pool.refuse = decide, refuse
        return self.pool


class Grounds(defaultdict[Hashable, Ground]):
    """A ground for each kind of exploration, by the name of the kind."""

    def __init__(self) -> None:
        super().__init__(Ground)


def _nobody_decides(what: object) -> NoReturn:
    raise RuntimeError(f"no exploration has begun in which {what!r} could be decided")
