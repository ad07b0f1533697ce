"""A run that is stopped says so in one line, never "proved", and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNS = (
    ("check",),
    ("check", "--policy", "54028"),
    ("fuzz", "--policy", "54028", "--steps", "100000000", "--jobs", "2"),
)


def busy_children(process: int) -> list[str]:
    """Process ids of the children of a process that are at work; an interrupt is lost in a fork."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split()
    return [child for child in children if _ticks(child) >= 5]


def _ticks(process: str) -> int:
    """Processor time a process has used, hundredths of a second."""
    return int(Path("/proc", process, "stat").read_text("ascii").rpartition(")")[2].split()[11])


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to see children")
@pytest.mark.parametrize("run", RUNS, ids=" ".join)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_ends_in_one_line(run: tuple[str, ...], number: signal.Signals) -> None:
    command = [sys.executable, "-m", "proofs", *run]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while not (workers := busy_children(process.pid)):
            assert process.poll() is None, "it ended before it could be stopped"
            time.sleep(0.02)
        os.kill(process.pid, number)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 3, errors
    assert errors == "proofs: interrupted; an unfinished run proves nothing\n"
    assert "proved" not in output and "nothing found" not in output
    assert not [worker for worker in workers if Path("/proc", worker).exists()]
