"""What ``itertools`` turns: every turn ticks, and what is counted or added up is a count."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from proofs.source.objects.counting import Counting
from proofs.source.objects.host import Host
from proofs.symbolic.counts import added, counted


def count_of(host: Host) -> Any:
    """``count``."""

    def count(start: Any = 0, step: Any = 1) -> Iterator[Any]:
        at = start
        while host.tick():
            yield counted(at)
            at = added(at, step)

    return count


def cycle_of(host: Host) -> Any:
    """``cycle``."""

    def cycle(items: Iterable[Any]) -> Iterator[Any]:
        kept = []
        for item in items:
            kept.append(item)
            yield item
        while kept:
            for item in kept:
                host.tick()
                yield item

    return cycle


def repeat_of(host: Host) -> Any:
    """``repeat``."""

    def repeat(item: Any, times: Any = None) -> Iterator[Any]:
        if times is None:
            while host.tick():
                yield item
        for _ in range(Counting(host).cut(times)):
            yield item

    return repeat


def islice_of(host: Host) -> Any:
    """``islice``: as any slice, it ends where a run has something beyond."""

    def islice(items: Iterable[Any], *bounds: Any) -> Iterator[Any]:
        return itertools.islice(items, *map(Counting(host).cut, bounds))

    return islice


def accumulate_of(host: Host) -> Any:
    """``accumulate``."""

    def accumulate(
        items: Iterable[Any], func: Callable[[Any, Any], Any] = added, *, initial: Any = None
    ) -> Iterator[Any]:
        return map(counted, itertools.accumulate(items, func, initial=initial))

    return accumulate
