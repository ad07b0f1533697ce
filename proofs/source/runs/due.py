"""What is due at the end of a run: a record the catalogue judges, a request's clauses, one goal.

A run ends with the values; the formulas about them are spelled out afterwards, once for all paths
that end with the same.  Two runs whose values agree owe the same, so `witness` compares values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Protocol

from proofs.clauses import SERVES, request_clauses
from proofs.source.objects.requests import Request
from proofs.source.runs.goals import SOUND_SO_FAR, UNLESS, Goal
from proofs.source.runs.harness import Harness
from proofs.source.runs.state import View
from spec import assumptions as spec_world
from spec.config import Config
from spec.invariants import RECORDS, about
from spec.logic import not_
from spec.promises import no_padding_diffusion, rows_match_drafts
from spec.records import SCHEDULED, Booking, Decision

Parts = tuple[Sequence[str], Sequence[Any]]
"""Names and the values they have."""
Knobs = Callable[[Config], int]


class Due(Protocol):
    """Something that must hold."""

    @property
    def title(self) -> str:
        """What it is, for a reader."""

    def parts(self) -> Parts:
        """All that its goals are made of, but the configuration and what is due besides."""

    def goals(self) -> list[Goal]:
        """It as formulas to prove."""

    def key(self, knobs: Knobs) -> Hashable:
        """The identities of all that its goals are made of; None where that is not worth it.

        ``knobs``: a number for a configuration, the same for all with the same knobs.
        """


class Spelled:
    """What was spelled out so far: paths that end with the same values share their goals.

    Equal terms are one object while a ground lives, and what was spelled out keeps its values.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, _Goals] = {}
        self._configs: dict[Hashable, tuple[int, Config]] = {}
        self._last: tuple[Config | None, int] = None, 0

    def out(self, dues: Iterable[Due]) -> tuple[list[Goal], set[str]]:
        """The goals of what is due, in order, but for those that are evident (two of three are);
        and the invariants of which a claim is due, evident ones included."""
        made: list[Goal] = []
        spoken: set[str] = set()
        for due in dues:
            key = due.key(self._knobs)
            known = None if key is None else self._known.get(key)
            if known is None:
                known = _Goals.of(due)
                if key is not None:
                    self._known[key] = known
            made += known.open
            spoken |= known.spoken
        return made, spoken

    def _knobs(self, config: Config) -> int:
        if self._last[0] is not config:  # one run asks of one again and again
            number, _ = self._configs.setdefault(_ids(_KNOBS(config)), (len(self._configs), config))
            self._last = config, number
        return self._last[1]


@dataclass(frozen=True, slots=True)
class _Goals:
    """What is due spelled out, and the values it is made of, so that these stay."""

    due: Due
    open: list[Goal]
    spoken: frozenset[str]

    @classmethod
    def of(cls, due: Due) -> _Goals:
        goals = due.goals()
        spoken = frozenset(goal.invariant for goal in goals if goal.claim is not None)
        return cls(due, [goal for goal in goals if goal.formula is not True], spoken)


def goals_of(dues: Iterable[Due]) -> list[Goal]:
    """All goals of what is due, spelled out for once."""
    return [goal for due in dues for goal in due.goals()]


@dataclass(frozen=True, slots=True)
class Judged:
    """A record, of which every claim of the catalogue is due."""

    record: Any
    only: str = ""
    """The one catalogue id that is due of it; empty: all."""

    @property
    def title(self) -> str:
        """The kind of record, and whom it is about."""
        return f"{type(self.record).__name__} of {getattr(self.record, 'request_id', '')}"

    def parts(self) -> Parts:
        """The record's fields."""
        names, values = _FIELDS[type(self.record)]
        return names, values(self.record)

    def goals(self) -> list[Goal]:
        """Every claim of the catalogue about the record."""
        record, request = self.record, getattr(self.record, "request_id", "")
        made = []
        for invariant in about(type(record)):
            if self.only not in ("", invariant.id):
                continue
            claim = invariant.claim(record)
            granted = {UNLESS + waiver: not_(applies) for waiver, applies in claim.waivers.items()}
            if invariant.id == "progress" and type(record) is not Booking:
                needs = spec_world.PROGRESS_NEEDS
                granted |= {need.id: need.condition(record.config) for need in needs}
            name = invariant.claim.__name__
            made.append(Goal(invariant.id, name, request, claim.unless_waived, granted, claim))
        return made

    def key(self, knobs: Knobs) -> Hashable:
        """The record's fields and its knobs."""
        record = self.record
        return (type(record), self.only, _ids(self.parts()[1]), knobs(record.config))


@dataclass(frozen=True, slots=True)
class Kept:
    """A request of which every kept clause is due again: what a step started from holds anew.

    A step with less than one row is an engine's last, and after one that corrupts the counters (a
    violation of its own) nothing more is claimed: what such an engine does next is no verdict on
    the text.
    """

    config: Config
    view: View
    in_flight: Any
    clauses: frozenset[str]
    """The names of those that are due."""
    decision: Decision | None = None
    """What the step did with the request."""

    @property
    def title(self) -> str:
        """Whose clauses."""
        return f"clauses of {self.view.request_id}"

    def parts(self) -> Parts:
        """The request's counters; the decision is due by itself."""
        return (*_VIEW[0], "in flight"), (*_VIEW[1](self.view), self.in_flight)

    def goals(self) -> list[Goal]:
        """Every clause."""
        decision, granted = self.decision, {}
        if decision is not None and decision.outcome == SCHEDULED:
            alive = spec_world.CRASH_IS_THE_END
            granted[alive.id] = alive.condition(decision.num_scheduled_tokens)
            sound = rows_match_drafts(decision).holds & no_padding_diffusion(decision).holds
            granted[SOUND_SO_FAR] = sound
        clauses = request_clauses(self.config, self.view, self.in_flight)  # type: ignore[arg-type]
        return [
            Goal(SERVES[name], name, self.view.request_id, formula, granted)
            for name, formula in clauses.items()
            if name in self.clauses
        ]

    def key(self, knobs: Knobs) -> Hashable:
        """The counters, the decision, the knobs and which clauses are meant."""
        decided = () if self.decision is None else _ids(_FIELDS[Decision][1](self.decision))
        return _ids(self.parts()[1]), decided, knobs(self.config), self.clauses


def clauses_of(
    harness: Harness,
    request: Request,
    in_flight: Any,
    mid_step: bool = False,
    decision: Decision | None = None,
) -> Kept:
    """Every clause again that the harness may suppose of a request: see `Kept`."""
    view, clauses = harness.view(request), harness.supposed(mid_step)
    return Kept(harness.config, view, in_flight, clauses, decision)


def judged(records: Iterable[Any]) -> list[Judged]:
    """Each record by itself."""
    return [Judged(record) for record in records]


def _getter(record: type, *without: str) -> tuple[Sequence[str], Callable[[Any], Sequence[Any]]]:
    names = [field.name for field in fields(record) if field.name not in without]
    return names, attrgetter(*names)


def _ids(values: Iterable[Any]) -> tuple[int, ...]:
    return tuple(map(id, values))


_FIELDS = {record: _getter(record, "config") for record in RECORDS if record is not bool}
_VIEW = _getter(View)
_KNOBS = _getter(Config)[1]
