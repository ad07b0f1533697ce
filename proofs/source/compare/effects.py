"""What a text does beside deciding rows: what it tells others, what it returns, what it keeps.

For a comparison of two texts: each thing has a name, under which the other text has its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from proofs.source.compare.values import MISSING, Reader, apart
from proofs.source.loader import Loaded
from proofs.source.objects.stubs import Record
from proofs.source.runs.places import WAITING_QUEUES

if TYPE_CHECKING:
    from proofs.source.runs.harness import Harness

RETURNED = "what it returns"
ORDER = "the order of what it tells"
"""Of the methods that both texts call: what comes before what."""
ELSEWHERE = frozenset({*WAITING_QUEUES, "running", "requests", "connector_prefix_cache_stats"})
"""Of a scheduler: what is compared request by request, and statistics."""
OF_A_REQUEST = ("drop_stale_output", "spec_token_ids")
"""Of a request: what is no counter, and was there before the text stored anything."""
_TOLD = ("kv_cache_manager.", "block_pool.", "connector.", "encoder_cache_manager.")
_CALLED = (FunctionType, MethodType)
_COUNTED = ("make_", "record_", "usage")
"""Methods for statistics."""
_ASKED = ("get_", "has_", "estimate_")
"""Methods that only answer: to ask again in the same words, or in another order, does nothing."""


class Calls:
    """What one text told the engine's objects, in order.

    Args:
        loaded: from now on all its runs are overheard.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.reader = Reader(loaded.host)
        self._made: list[tuple[str, Any]] = []
        loaded.host.listen(self._overheard)

    def forget(self) -> None:
        """What was told so far is of no interest."""
        self._made.clear()

    def by_name(self) -> Iterator[tuple[str, Any]]:
        """Method → arguments of each call."""
        for name in dict.fromkeys(name for name, _ in self._made):
            told = [told for other, told in self._made if other == name]
            if _asks(name):
                told = [
                    asked
                    for at, asked in enumerate(told)
                    if not any(apart(asked, before) is False for before in told[:at])
                ]
            yield name, tuple(told)

    def names(self) -> list[str]:
        """The method of each call, in order."""
        return [name for name, _ in self._made if not _asks(name)]

    def _overheard(self, path: str, function: Any) -> Any:
        """The function with each call noted, if it is one that does something."""
        counts = path.rpartition(".")[2].startswith(_COUNTED)
        if counts or not path.startswith(_TOLD) or type(function) not in _CALLED:
            return function
        names = _parameters(function)

        def call(*arguments: Any, **options: Any) -> Any:
            given = dict(zip(names, arguments, strict=False)) | options
            rest = arguments[len(names) :]
            told = given | {str(at): value for at, value in enumerate(rest, len(names))}
            self._made.append((path, self.reader.read(told)))
            return function(*arguments, **options)

        return call


def _asks(name: str) -> bool:
    return name.rpartition(".")[2].startswith(_ASKED)


def _parameters(function: Callable[..., Any]) -> list[str]:
    known = inspect.signature(function).parameters.values()
    return [p.name for p in known if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]


class Effects:
    """Everything that happened to one text beside its requests: name → value, as it was read.

    Args:
        harness: the run; the event is about to happen.
        calls: what its text is heard to tell.
    """

    def __init__(self, harness: Harness, calls: Calls) -> None:
        self._harness, self._calls = harness, calls
        calls.forget()
        self._before = dict(self._kept())
        self.values: dict[str, Any] = {}
        self.told: list[str] = []
        """The methods it called, in order."""
        self.unchanged: frozenset[str] = frozenset()
        """What the text keeps as it was before: no news where the other does not keep it."""

    def read(self, returned: Any) -> None:
        """The event is over.

        Args:
            returned: what the text gave back.
        """
        value, kept = self._calls.reader.read(returned), dict(self._kept())
        self.values = dict(self._calls.by_name()) | kept
        self.told = self._calls.names()
        if isinstance(returned, Record):
            self.values |= {f"{value[0]}.{name}": field for name, field in value[1].items()}
        else:
            self.values[RETURNED] = value
        before = self._before
        same = (n for n, v in kept.items() if apart(before.get(n, MISSING), v) is False)
        self.unchanged = frozenset(same)

    def _kept(self) -> Iterator[tuple[str, Any]]:
        read = self._calls.reader.read
        for name, held in vars(self._harness.scheduler).items():
            if name not in ELSEWHERE:
                yield f"scheduler.{name}", read(held)
        for request in self._harness.judged:
            stored = dict(request.foreign__()) | {n: getattr(request, n) for n in OF_A_REQUEST}
            for name, held in stored.items():
                yield f"request.{name} of {request.request_id}", read(held)


def differing(old: Effects, new: Effects) -> Iterator[tuple[str, Any]]:
    """Each thing that both texts have, or that one of them did, and whether it differs."""
    for name in dict.fromkeys((*old.values, *new.values)):
        one, two = old.values.get(name, MISSING), new.values.get(name, MISSING)
        alone = old if two is MISSING else new
        if MISSING not in (one, two) or name not in alone.unchanged:
            yield name, apart(one, two)
    yield ORDER, apart(*ordered(old, new))


def ordered(old: Effects, new: Effects) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The calls of either text, without those of which the other has another number."""
    common = {name for name in old.told if old.told.count(name) == new.told.count(name)}
    one, two = (tuple(n for n in side.told if n in common) for side in (old, new))
    return one, two
