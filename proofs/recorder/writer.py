"""A recording on disk, line by line."""

from __future__ import annotations

import atexit
import json
import os
from itertools import count
from pathlib import Path
from typing import IO

from proofs.recorder.lines import RAISED, Line

LINES_BETWEEN_FLUSHES = 256
encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class Writer:
    """Appends lines to a new file; what a killed process has not flushed is lost."""

    _numbers = count()

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{name}-{os.getpid()}-{next(self._numbers)}.jsonl"
        self._file: IO[str] | None = open(self.path, "x", encoding="utf-8", buffering=1 << 16)  # noqa: SIM115
        self._since_flush = 0
        atexit.register(self.close)

    def __call__(self, line: Line) -> None:
        """Write one line."""
        file = self._file
        if file is None:
            return
        file.write(encode(line) + "\n")
        self._since_flush += 1
        if self._since_flush >= LINES_BETWEEN_FLUSHES or line["kind"] == RAISED:
            self._since_flush = 0
            file.flush()

    def close(self) -> None:
        """Write what is left."""
        if self._file is not None:
            self._file.close()
            self._file = None
            atexit.unregister(self.close)
