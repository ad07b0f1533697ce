"""A context some of whose questions are answered in advance: a small world to search in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from proofs.source.objects.world import Context


class Narrowed:
    """A context that answers some questions itself, or within narrower bounds.

    Args:
        context: a symbolic run, or one on integers.
        ranges: beginning of a question → least and greatest answer; equal ends fix it.
    """

    def __init__(self, context: Context, ranges: Mapping[str, tuple[int, int]]) -> None:
        self._context, self._ranges = context, ranges

    def _range(self, name: str) -> tuple[int, int] | None:
        return next((r for start, r in self._ranges.items() if name.startswith(start)), None)

    def int(self, name: str, lo: int | None = None, hi: int | None = None) -> Any:
        """The number, if it is fixed, or a question within both bounds."""
        known = self._range(name)
        if known is None:
            return self._context.int(name, lo, hi)
        low = known[0] if lo is None else max(lo, known[0])
        high = known[1] if hi is None else min(hi, known[1])
        return low if low == high else self._context.int(name, low, high)

    def bool(self, name: str) -> Any:
        """The truth value, if it is fixed, or the question."""
        known = self._range(name)
        if known is None or known[0] != known[1]:
            return self._context.bool(name)
        return bool(known[0])

    def assume(self, condition: Any, name: str | None = None) -> None:
        """As the context does."""
        self._context.assume(condition, name)

    def unsupported(self, reason: str) -> NoReturn:
        """As the context does."""
        self._context.unsupported(reason)
