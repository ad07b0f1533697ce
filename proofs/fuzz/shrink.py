"""Making a failing execution small: fewer steps first, then fewer and simpler choices.

The result is a local minimum: the invariant no longer breaks if a step or a choice is left out,
or if one choice alone is made simpler.
"""

from __future__ import annotations

from collections.abc import Iterator

from proofs.fuzz.draws import Groups, Tape
from proofs.fuzz.driver import Goal, Run, play

MOST_ATTEMPTS = 8000
"""Executions played on the way to the minimum; each takes about a millisecond."""


def shrink(goal: Goal, run: Run) -> Run:
    """The smallest run found that breaks the same invariant, seen by the same observer."""
    shrinker = _Shrinker(goal, run)
    before = None
    while before is not shrinker.best and shrinker.attempts < MOST_ATTEMPTS:
        before = shrinker.best
        for candidates in (
            shrinker.shorter,
            shrinker.emptier,
            shrinker.simpler,
            shrinker.shorter_and_simpler,
        ):
            for groups in candidates():
                shrinker.consider(groups)
    return shrinker.best


class _Shrinker:
    """The best run so far.  Each pass goes on from where it is when the best run changes."""

    def __init__(self, goal: Goal, run: Run) -> None:
        assert run.breach is not None
        self.goal = goal
        self.best = run
        self.wanted = run.breach.invariant, run.breach.seen_by
        self.attempts = 0

    def consider(self, groups: Groups) -> None:
        """Play a candidate; it is the best run if it fails the same way and is smaller."""
        if self.attempts >= MOST_ATTEMPTS:
            return
        self.attempts += 1
        tried = play(self.goal, Tape(recorded=groups))
        found = tried.breach
        if found is None or (found.invariant, found.seen_by) != self.wanted:
            return
        if _size(tried.groups) < _size(self.best.groups):
            self.best = tried

    def shorter(self) -> Iterator[Groups]:
        """Without a run of steps, the longest runs first; the configuration (group 0) stays."""
        for length in self._lengths():
            for start in range(len(self.best.groups) - length, 0, -1):
                groups = self.best.groups
                if start + length <= len(groups):
                    yield [*groups[:start], *groups[start + length :]]

    def shorter_and_simpler(self) -> Iterator[Groups]:
        """Without some steps and one choice as much smaller: a chunk less of a shorter prompt."""
        for length in self._lengths():
            for index in range(len(self.best.groups)):
                for position in range(len(self._group(index))):
                    while self._value(index, position) >= length:
                        before, last = self.best, len(self.best.groups) - 1 - length
                        for start in {1, 1 + last // 2, last}:
                            if index < start <= last:
                                group = self._group(index)
                                group[position] -= length
                                groups = self._with(index, group)
                                yield [*groups[:start], *groups[start + length :]]
                        if self.best is before:
                            break

    def emptier(self) -> Iterator[Groups]:
        """With one step's choices all at their simplest, or without one or two of them."""
        for index in range(len(self.best.groups) - 1, 0, -1):
            if any(self._group(index)):
                yield self._with(index, [])
            for width in (2, 1):
                for position in range(len(self._group(index)) - width, -1, -1):
                    group = self._group(index)
                    yield self._with(index, [*group[:position], *group[position + width :]])

    def simpler(self) -> Iterator[Groups]:
        """With one choice simpler: the simplest, then half as long as that works, then less."""
        for index in range(len(self.best.groups)):
            for position in range(len(self._group(index))):
                for step in (lambda value: 0, lambda value: value // 2, lambda value: value - 1):
                    value = self._value(index, position)
                    while value > 0:
                        group = self._group(index)
                        changed = [*group[:position], step(value), *group[position + 1 :]]
                        yield self._with(index, changed)
                        if self._value(index, position) >= value:
                            break
                        value = self._value(index, position)

    def _lengths(self) -> list[int]:
        """All steps, half of them and so on, and every small number."""
        length, lengths = len(self.best.groups) - 1, {1, 2, 3}
        while length > 3:
            lengths.add(length)
            length //= 2
        return sorted(lengths, reverse=True)

    def _group(self, index: int) -> list[int]:
        groups = self.best.groups
        return list(groups[index]) if index < len(groups) else []

    def _value(self, index: int, position: int) -> int:
        group = self._group(index)
        return group[position] if position < len(group) else 0

    def _with(self, index: int, group: list[int]) -> Groups:
        groups = self.best.groups
        return [*groups[:index], group, *groups[index + 1 :]]


def _size(groups: Groups) -> tuple[int, int, int, Groups]:
    """What is minimized, most significant first: steps, choices, their sum, their values."""
    return len(groups), sum(map(len, groups)), sum(map(sum, groups)), groups
