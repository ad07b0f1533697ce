"""Planting a bug in a release, and what the runs that are to see it say.

Needs the package index once; afterwards the cache.  Skipped, with the reason, where neither helps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

import pytest

from proofs.source.errors import CANNOT_TELL, SourceError
from proofs.source.fetch import fetch_release
from proofs.source.loader import Text, load
from proofs.source.profile import profile_for
from proofs.source.proving.induct import check_mode
from proofs.source.runs.scenarios import whole_loop
from proofs.source.verdicts import Finding
from proofs.symbolic import Limits
from proofs.verdict import ASYNC, SYNC

VERSION = "0.33.0"
ONE = ("booking",)
TWO = ("booking, two requests",)
FEATURED = ("booking, KV connector and Mamba alignment",)
ARRIVAL = ("arrival",)
STEP = ("step",)
URGENCY = ("step, priorities",)
HELD_BACK = ("step, prefills held back",)
LOADING = ("step, KV connector",)
CONNECTED = ("running, KV connector",)
MAMBA = ("running, Mamba alignment",)
VICTIM = ("preemption",)
LEAST_URGENT = ("preemption, priorities",)


@dataclass(frozen=True)
class Plant:
    """One edit: what stands in its place, or before or behind it."""

    invariant: str
    tasks: tuple[str, ...]
    at: str
    instead: str = ""
    before: str = ""
    behind: str = ""
    site: str = ""
    """Of an exception, a part of the statement that raises it."""
    version: str = VERSION
    mode: str = SYNC

    def put_into(self, content: str) -> str:
        """The text with the bug; added lines are indented as the line they stand beside."""
        assert content.count(self.at) == 1, self.at
        line = content[: content.index(self.at)].rpartition("\n")[2]
        margin = "\n" + line[: len(line) - len(line.lstrip())]
        beside = [part.replace("\n", margin) for part in (self.before, self.behind)]
        parts = [beside[0], self.instead or self.at, beside[1]]
        return content.replace(self.at, margin.join(filter(None, parts)))

    def texts(self) -> tuple[Text, ...]:
        """The release with the bug."""
        return tuple(
            replace(t, content=self.put_into(t.content)) if t.name == "scheduler.py" else t
            for t in release(self.version)
        )


@cache
def release(version: str) -> tuple[Text, ...]:
    """The texts of a release."""
    try:
        return fetch_release(version).texts
    except SourceError as error:
        if error.status == CANNOT_TELL:
            pytest.skip(str(error))
        raise


def findings(
    texts: tuple[Text, ...], mode: str, names: Iterable[str], version: str = VERSION
) -> list[Finding]:
    """What the named runs find."""
    loaded = load(texts, profile_for(version))
    tasks = [t for t in whole_loop(mode == ASYNC, loaded.mentioned) if t.name in names]
    assert {task.name for task in tasks} == set(names)
    return check_mode(loaded, tasks, "", Limits(paths=20_000, seconds=60), True)[0]


def verdicts_about(plant: Plant) -> set[str]:
    """The verdicts of a plant's own runs about its invariant, exceptions included."""
    found = findings(plant.texts(), plant.mode, plant.tasks, plant.version)
    return {finding.verdict for finding in found if finding.invariant == plant.invariant}


def verdicts(
    texts: tuple[Text, ...], mode: str, names: Iterable[str], version: str = VERSION
) -> dict[str, str]:
    """Invariant → the worst verdict of the named runs; an exception is no news here."""
    found = findings(texts, mode, names, version)
    return {finding.invariant: finding.verdict for finding in found}
