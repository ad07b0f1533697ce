"""Where a random execution's choices come from, and how they are kept so that it can be shrunk.

Every choice is an integer in a range whose lower end is the simplest value.  Choices are kept in
groups, one per step of the execution: leaving a group out leaves out a step, and the choices of
the other steps stay aligned.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")
Groups = Sequence[Sequence[int]]
"""Choices as distances from the lower end of their range, by group."""


class Draw(Protocol):
    """A source of choices."""

    def integer(self, low: int, high: int) -> int:
        """A number from ``low``, the simplest, to ``high``."""


def pick(draw: Draw, options: Sequence[T]) -> T:
    """One of several options, the simplest first."""
    return options[draw.integer(0, len(options) - 1)]


def seldom(draw: Draw, one_in: int) -> bool:
    """True once in so many times."""
    return draw.integer(0, one_in - 1) == one_in - 1


class Tape:
    """Choices drawn at random, or read back; what was really used is kept in ``groups``.

    Args:
        source: draws the choices; None reads ``recorded`` back.
        recorded: the choices to read back.  One that lies outside its range is clamped, a missing
            one is the simplest.
        num_groups: how many groups a random tape offers.
    """

    def __init__(
        self,
        source: random.Random | None = None,
        recorded: Groups = (),
        num_groups: int = 0,
    ) -> None:
        self.groups: list[list[int]] = []
        self._source = source
        self._recorded = recorded
        self._num_groups = num_groups if source is not None else len(recorded)

    def next_group(self) -> bool:
        """Begin the next group; False if there is none."""
        if len(self.groups) >= self._num_groups:
            return False
        self.groups.append([])
        return True

    def integer(self, low: int, high: int) -> int:
        group = self.groups[-1]
        if self._source is not None:
            offset = int(self._source.random() * (high - low + 1))
        else:
            recorded = self._recorded[len(self.groups) - 1]
            offset = recorded[len(group)] if len(group) < len(recorded) else 0
            offset = min(offset, high - low)
        group.append(offset)
        return low + offset
