"""Checking a hostile source: in a process of its own that can do nothing but compute.

The gate and the stubs already keep a text from anything outside its own data.  The child process
assumes that they failed: it has no network, may not open, start or import anything once its own
modules are loaded, and is limited in memory and processor time.  What comes back is data (JSON),
and the parent stops waiting after a wall-clock limit.

A text that was caught at something is *rejected*.  One whose check ran into a limit may be fine:
it is *undecided*.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Generic, TypeVar

from proofs.source.differences import DiffReport, together
from proofs.source.errors import CANNOT_TELL, SourceError
from proofs.source.loader import Text
from proofs.source.verdicts import SourceReport, joined, undecided
from proofs.verdict import MODES, Statistics

R = TypeVar("R")
ROOT = str(Path(__file__).resolve().parents[2])
MAX_REPORT = 16_000_000
"""Largest report accepted from a child, bytes."""
TOO_LONG = "the check did not finish within {:g} s"


@dataclass(frozen=True, slots=True)
class Limit:
    """What a child may use."""

    cpu_seconds: int = 120
    wall_seconds: float = 240.0
    memory_bytes: int = 3 << 30


@dataclass(frozen=True, slots=True)
class Job:
    """One check, as it is sent to a child."""

    texts: tuple[Text, ...]
    name: str
    version: str | None = None
    whole_loop: bool = False
    modes: tuple[str, ...] = MODES
    profile: str = ""
    base: tuple[Text, ...] = ()
    """What the texts derive from, if it is not among them."""
    reach_paths: int = 0
    """For each violation, how many paths to look at for a real execution that ends in it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One comparison, as it is sent to a child."""

    old: tuple[Text, ...]
    new: tuple[Text, ...]
    names: tuple[str, str]
    versions: tuple[str | None, str | None] = (None, None)
    modes: tuple[str, ...] = MODES
    profile: str = ""
    base: tuple[Text, ...] = ()


def check_in_sandbox(job: Job, limit: Limit | None = None) -> SourceReport:
    """``check.check_source`` in limited child processes, one per scheduling mode.

    Args:
        limit: what each child may use.

    Raises:
        SourceError: a child found that the text is no scheduler, or could not be started.
    """
    modes = [(mode,) for mode in job.modes] if job.modes else [job.modes]
    with ThreadPoolExecutor(max_workers=len(modes)) as pool:
        parts = pool.map(lambda m: _in_child(_check(replace(job, modes=m)), limit), modes)
        return joined(list(parts))


def _check(job: Job) -> _Work[SourceReport]:
    """A check as a child's work."""
    started = perf_counter()

    def refused(why: str) -> SourceReport:
        return SourceReport(job.name, job.version, (), Statistics(), rejected=f"rejected: {why}")

    def stopped(why: str) -> SourceReport:
        version = None if job.base else job.version
        report = undecided(job.name, version, job.modes, why)
        return replace(report, statistics=Statistics(perf_counter() - started))

    return _Work("job", asdict(job), job.name, refused, stopped, SourceReport.from_json)


def diff_in_sandbox(pair: Pair, limit: Limit | None = None) -> DiffReport:
    """``diff.diff_sources`` in limited child processes, one per scheduling mode.

    Args:
        limit: what each child may use.

    Raises:
        SourceError: one of the texts is no scheduler, or a child could not be started.
    """
    modes = [(mode,) for mode in pair.modes] if pair.modes else [pair.modes]
    with ThreadPoolExecutor(max_workers=len(modes)) as pool:
        parts = pool.map(lambda m: _in_child(_comparison(replace(pair, modes=m)), limit), modes)
        return together(list(parts))


def _comparison(pair: Pair) -> _Work[DiffReport]:
    """A comparison as a child's work."""

    def refused(why: str) -> DiffReport:
        return DiffReport(*pair.names, "", (), (), rejected=f"rejected: {why}")

    def stopped(why: str) -> DiffReport:
        return DiffReport(*pair.names, "nothing was compared", (), (), undecided=(why,))

    name = " -> ".join(pair.names)
    return _Work("pair", asdict(pair), name, refused, stopped, DiffReport.from_json)


