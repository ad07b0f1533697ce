"""Imports that are ordinary Python, or vLLM's own vocabulary: the same in every run.

One entry per ``python`` row of the profile.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from itertools import chain
from typing import Any

from proofs.source.host import Host
from proofs.source.queues import PolicyNames, RequestQueue
from proofs.source.requests import PauseState, RequestStatus
from proofs.source.stubs import Record, SealedMeta
from proofs.symbolic import Veiled, speech
from spec.logic import ceil_div


class _Quiet(metaclass=SealedMeta):
    """A logger, or any object whose methods do nothing."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


class _Clock(metaclass=SealedMeta):
    """The time goes into reports; a decision that depends on it is not proved."""

    __slots__ = ()

    @staticmethod
    def time() -> Any:
        """Now."""
        return Veiled(float, "the time of day")

    monotonic = perf_counter = time


class _Itertools(metaclass=SealedMeta):
    __slots__ = ()
    chain = staticmethod(chain)


class _MambaMeta(SealedMeta):
    def __instancecheck__(cls, instance: object) -> bool:
        return repr(instance) == "<kv_cache_spec>"


class _MambaSpec(metaclass=_MambaMeta):
    """The one group's spec counts as Mamba's; it is only read where there are Mamba layers."""


class _Suppress(metaclass=SealedMeta):
    """``contextlib.suppress``, which the text cannot hang anything on."""

    __slots__ = ("__exceptions",)

    def __init__(self, *exceptions: type[BaseException]) -> None:
        self.__exceptions = exceptions

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> bool:
        ours = kind is None or not issubclass(kind, Exception)
        caught = not ours and issubclass(kind or Exception, self.__exceptions)
        if caught:
            speech.caught(*error[:1])
        return caught


class _Contextlib(metaclass=SealedMeta):
    __slots__ = ()
    suppress = _Suppress


def _last_boundary(num_tokens: Any, block_size: Any, *args: Any, **options: Any) -> Any:
    """The last block boundary of a prefill (no EAGLE block is dropped)."""
    return (num_tokens - 1) // block_size * block_size


def _remove_all(items: list[Any], gone: Any) -> list[Any]:
    return [item for item in items if item not in gone]


def _cdiv(a: Any, b: Any) -> Any:
    return ceil_div(a, b)


def _dataclass(host: Host) -> Callable[..., Any]:
    """Decorates a class derived from a record, which is one already; no other class."""

    def decorate(made: Any = None, **options: Any) -> Any:
        if made is None:
            return decorate
        if not (isinstance(made, type) and issubclass(made, Record)):
            host.unprofiled("import dataclass (on a class that is no record)")
        return made

    return decorate


LANGUAGE: dict[str, Callable[[Host], Any]] = {
    "import RequestStatus": lambda host: RequestStatus,
    "import PauseState": lambda host: PauseState,
    "import SchedulingPolicy": lambda host: PolicyNames(),
    "import create_request_queue": lambda host: lambda policy: RequestQueue(host.here, policy),
    "import check_stop": lambda host: lambda *args: host.here.check_stop(*args),
    "import remove_all": lambda host: _remove_all,
    "import init_logger": lambda host: lambda name: _Quiet(),
    "import record_function_or_nullcontext": lambda host: lambda name: _Quiet(),
    "import time": lambda host: _Clock(),
    "import itertools": lambda host: _Itertools(),
    "import defaultdict": lambda host: defaultdict,
    "import deque": lambda host: deque,
    "import cdiv": lambda host: _cdiv,
    "import contextlib": lambda host: _Contextlib(),
    "import dataclass": _dataclass,
    "import MambaSpec": lambda host: _MambaSpec,
    "import get_mamba_prefill_checkpoint_position": lambda host: _last_boundary,
}
"""Name of the row → what the text sees."""
