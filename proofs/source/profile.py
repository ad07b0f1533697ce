"""The environment profile: what a scheduler's text sees of the world around it.

The profile is a table (``profile_table``), one row per attribute: what it is, in which releases
it exists, and why that choice is sound.  Nothing else decides what the text sees: an attribute
without a row is *undecided*, and the report prints the row that would settle it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from proofs.source.errors import SourceError
from proofs.source.profile_table import TABLE

KINDS = {
    "const": "a literal: the feature is off, or the value does not matter to any invariant",
    "free": "any truth value (any-bool), or any integer from the value on; of a call, each time",
    "passed-on": "what varies and is only handed on, by a literal of its type: undecided where a"
    " text compares it or branches on it; of a call, what it returns",
    "knob": "a symbolic knob of spec.config, by name; `diffusion` is s == 0",
    "object": "an object whose attributes are further rows under this name, or under the value",
    "call": "a function without effect on scheduling; the value is the literal it returns",
    "make": "a function or class whose call gives the object named by the value",
    "world": "answered by world.py: nondeterministic under the named assumptions",
    "python": "ordinary Python or vLLM's own vocabulary, in vocabulary.py",
    "class": "a class of the engine; the value names objects that are no instances of it, or says"
    " `base`: a text may derive from it; all else about it is undecided",
    "same": "a decorator that only observes: it returns what it decorates; with the value `made`,"
    " its call makes such a decorator",
    "scope": "a function whose call opens a scope for `with`, which does nothing and names nothing",
    "record": "a plain data record with the fields it is built with",
    "state": "state between two steps: the arbitrary value an inductive step starts from (STATES)",
}
INITIAL, ASSUMED, SETS = "initial", "assumed", ("any-ids", "any-requests", "sink")
STATES = {
    "harness": "what the harness fills",
    "any-bool": "free",
    "any-int": "free from 0 on, or from what it is made with if that is less",
    "any-ids": "a set: whether a request's id is in it is free, and how much else is",
    "any-requests": "a set of requests, in the same way",
    "sink": "a set of requests that is only filled, and summed over: filling it forks nothing",
    INITIAL: "what `__init__` makes it: a step that leaves it otherwise is undecided",
    ASSUMED: "what `__init__` makes it, whatever a step does to it: nobody checks",
}
"""What the value of a ``state`` row says of an attribute of the scheduler.

Rows below `request.` take any-bool and any-int, rows below `text.` (globals, attributes of classes,
defaults and closures: all of these are as the text made them) take `assumed`.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the profile."""

    attribute: str
    kind: str
    value: str
    since: str
    until: str
    why: str

    @property
    def literal(self) -> Any:
        """The value of a literal row, its lists and the like made anew."""
        return _anew(_literal(self.value))

    @property
    def kind_of_literal(self) -> type:
        """The type of the value."""
        return type(_literal(self.value))

    def covers(self, version: str | None) -> bool:
        """Whether the row speaks about a release (``None``: a text of unknown release)."""
        if version is None:
            return True
        at = release_key(version)
        return (not self.since or release_key(self.since) <= at) and (
            not self.until or at <= release_key(self.until)
        )


@cache
def _literal(text: str) -> Any:
    return ast.literal_eval(text)


def _anew(value: Any) -> Any:
    """A literal of its own: nobody else holds what can be changed of it."""
    kind = type(value)
    if kind is list or kind is tuple:
        return kind(map(_anew, value))
    if kind is dict:
        return {key: _anew(part) for key, part in value.items()}
    return set(value) if kind is set else value


def release_key(version: str) -> tuple[int, ...]:
    """``0.29.0`` as a sortable tuple; ``0.29`` means any 0.29."""
    digits = [part for part in version.split(".")[:2] if part.isdigit()]
    return tuple(int(part) for part in digits)


@dataclass(frozen=True)
class Profile:
    """The rows that apply to one text."""

    rows: dict[str, Row]
    groups: frozenset[str]
    """Names that are objects because rows lie below them."""
    added: frozenset[str] = frozenset()
    """Names of rows that are not the table's own: they speak of the text that is checked."""

    @cached_property
    def states(self) -> tuple[tuple[str, Row], ...]:
        """Name and row of what a scheduler carries from step to step."""
        return self._states("scheduler.")

    @cached_property
    def request_states(self) -> tuple[tuple[str, Row], ...]:
        """Name and row of what a request carries from step to step, beyond its counters."""
        return self._states("request.")

    def _states(self, prefix: str) -> tuple[tuple[str, Row], ...]:
        return tuple(
            (name.removeprefix(prefix), row)
            for name, row in self.rows.items()
            if row.kind == "state" and name.startswith(prefix)
        )

    @cached_property
    def state_names(self) -> frozenset[str]:
        """What a scheduler carries that has a row."""
        return frozenset(name for name, _ in self.states)

    @cached_property
    def judged(self) -> frozenset[str]:
        """What a scheduler carries that need not stay as `__init__` made it."""
        return frozenset(name for name, row in self.states if row.value != INITIAL)

    @property
    def sinks(self) -> frozenset[str]:
        """Attributes of the scheduler that feed no decision, if the text reads them nowhere."""
        return frozenset(name for name, row in self.states if row.value == "sink")

    @property
    def sets(self) -> frozenset[str]:
        """Attributes of the scheduler that hold a set whose content is free."""
        return frozenset(name for name, row in self.states if row.value in SETS)

    def state(self, name: str) -> Row | None:
        """The row of what a scheduler carries under that name, if there is one."""
        row = self.rows.get(f"scheduler.{name}")
        return row if row is not None and row.kind == "state" else None

    def row(self, attribute: str) -> Row | None:
        """What an attribute is, if the profile says."""
        return self.rows.get(attribute)


@cache
def profile_for(version: str | None, extra: str = "") -> Profile:
    """The profile of a release, or the union of all rows for a text of unknown release.

    Args:
        version: ``0.29.0``, or None.
        extra: further lines in the table's format, which win over the table's own.
    """
    rows = {row.attribute: row for row in parse(TABLE + "\n" + extra) if row.covers(version)}
    groups = {name.rpartition(".")[0] for name in rows if "." in name}
    added = frozenset(row.attribute for row in parse(extra))
    return Profile(rows, frozenset(groups), added)


def parse(table: str) -> list[Row]:
    """The rows of a table: ``attribute | kind | value | since | until | why``.

    Raises:
        SourceError: a line is not a row.
    """
    rows = []
    for number, line in enumerate(table.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 6 or cells[1] not in KINDS:
            raise SourceError(
                f"profile line {number} is not `attribute | kind | value | since | until | why` "
                f"with a kind of {', '.join(KINDS)}: {line.strip()[:80]!r}"
            )
        if cells[1] == "state" and cells[2] not in STATES:
            raise SourceError(
                f"profile line {number}: a state row says one of {', '.join(STATES)}: "
                f"{line.strip()[:80]!r}"
            )
        rows.append(Row(*cells))
    return rows