@dataclass(frozen=True, slots=True)
class _Work(Generic[R]):
    """What a child is to do, and how its answer is read."""

    kind: str
    data: dict[str, Any]
    name: str
    refused: Callable[[str], R]
    """The answer about a text caught at something."""
    stopped: Callable[[str], R]
    """The answer about a text whose check ran into a limit."""
    read: Callable[[dict[str, Any]], R]


def _in_child(work: _Work[R], limit: Limit | None) -> R:
    """Send work to a child process and wait for its answer."""
    limit = limit or Limit()
    child = _started("child")
    try:
        request = json.dumps({work.kind: work.data, "limit": asdict(limit)}).encode()
        answer, said = child.communicate(request, timeout=limit.wall_seconds)
    except subprocess.TimeoutExpired:
        return work.stopped(TOO_LONG.format(limit.wall_seconds))
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()
    return _read(work, limit, child.returncode, answer, said)


def _started(module: str) -> subprocess.Popen[bytes]:
    """A process of a session of its own, with nothing of our surroundings, that runs a module."""
    source = (
        f"import sys; sys.path.insert(0, {ROOT!r}); import proofs.source.{module} as m; m.main()"
    )
    environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-c", source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd="/",
            close_fds=True,
            start_new_session=True,
        )
    except OSError as error:
        raise SourceError(f"cannot start the checking process: {error}", CANNOT_TELL) from None


class Relay:
    """Checks in a row, see `relay`: each in a limited process of its own, as `check_in_sandbox`.

    Iterate over it once, for the number of a job and its report, or why there is none, in the order
    in which they are done.  ``at_once``: how many jobs are worked at together.
    """

    def __init__(self, jobs: Sequence[Job], limit: Limit | None = None, at_once: int = 1) -> None:
        self._works, self._limit = [_check(job) for job in jobs], limit or Limit()
        request = {"limit": asdict(self._limit), "at_once": at_once}
        self._request = json.dumps(request | {"jobs": [work.data for work in self._works]})
        self._child = _started("relay")

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop what still runs."""
        with self._child:
            if self._child.poll() is None:
                os.killpg(self._child.pid, signal.SIGKILL)

    def __iter__(self) -> Iterator[tuple[int, SourceReport | SourceError]]:
        assert self._child.stdin is not None and self._child.stdout is not None
        left = set(range(len(self._works)))
        with suppress(BrokenPipeError), self._child.stdin as to:
            to.write(self._request.encode())
        for line in self._child.stdout:
            answer = json.loads(line)
            left.discard(answer["number"])
            yield answer["number"], self._report(answer)
        for number in left:
            why = f"{self._works[number].name}: the checking process failed"
            yield number, SourceError(why, CANNOT_TELL)

    def _report(self, answer: dict[str, Any]) -> SourceReport | SourceError:
        work: _Work[SourceReport] = self._works[answer["number"]]
        if not answer["in_time"]:
            return work.stopped(TOO_LONG.format(self._limit.wall_seconds))
        told, said = (answer[name].encode() for name in ("answer", "said"))
        try:
            return _read(work, self._limit, answer["status"], told, said)
        except SourceError as failure:
            return failure


def _read(work: _Work[R], limit: Limit, status: int, answer: bytes, said: bytes) -> R:
    """What the child's answer means."""
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return work.stopped(f"the check used more than {limit.cpu_seconds} s of processor time")
    if status < 0:
        return work.stopped(f"the check ended by signal {-status}")
    if len(answer) > MAX_REPORT:
        return work.stopped(f"the report is longer than {MAX_REPORT} bytes")
    try:
        data = json.loads(answer)
        if "error" in data:
            raise SourceError(str(data["error"]), int(data["status"]))
        if "refused" in data:
            return work.refused(str(data["refused"]))
        if "stopped" in data:
            return work.stopped(str(data["stopped"]))
        return work.read(data["report"])
    except (ValueError, KeyError, TypeError):
        last = said.decode(errors="replace").strip().splitlines()[-1:] or ["no answer"]
        raise SourceError(
            f"{work.name}: the checking process failed: {last[0][:200]}", CANNOT_TELL
        ) from None
