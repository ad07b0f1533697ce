"""Running the tiny engine of ``proofs.recorder.exercise`` in its own interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import proofs
from proofs.conform.engine import Installation
from proofs.errors import UsageError
from proofs.recorder import exercise as script
from proofs.recorder import runner, settings

MOST_SECONDS = 3600
ROOT = Path(proofs.__file__).parent.parent
VERSION = (
    "import sys\n"
    "try: import vllm.version as v; print(v.__version__)\n"
    "except ImportError as e: print('absent', e)"
)


class Died(Exception):
    """The engine did not come up, or did not say what it did; the message is its last word."""


def exercise(
    installation: Installation, version: str, told: dict[str, Any], monitor: str | None = None
) -> tuple[dict[str, Any], str, list[str]]:
    """Run the engine; what it did, its recording, and what the monitor said.

    Raises:
        UsageError: no engine there, or another version.
        Died: it did not run.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = _environment(installation) | {
            settings.RECORD: folder,
            settings.MONITOR: monitor or "off",
            settings.POOL: "1",
        }
        _expect(installation, version, environment)
        ran = _run([installation.python, str(script.__file__), json.dumps(told)], environment)
        last = ran.stdout.strip().splitlines()[-1:] or [""]
        try:
            done = json.loads(last[0])
        except ValueError:
            raise Died(_last_word(ran.stderr)) from None
        files = list(Path(folder).glob("recording-*.jsonl"))
        if len(files) != 1:
            raise Died(f"it wrote {len(files)} recordings: {_last_word(ran.stderr)}")
        said = [
            line
            for line in ran.stdout.splitlines() + ran.stderr.splitlines()
            if "schedproof:" in line
        ]
        return done, files[0].read_text(encoding="utf-8"), said


def runner_lines(installation: Installation, version: str, told: dict[str, Any]) -> list[str]:
    """What ``proofs.recorder.runner`` prints there; an unfinished run has no ``end`` in it.

    Raises:
        UsageError: no engine there, or another version.
        Died: it did not run to its end.
    """
    environment = _environment(installation)
    _expect(installation, version, environment)
    ran = _run([installation.python, str(runner.__file__), json.dumps(told)], environment)
    if ran.returncode:
        raise Died(_last_word(ran.stderr))
    return ran.stdout.splitlines()


def _environment(installation: Installation) -> dict[str, str]:
    """The interpreter's environment: the unpacked wheel first, then this project."""
    path = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    if installation.unpacked is not None:
        path.insert(0, str(installation.unpacked.resolve()))
    named = {"PYTHONPATH": os.pathsep.join(filter(None, path)), "PYTHONSAFEPATH": "1"}
    return dict(os.environ) | script.ENVIRONMENT | named


def _expect(installation: Installation, version: str, environment: dict[str, str]) -> None:
    unpacked = installation.unpacked
    if unpacked is not None and not any((unpacked / "vllm").glob("*.so")):
        raise UsageError(
            f"--unpacked {unpacked} has no compiled parts (vllm/*.so), which a whole engine needs: "
            "unpack the release's CPU wheel; the scheduler object alone, as in conform without "
            "--runner and check --confirm, does without"
        )
    ran = _run([installation.python, "-c", VERSION], environment)
    said = ran.stdout.strip()
    if not said or said.startswith("absent"):
        raise UsageError(
            f"{installation.python} has no engine installed: {said[7:] or _last_word(ran.stderr)}"
        )
    found = said.splitlines()[-1].partition("+")[0]
    if found != version:
        raise UsageError(
            f"{installation.python} has vLLM {found}, not {version}; install that one, or name its "
            "unpacked wheel with --unpacked"
        )


def _run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=environment,
            timeout=MOST_SECONDS,
            check=False,
        )
    except OSError as error:
        raise UsageError(f"cannot start {command[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        raise Died(f"it was not done after {MOST_SECONDS} s") from None


def _last_word(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"
