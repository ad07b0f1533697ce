"""Making a failing execution small: fewer steps first, then fewer and simpler choices.

The result is a local minimum: the invariant no longer breaks if a step or a choice is left out,
or if a choice alone is made simpler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from proofs.fuzz.draws import Groups, Tape
from proofs.fuzz.driver import Goal, Run, play

MOST_ATTEMPTS = 5000
"""Executions played on the way to the minimum; each takes about a millisecond."""

Candidates = Callable[[Groups], Iterator[Groups]]


def shrink(goal: Goal, run: Run) -> Run:
    """The smallest run found that breaks the same invariant, seen by the same observer."""
    assert run.breach is not None
    wanted = run.breach.invariant, run.breach.seen_by
    best, attempts = run, 0

    def improve(candidates: Candidates) -> bool:
        nonlocal best, attempts
        for groups in candidates(best.groups):
            attempts += 1
            if attempts > MOST_ATTEMPTS:
                return False
            tried = play(goal, Tape(recorded=groups))
            found = tried.breach
            if found is None or (found.invariant, found.seen_by) != wanted:
                continue
            if _size(tried.groups) < _size(best.groups):
                best = tried
                return True
        return False

    while any(improve(candidates) for candidates in (_shorter, _emptier, _simpler)):
        pass
    return best


def _size(groups: Groups) -> tuple[int, int, int, Groups]:
    """What is minimized, most significant first: steps, choices, their sum, their values."""
    return len(groups), sum(map(len, groups)), sum(map(sum, groups)), groups


def _shorter(groups: Groups) -> Iterator[Groups]:
    """Without a run of steps, the longest runs first; the configuration (group 0) stays."""
    length = len(groups) - 1
    while length >= 1:
        for start in range(len(groups) - length, 0, -1):
            yield [*groups[:start], *groups[start + length :]]
        length //= 2


def _emptier(groups: Groups) -> Iterator[Groups]:
    """Without one choice, or with one step's choices all at their simplest."""
    for index in range(1, len(groups)):
        if any(groups[index]):
            yield _replaced(groups, index, [])
        for position in range(len(groups[index])):
            group = groups[index]
            yield _replaced(groups, index, [*group[:position], *group[position + 1 :]])


def _simpler(groups: Groups) -> Iterator[Groups]:
    """With one choice simpler: the simplest, half, or one less."""
    for index, group in enumerate(groups):
        for position, value in enumerate(group):
            for smaller in dict.fromkeys((0, value // 2, value - 1)):
                if 0 <= smaller < value:
                    changed = [*group[:position], smaller, *group[position + 1 :]]
                    yield _replaced(groups, index, changed)


def _replaced(groups: Groups, index: int, group: list[int]) -> Groups:
    return [*groups[:index], group, *groups[index + 1 :]]
