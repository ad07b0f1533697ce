"""The child process of ``sandbox``: lock down, check or compare, answer on stdout.

Everything is imported before the lock-down; afterwards an audit hook refuses every event by which
Python reaches outside.  The hook cannot be removed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import sys
import unicodedata  # noqa: F401  (the parser asks it about a name that is not ASCII)
from collections.abc import Mapping
from typing import Any

from proofs.collecting import collect_rarely
from proofs.source import check, diff
from proofs.source.differences import DiffReport
from proofs.source.errors import SourceError
from proofs.source.loader import Text
from proofs.source.names import REFUSED_EVENTS, UNREAD
from proofs.source.sandbox import Limit
from proofs.source.verdicts import SourceReport
from proofs.symbolic import Ground

CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000


def main() -> None:
    """Read work from stdin, do it, write the report to stdout."""
    request = json.load(sys.stdin)
    sys.stdout.write(json.dumps(answer(request, Limit(**request["limit"]))))
    sys.stdout.flush()
    os._exit(0)


def answer(
    request: dict[str, Any], limit: Limit, grounds: Mapping[str, Ground] | None = None
) -> dict[str, Any]:
    """Lock this process down and do the work.

    ``grounds``: of each scheduling mode, what is known beforehand.
    """
    tried: list[str] = []
    lock_down(limit, tried)
    collect_rarely()
    found: dict[str, Any]
    try:
        if "job" in request:
            found = {"report": _checked(request["job"], grounds).to_json()}
        else:
            found = {"report": _compared(request["pair"]).to_json()}
    except SourceError as error:
        found = {"error": str(error), "status": error.status}
    except MemoryError:
        found = {"stopped": f"the check used more than {limit.memory_bytes >> 20} MiB of memory"}
    if tried and "report" in found:  # an error of ours may have read the text to quote it
        found = {"refused": f"tried to reach outside ({tried[0]})"}
    return found


def _checked(job: dict[str, Any], grounds: Mapping[str, Ground] | None) -> SourceReport:
    return check.check_source(
        _texts(job["texts"]),
        job["name"],
        job["version"],
        whole_loop_too=job["whole_loop"],
        modes=job["modes"],
        profile=job["profile"],
        base=_texts(job["base"]),
        reach_paths=job["reach_paths"],
        grounds=grounds,
    )


def _compared(pair: dict[str, Any]) -> DiffReport:
    return diff.diff_sources(
        _texts(pair["old"]),
        _texts(pair["new"]),
        tuple(pair["names"]),
        tuple(pair["versions"]),
        modes=pair["modes"],
        profile=pair["profile"],
        base=_texts(pair["base"]),
    )


def _texts(texts: list[dict[str, Any]]) -> list[Text]:
    return [Text(**text) for text in texts]


def lock_down(limit: Limit, tried: list[str]) -> None:
    """Give up everything a check does not need; attempts to use it are noted in ``tried``."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) != 0:
            libc.unshare(CLONE_NEWUSER | CLONE_NEWNET)
    cap = resource.setrlimit
    cap(resource.RLIMIT_CORE, (0, 0))
    cap(resource.RLIMIT_FSIZE, (0, 0))
    cap(resource.RLIMIT_NOFILE, (8, 8))
    cap(resource.RLIMIT_AS, (limit.memory_bytes, limit.memory_bytes))
    cap(resource.RLIMIT_CPU, (limit.cpu_seconds, limit.cpu_seconds + 1))
    with contextlib.suppress(ValueError, OSError):
        cap(resource.RLIMIT_NPROC, (0, 0))

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(REFUSED_EVENTS):
            if arguments[:1] != (UNREAD,):
                tried.append(event)
            raise RuntimeError(f"refused: {event}")

    sys.addaudithook(refuse)
