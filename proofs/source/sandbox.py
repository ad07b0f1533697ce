"""Checking a hostile source: in a process of its own that can do nothing but compute.

The gate and the stubs already keep a text from anything outside its own data.  The child process
assumes that they failed: it has no network, may not open, start or import anything once its own
modules are loaded, and is limited in memory and processor time.  What comes back is data (JSON),
and the parent stops waiting after a wall-clock limit.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from proofs.source.errors import CANNOT_TELL, SourceError
from proofs.source.loader import Text
from proofs.source.verdicts import SourceReport
from proofs.verdict import MODES, Statistics

ROOT = str(Path(__file__).resolve().parents[2])
MAX_REPORT = 16_000_000
"""Largest report accepted from a child, bytes."""


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
    reach_seconds: float = 0.0
    """For each violation, how long to look for a real execution that ends in it."""


def check_in_sandbox(job: Job, limit: Limit | None = None) -> SourceReport:
    """``check.check_source`` in a limited child process.

    Raises:
        SourceError: the child found that the text is no scheduler, or could not be started.
    """
    limit = limit or Limit()
    start = f"import sys; sys.path.insert(0, {ROOT!r}); import proofs.source.child as c; c.main()"
    environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
    try:
        child = subprocess.Popen(
            [sys.executable, "-I", "-c", start],
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
    try:
        request = json.dumps({"job": asdict(job), "limit": asdict(limit)}).encode()
        answer, said = child.communicate(request, timeout=limit.wall_seconds)
    except subprocess.TimeoutExpired:
        return _refused(job, f"did not finish within {limit.wall_seconds:g} s")
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()
    return _read(job, limit, child.returncode, answer, said)


def _read(job: Job, limit: Limit, status: int, answer: bytes, said: bytes) -> SourceReport:
    """What the child's answer means."""
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return _refused(job, f"used more than {limit.cpu_seconds} s of processor time")
    if status < 0:
        return _refused(job, f"ended by signal {-status}")
    if len(answer) > MAX_REPORT:
        return _refused(job, "reports without end")
    try:
        data = json.loads(answer)
        if "error" in data:
            raise SourceError(str(data["error"]), int(data["status"]))
        if "refused" in data:
            return _refused(job, str(data["refused"]))
        return SourceReport.from_json(data["report"])
    except (ValueError, KeyError, TypeError):
        last = said.decode(errors="replace").strip().splitlines()[-1:] or ["no answer"]
        raise SourceError(
            f"{job.name}: the checking process failed: {last[0][:200]}", CANNOT_TELL
        ) from None


def _refused(job: Job, why: str) -> SourceReport:
    return SourceReport(job.name, job.version, (), Statistics(), rejected=f"rejected: {why}")
