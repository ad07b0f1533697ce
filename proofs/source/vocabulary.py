"""Imports that are ordinary Python, or vLLM's own vocabulary: the same in every run.

One entry per ``python`` row of the profile.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from itertools import chain
from typing import Any

from proofs.source.fields import dataclass_of, field_of
from proofs.source.handling import caught
from proofs.source.host import Host
from proofs.source.profile import Row
from proofs.source.queues import PolicyNames, RequestQueue
from proofs.source.requests import PauseState, Request, RequestStatus
from proofs.source.saying import Saying
from proofs.source.sealed import SealedMeta, path_of
from proofs.source.unknowns import engine_class
from proofs.symbolic import Veiled
from spec.logic import ceil_div


class _OfAHost(metaclass=SealedMeta):
    """What has no more attributes than it has here is undecided where it is asked for others."""

    __slots__ = ("host__",)
    called__ = ""

    def __init__(self, host: Host) -> None:
        object.__setattr__(self, "host__", host)

    def __setattr__(self, name: str, value: object) -> None:
        self.host__.undecided(f"{self.called__}.{name} is assigned")

    def __getattr__(self, name: str) -> Any:
        self.host__.unprofiled(f"import {self.called__}.{name}")

    def __eq__(self, other: object) -> bool:
        if self is not other and type(self) is type(other):
            self.host__.undecided(f"whether two are the same {self.called__}: nobody knows")
        return self is other

    __hash__ = object.__hash__


class _Logger(_OfAHost):
    """It says nothing, and whether it would is not to be known."""

    __slots__ = ()
    called__ = "logger"

    def __getattr__(self, name: str) -> Any:
        return Saying(self.host__).log(name)


class Scope(_OfAHost):
    """What `record_function_or_nullcontext` opens: something, or None."""

    __slots__ = ()
    called__ = "record_function_or_nullcontext"

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


class _Clock(_OfAHost):
    """The time goes into reports; a decision that depends on it is not proved."""

    __slots__ = ()
    called__ = "time"

    def time(self) -> Any:
        """Now."""
        return Veiled(float, "the time of day")

    monotonic = perf_counter = time


class _Itertools(_OfAHost):
    __slots__ = ()
    called__ = "itertools"
    chain = staticmethod(chain)


class _MambaMeta(SealedMeta):
    answers__ = True

    def __instancecheck__(cls, instance: object) -> bool:
        return path_of(instance) == "kv_cache_spec"


class _MambaSpec(metaclass=_MambaMeta):
    """The one group's spec counts as Mamba's; it is only read where there are Mamba layers."""


class _Suppress(metaclass=SealedMeta):
    """``contextlib.suppress``, which the text cannot hang anything on."""

    __slots__ = ("__exceptions", "__host")

    def __init__(self, host: Host, *exceptions: type[BaseException]) -> None:
        self.__host, self.__exceptions = host, exceptions

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> bool:
        ours = kind is None or not issubclass(kind, Exception)
        suppressed = not ours and issubclass(kind or Exception, self.__exceptions)
        if suppressed:
            caught(self.__host, *error[:1])
        return suppressed


class _Contextlib(_OfAHost):
    __slots__ = ()
    called__ = "contextlib"

    def suppress(self, *exceptions: Any) -> _Suppress:
        """Suppresses those."""
        return _Suppress(self.host__, *exceptions)


def _last_boundary(num_tokens: Any, block_size: Any, *args: Any, **options: Any) -> Any:
    """The last block boundary of a prefill (no EAGLE block is dropped)."""
    return (num_tokens - 1) // block_size * block_size


def _remove_all(items: list[Any], gone: Any) -> list[Any]:
    return [item for item in items if item not in gone]


def _cdiv(a: Any, b: Any) -> Any:
    return ceil_div(a, b)


_REQUEST = Row("import Request", "class", "", "", "", "")


LANGUAGE: dict[str, Callable[[Host], Any]] = {
    "import RequestStatus": lambda host: RequestStatus,
    "import PauseState": lambda host: PauseState,
    "import SchedulingPolicy": lambda host: PolicyNames(),
    "import create_request_queue": lambda host: lambda policy: RequestQueue(host.here, policy),
    "import check_stop": lambda host: lambda *args: host.here.check_stop(*args),
    "import remove_all": lambda host: _remove_all,
    "import Request": lambda host: engine_class(host, _REQUEST, Request),
    "import init_logger": lambda host: lambda name: _Logger(host),
    "import record_function_or_nullcontext": lambda host: lambda name: Scope(host),
    "import time": _Clock,
    "import itertools": _Itertools,
    "import defaultdict": lambda host: defaultdict,
    "import deque": lambda host: deque,
    "import cdiv": lambda host: _cdiv,
    "import contextlib": _Contextlib,
    "import dataclass": dataclass_of,
    "import field": lambda host: lambda **options: field_of(host, options),
    "import MambaSpec": lambda host: _MambaSpec,
    "import get_mamba_prefill_checkpoint_position": lambda host: _last_boundary,
}
"""Name of the row → what the text sees."""
