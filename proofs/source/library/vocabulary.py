"""Imports that are ordinary Python, or vLLM's own vocabulary: the same in every run.

One entry per ``python`` row of the profile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proofs.source.library.saying import Logger
from proofs.source.objects.host import Host
from proofs.source.objects.ofhost import OfAHost
from proofs.source.objects.queues import PolicyNames, RequestQueue
from proofs.source.objects.requests import PauseState, Request, RequestStatus
from proofs.source.objects.sealed import SealedMeta, path_of
from proofs.source.objects.unknowns import engine_class
from proofs.source.profile import Row
from proofs.symbolic import Veiled
from spec.logic import ceil_div


class Scope(OfAHost):
    """What `record_function_or_nullcontext` opens: something, or None."""

    __slots__ = ()
    called__ = "record_function_or_nullcontext"

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


class _Clock(OfAHost):
    """The time goes into reports; a decision that depends on it is not proved."""

    __slots__ = ()
    called__ = "time"

    def time(self) -> Any:
        """Now."""
        return Veiled(float, "the time of day")

    monotonic = perf_counter = process_time = time

    def time_ns(self) -> Any:
        """Now, as an integer."""
        return Veiled(int, "the time of day")

    monotonic_ns = perf_counter_ns = time_ns


class _MambaMeta(SealedMeta):
    answers__ = True

    def __instancecheck__(cls, instance: object) -> bool:
        return path_of(instance) == "kv_cache_spec"


class _MambaSpec(metaclass=_MambaMeta):
    """The one group's spec counts as Mamba's; it is only read where there are Mamba layers."""


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
    "import init_logger": lambda host: lambda name: Logger(host),
    "import record_function_or_nullcontext": lambda host: lambda name: Scope(host),
    "import time": _Clock,
    "import cdiv": lambda host: _cdiv,
    "import MambaSpec": lambda host: _MambaSpec,
    "import get_mamba_prefill_checkpoint_position": lambda host: _last_boundary,
}
"""Name of the row → what the text sees."""
