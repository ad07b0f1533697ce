"""An exception as data: what the engine's side tells of one."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from proofs.conform import raising


class Scheduler:
    """Dies in several ways, each on a line of its own."""

    limit, nothing = 3, None

    def plain(self, request: Any, rows: int) -> None:
        assert rows <= self.limit

    def over_lines(self, request: Any, rows: int) -> None:
        assert (
            len(request.tokens) == 1 + self.limit or rows + 1 < 0 or self.nothing.count > 0  # type: ignore[attr-defined]
        )

    def calls(self, request: Any, rows: int) -> None:
        assert self.asked() == rows

    def asked(self) -> int:
        return 7

    def other(self, request: Any, rows: int) -> None:
        num_scheduled_tokens, scheduled_spec_decode_tokens = {"A": rows}, {"A": [-1, -1]}
        raise KeyError(len(num_scheduled_tokens) + len(scheduled_spec_decode_tokens))


def told(method: Callable[..., None]) -> dict[str, Any]:
    request = SimpleNamespace(request_id="B", tokens=[1, 2])
    with pytest.raises((AssertionError, AttributeError, KeyError)) as raised:
        method(request, 5)
    return raising.seen(raised.value)


def test_an_assertion_tells_both_sides_and_the_request() -> None:
    seen = told(Scheduler().plain)
    assert seen["raised"] == "AssertionError"
    assert seen["where"].startswith("test_raising.py:")
    assert seen["about"] == "B"
    assert seen["compared"] == [[["rows", 5], "<=", ["limit", 3]]]


def test_every_comparison_of_an_assertion_is_told() -> None:
    scheduler = Scheduler()
    scheduler.nothing = SimpleNamespace(count=0)  # type: ignore[assignment]
    assert told(scheduler.over_lines)["compared"] == [
        [["len(request.tokens)", 2], "==", ["1 + limit", 4]],
        [["rows + 1", 6], "<", ["0", 0]],
        [["nothing.count", 0], ">", ["0", 0]],
    ]


def test_nothing_of_the_engine_is_called_again() -> None:
    assert told(Scheduler().calls)["compared"] == []


def test_another_exception_compares_nothing_and_tells_what_was_given_out() -> None:
    seen = told(Scheduler().other)
    assert (seen["raised"], seen["compared"]) == ("KeyError", [])
    assert (seen["rows"], seen["drafts"]) == ({"A": 5}, {"A": 2})
    assert told(Scheduler().over_lines)["raised"] == "AttributeError"
