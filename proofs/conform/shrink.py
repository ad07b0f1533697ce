"""Making a differing execution small: fewer steps first, then fewer and simpler choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from proofs.conform.compare import Difference, Execution, Player, difference, drawn_execution
from proofs.conform.releases import Release
from proofs.fuzz.draws import Groups, Tape

MOST_ATTEMPTS = 1500
"""Executions played on both sides on the way to the minimum."""

Candidates = Callable[[Groups], Iterator[Groups]]


def shrink(
    release: Release, player: Player, found: Execution, seen: Difference
) -> tuple[Execution, Difference]:
    """The smallest execution found on which the two sides still differ in the same way."""
    best, attempts = (found, seen), 0

    def improve(candidates: Candidates) -> bool:
        nonlocal best, attempts
        for groups in candidates(best[0].groups):
            attempts += 1
            if attempts > MOST_ATTEMPTS:
                return False
            tried = drawn_execution(release, Tape(recorded=groups))
            if _size(tried.groups) >= _size(best[0].groups):
                continue
            differs = difference(tried, player(tried))
            if differs is not None and differs.kind == seen.kind:
                best = tried, differs
                return True
        return False

    while any(improve(candidates) for candidates in (_shorter, _simpler)):
        pass
    return best


def _size(groups: Groups) -> tuple[int, int, int]:
    """What is minimized, most significant first: steps, choices, their sum."""
    return len(groups), sum(map(len, groups)), sum(map(sum, groups))


def _shorter(groups: Groups) -> Iterator[Groups]:
    """Without a run of steps, the longest runs first; the configuration (group 0) stays."""
    length = len(groups) - 1
    while length >= 1:
        for start in range(len(groups) - length, 0, -1):
            yield [*groups[:start], *groups[start + length :]]
        length //= 2


def _simpler(groups: Groups) -> Iterator[Groups]:
    """With a step's choices all at their simplest; with one left out, simplest, half, one less."""
    for index, group in enumerate(groups):
        if any(group):
            yield _replaced(groups, index, [])
        for position, value in enumerate(group):
            if index > 0:
                yield _replaced(groups, index, [*group[:position], *group[position + 1 :]])
            for smaller in dict.fromkeys((0, value // 2, value - 1)):
                if 0 <= smaller < value:
                    changed = [*group[:position], smaller, *group[position + 1 :]]
                    yield _replaced(groups, index, changed)


def _replaced(groups: Groups, index: int, group: list[int]) -> Groups:
    return [*groups[:index], group, *groups[index + 1 :]]
