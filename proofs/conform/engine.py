"""The engine's child process: a released scheduler, in its own interpreter, over JSON lines."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from proofs.conform.lockstep import Call, Seen
from proofs.errors import UsageError

VARIABLE = "SCHEDPROOF_ENGINE"
"""The environment variable that names the engine's interpreter."""
CHILD = Path(__file__).with_name("child.py")
ROOT = Path(__file__).parents[2]


class EngineDied(Exception):
    """The child ended or spoke out of turn; the message is its last word."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Where an engine is installed."""

    python: str
    """Its interpreter."""
    unpacked: Path | None = None
    """An unpacked wheel, put first on the import path."""
    child: Path = CHILD


def find(python: str | None, unpacked: Path | None) -> Installation:
    """The installation the user names, or the one the environment names.

    Raises:
        UsageError: none is named, or what is named is not there.
    """
    named = python or os.environ.get(VARIABLE, "")
    if not named:
        raise UsageError(
            f"no engine is named; set {VARIABLE} or pass --python PATH: the interpreter of an "
            "environment with schedproof[engine]"
        )
    if not (os.path.isfile(named) and os.access(named, os.X_OK)):
        raise UsageError(f"the engine's interpreter {named} is not an executable file")
    if unpacked is not None and not (unpacked / "vllm").is_dir():
        raise UsageError(f"--unpacked {unpacked} holds no vllm package")
    return Installation(named, unpacked)


class EngineProcess:
    """A running child; a context manager, so that it never outlives its use.

    Args:
        installation: where the engine is.
        version: the version it has to be.

    Raises:
        UsageError: the engine is not installed, or is another version.
    """

    def __init__(self, installation: Installation, version: str) -> None:
        environment = dict(os.environ, VLLM_LOGGING_LEVEL="ERROR", VLLM_NO_USAGE_STATS="1")
        # The recorder, which the child uses, is the project's.
        path = [str(ROOT), environment.get("PYTHONPATH", "")]
        if installation.unpacked is not None:
            path.insert(0, str(installation.unpacked.resolve()))
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        # Closed with the child, which writes to it all its life.
        self._complaints: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                [installation.python, str(installation.child)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                encoding="utf-8",
                env=environment,
            )
        except OSError as error:
            self._complaints.close()
            raise UsageError(f"cannot start {installation.python}: {error.strerror}") from error
        try:
            self._greet(installation, version)
        except BaseException:
            self.close()
            raise

    def play(
        self, config: dict[str, Any], calls: Sequence[Call], watched: bool = False
    ) -> list[Seen]:
        """Make the calls on a fresh scheduler; what was seen after each, up to an exception.

        Args:
            watched: with the ``lines`` a recorder writes of each call.

        Raises:
            EngineDied: the child could not answer.
        """
        answer = self._ask({"config": config, "calls": list(calls), "watched": watched})
        seen = answer.get("seen")
        if not isinstance(seen, list):
            raise EngineDied(f"an answer without observations: {json.dumps(answer)[:200]}")
        return seen

    def close(self) -> None:
        """End the child."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):  # it is dead already, with a line half written
                    pipe.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._complaints.close()

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _greet(self, installation: Installation, version: str) -> None:
        try:
            hello = self._read()
        except EngineDied as error:
            raise UsageError(f"{installation.python} cannot run the engine: {error}") from error
        if "absent" in hello:
            raise UsageError(f"{installation.python} has no engine installed: {hello['absent']}")
        found = str(hello.get("version", "")).partition("+")[0]
        if found != version:
            raise UsageError(
                f"{installation.python} has vLLM {found or 'of no version'}, not {version}; "
                "install that one, or name its unpacked wheel with --unpacked"
            )

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps(question) + "\n")
            stdin.flush()
        except OSError as error:
            raise EngineDied(self._last_word()) from error
        return self._read()

    def _read(self) -> dict[str, Any]:
        stdout = self._process.stdout
        assert stdout is not None
        line = stdout.readline()
        if not line:
            raise EngineDied(self._last_word())
        try:
            answer = json.loads(line)
        except ValueError as error:
            raise EngineDied(f"not a JSON line: {line[:200]!r}") from error
        if not isinstance(answer, dict):
            raise EngineDied(f"not a JSON object: {line[:200]!r}")
        return answer

    def _last_word(self) -> str:
        self._process.wait()
        self._complaints.seek(0)
        lines = self._complaints.read().strip().splitlines()
        return lines[-1] if lines else f"it ended with status {self._process.returncode}"
