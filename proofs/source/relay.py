"""Many sources in a row: each in a process of its own, and what is proved of numbers handed on.

Formulas of neighbouring releases are mostly the same.  The process that runs this never runs a
text.  For each source it forks a child, which locks itself down like any other; what comes back is
data: the report, and what was proved and found on the way (`proofs.symbolic.handing`).  That is
proved and computed again here, where no text has been, before a child forked later begins with it.
So a text that got past every wall could falsify the report about itself, as it could alone, and no
other; others it could leave undecided, by taking their time.
"""

from __future__ import annotations

import json
import os
import resource
import selectors
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NoReturn

from proofs.collecting import collect_rarely
from proofs.source import child
from proofs.source.sandbox import Limit
from proofs.symbolic import Grounds
from proofs.symbolic.handing import Mark, told
from proofs.symbolic.hearing import heard

OUT, ERR = 1, 2
MOST = 16_000_000
"""Most that is read of a child, bytes; what a release has proved takes a twentieth of it."""

PATIENCE = 15.0
"""Longest that one child is heard, seconds; a release takes two."""


@dataclass(slots=True)
class _Child:
    """A child at work on the job of a number."""

    number: int
    pid: int
    deadline: float
    said: dict[int, bytearray] = field(default_factory=lambda: {OUT: bytearray(), ERR: bytearray()})
    open: set[int] = field(default_factory=lambda: {OUT, ERR})
    in_time: bool = True

    def stop(self) -> None:
        """End it, however far it has come."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def main() -> None:
    """Read jobs from stdin, work at so many at once, write what came of each to stdout."""
    request = json.load(sys.stdin)
    limit, grounds = Limit(**request["limit"]), Grounds()
    resource.setrlimit(resource.RLIMIT_CPU, (limit.cpu_seconds, resource.RLIM_INFINITY))
    collect_rarely()
    waiting, running = list(reversed(list(enumerate(request["jobs"])))), 0
    with selectors.DefaultSelector() as pipes:
        while waiting or running:
            while waiting and running < max(1, request["at_once"]):
                number, job = waiting.pop()
                _start(number, job, limit, grounds, pipes)
                running += 1
            for ended in _ended(pipes):
                running -= 1
                ended.stop()  # who has closed both pipes has no more to say
                _, status = os.waitpid(ended.pid, 0)
                report, _, handed = bytes(ended.said[OUT]).partition(b"\n")
                answer = {
                    "number": ended.number,
                    "in_time": ended.in_time,
                    "status": os.waitstatus_to_exitcode(status),
                    "answer": report.decode(errors="replace"),
                    "said": bytes(ended.said[ERR]).decode(errors="replace"),
                }
                print(json.dumps(answer), flush=True)
                if waiting:
                    _hear(grounds, handed)


# -- a child -------------------------------------------------------------------------------------


def _start(
    number: int,
    job: dict[str, Any],
    limit: Limit,
    grounds: Grounds,
    pipes: selectors.BaseSelector,
) -> None:
    """Fork a child for a job."""
    ends = {stream: os.pipe() for stream in (OUT, ERR)}
    pid = os.fork()
    if pid == 0:
        _work(job, limit, grounds, {stream: its for stream, (_, its) in ends.items()})
    made = _Child(number, pid, monotonic() + limit.wall_seconds)
    for stream, (mine, its) in ends.items():
        os.close(its)
        pipes.register(mine, selectors.EVENT_READ, (made, stream))


def _work(job: dict[str, Any], limit: Limit, grounds: Grounds, ends: Mapping[int, int]) -> NoReturn:
    """What a child does: of its parent's it holds two pipes to write to, and it never returns."""
    status = 1
    try:
        for stream, end in ends.items():
            os.dup2(end, stream)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.close(0)
        known = {mode: grounds[mode] for mode in job["modes"]}
        marks = {mode: Mark.of(ground) for mode, ground in known.items()}
        report = child.answer({"job": job}, limit, known)
        handed = {mode: told(known[mode], mark) for mode, mark in marks.items()}
        print(json.dumps(report), json.dumps(handed), sep="\n", flush=True)
        status = 0
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(status)


def _ended(pipes: selectors.BaseSelector) -> list[_Child]:
    """Read what children say until some have ended, or have to."""
    ended = []
    entries = list(pipes.get_map().values())
    patience = min(entry.data[0].deadline for entry in entries) - monotonic()
    for entry, _ in pipes.select(max(0.0, patience)):
        made, stream = entry.data
        part = os.read(entry.fd, 1 << 20)
        made.said[stream] += part
        if len(made.said[stream]) > MOST:
            made.stop()
        if not part:
            pipes.unregister(entry.fd)
            os.close(entry.fd)
            made.open.discard(stream)
            if not made.open:
                ended.append(made)
    for made in {id(entry.data[0]): entry.data[0] for entry in entries}.values():
        if made.open and monotonic() > made.deadline:
            made.in_time = False
            made.stop()
    return ended


def _hear(grounds: Grounds, handed: bytes) -> None:
    """Take over what a child has proved and found, as far as it is true, and as far as that comes
    out in time: whatever a child says, nothing it says ends the relay."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        with suppress(Exception):
            for mode, said in json.loads(handed).items():
                heard(grounds[mode], said)
    except _TooLong:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class _TooLong(BaseException):
    """Hearing took too long; no handler on the way is to catch it."""


def _too_long(*_: object) -> NoReturn:
    raise _TooLong
