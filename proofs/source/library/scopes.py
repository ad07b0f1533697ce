"""What ``with`` opens: ``contextlib``'s, and the text's own.

An object of the text that closes a scope is handed the exception that leaves it, and may swallow
it.  It is not handed the checker's own, which are to end the run whatever a text makes of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proofs.source.library.handling import caught
from proofs.source.objects.host import Host
from proofs.source.objects.ofhost import OfAHost
from proofs.source.objects.sealed import SealedMeta
from proofs.symbolic import Unsupported


def _is_the_texts(error: BaseException | None) -> bool:
    """Whether a text may have a say in what becomes of it."""
    return isinstance(error, Exception) and not isinstance(error, Unsupported)


class _Suppress(metaclass=SealedMeta):
    """``contextlib.suppress``, which the text cannot hang anything on."""

    __slots__ = ("__exceptions", "__host")

    def __init__(self, host: Host, *exceptions: type[BaseException]) -> None:
        self.__host, self.__exceptions = host, exceptions

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, *_: Any) -> bool:
        suppressed = _is_the_texts(error) and isinstance(error, self.__exceptions)
        if suppressed:
            caught(self.__host, error)
        return suppressed


def suppress_of(host: Host) -> Callable[..., Any]:
    """``contextlib.suppress``."""
    return lambda *exceptions: _Suppress(host, *exceptions)


class _Traceback(OfAHost):
    """Says nothing of where an exception came from."""

    __slots__ = ()
    called__ = "traceback"


class _Own:
    """A scope that an object of the text opens and closes."""

    def __init__(self, host: Host, manager: Any) -> None:
        self._host, self._manager = host, manager

    def __enter__(self) -> Any:
        return self._manager.__enter__()

    def __exit__(self, kind: object, error: BaseException | None, *_: Any) -> Any:
        if error is None:
            return self._manager.__exit__(None, None, None)
        if not _is_the_texts(error):
            return False
        caught(self._host, error)
        return self._manager.__exit__(type(error), error, _Traceback(self._host))


def opened(host: Host, manager: Any) -> Any:
    """What a ``with`` statement is to open for an object."""
    if type(manager) not in host.classes:
        return manager
    if not all(hasattr(type(manager), name) for name in ("__enter__", "__exit__")):
        host.undecided("a with statement over what is no context manager")
    return _Own(host, manager)
