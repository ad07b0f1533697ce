"""Every invariant, checked on the engine while it runs.

A violation is said in one line and written down as a recording that ``trace check`` reads; then
the monitor does as it was told.  It never touches the scheduler.
"""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

from proofs.recorder import lines
from proofs.recorder.checking import Broken, broken
from proofs.recorder.facts import Facts
from proofs.recorder.writer import Writer

logger = logging.getLogger("vllm.schedproof")
MOST_DUMPS = 100


class InvariantViolated(Exception):
    """What ``SCHEDPROOF_MONITOR=raise`` asks for."""


class Monitor:
    """Takes the lines of a watch.

    Args:
        act: ``warn``, ``dump`` or ``raise``.
        folder: where traces go.
        recording: the whole recording, if there is one; a violation then refers to it.
    """

    def __init__(self, act: str, folder: Path, recording: Path | None = None) -> None:
        self.act, self.folder, self.recording = act, folder, recording
        self.seen: Counter[str] = Counter()
        """Invariant → violations so far."""
        self._facts: Facts | None = None
        self._header: lines.Line = {}
        self._older: list[lines.Line] = []
        self._newer: list[lines.Line] = []

    def __call__(self, line: lines.Line) -> None:
        """Check one more line."""
        if self._facts is None:
            self._facts, self._header = Facts(line), line
            return
        if self.recording is None:
            if line["kind"] == lines.SNAPSHOT:
                self._older, self._newer = self._newer, []
            self._newer.append(line)
        for record in self._facts.take(line):
            for violation in broken(record):
                self._violated(violation, line)

    def _violated(self, violation: Broken, line: lines.Line) -> None:
        first = not self.seen[violation.invariant]
        self.seen[violation.invariant] += 1
        wanted = first or (self.act == "dump" and self.seen.total() <= MOST_DUMPS)
        if wanted:
            where = self.recording or self._write()
            logger.error(
                "schedproof: line %d breaks %s%s: %s (%s)",
                line["n"],
                violation.invariant,
                f" for {violation.request}" if violation.request else "",
                violation.sentence,
                where,
            )
        if self.act == "raise":
            raise InvariantViolated(f"{violation.invariant}: {violation.sentence}")

    def _write(self) -> Path:
        """The last two windows, as a recording of its own."""
        writer = Writer(self.folder, "violation")
        for line in (self._header, *self._older, *self._newer):
            writer(line)
        last = self._newer[-1]["n"] if self._newer else 0
        writer({"n": last + 1, "kind": lines.END})
        writer.close()
        return writer.path
