"""What the recorder is told to do, by environment variables of the engine's processes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

RECORD = "SCHEDPROOF_RECORD"
"""A folder for recordings; unset: nothing is recorded."""
MONITOR = "SCHEDPROOF_MONITOR"
"""``warn``, ``dump`` or ``raise``; unset or ``off``: nothing is watched."""
TRACES = "SCHEDPROOF_TRACES"
"""A folder for what the monitor writes; default: that of the recordings, else the current one."""
POOL = "SCHEDPROOF_COUNT_POOL_EVERY"
"""Count the KV blocks in use every so many calls."""
ACTS = ("warn", "dump", "raise")
"""``warn``: one line and one trace per invariant.  ``dump``: for every violation, up to a limit.
``raise``: after them an exception, which ends the engine."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The variables, read."""

    record: Path | None = None
    monitor: str = ""
    traces: Path = Path()
    count_pool_every: int = 64
    complaints: tuple[str, ...] = ()
    """What was not understood: said once, and left out."""


def read(environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings; a value that is none of the legal ones is a complaint, not an error."""
    complaints = []
    record = Path(environment[RECORD]) if environment.get(RECORD) else None
    monitor = environment.get(MONITOR, "").lower()
    if monitor in ("", "off"):
        monitor = ""
    elif monitor not in ACTS:
        complaints.append(f"{MONITOR}={monitor} is illegal; legal: off, {', '.join(ACTS)}")
        monitor = ""
    every = environment.get(POOL, "64")
    if not (every.isdecimal() and int(every) > 0):
        complaints.append(f"{POOL}={every} is not a positive whole number")
        every = "64"
    traces = Path(environment[TRACES]) if environment.get(TRACES) else record or Path()
    return Settings(record, monitor, traces, int(every), tuple(complaints))
