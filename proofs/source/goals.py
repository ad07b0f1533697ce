"""What must hold at the end of a run of the text: the catalogue's claims and the clauses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from proofs.clauses import SERVES
from proofs.source.harness import Harness
from proofs.source.requests import Request
from spec import assumptions as spec_world
from spec.claims import Claim
from spec.invariants import about
from spec.logic import not_
from spec.promises import no_padding_diffusion, rows_match_drafts
from spec.records import SCHEDULED, Booking, Decision

UNLESS = "unless:"
"""Prefix of a tracked hypothesis that says a waiver does not apply."""

SOUND_SO_FAR = "rows match drafts so far"
"""Name of the hypothesis that no earlier step broke rows-match-drafts or padded a diffusion canvas:
either corrupts the counters, and is reported as the violation it is."""

CONSERVATION = "request-conservation"
AS_ASKED = ("num_prompt_tokens", "max_tokens", "priority", "arrival_time")
"""What a client sends with a request, and the scheduler only reads."""
IN_FLIGHT = "placeholder-accounting"
"""The catalogue id under which a wrong count of rows in flight is reported."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One formula to prove at the end of a path."""

    invariant: str
    """The catalogue id at stake."""
    name: str
    """The claim's function or the clause's name."""
    request: str
    formula: Any
    granted: Mapping[str, Any] = field(default_factory=dict)
    """Tracked extra hypotheses: assumptions by id, and ``unless:<waiver>``."""
    claim: Claim | None = None
    """The claim behind the formula; a clause has none."""
    rank: int = 0
    """The data-parallel rank the request is on."""


def goals_about(harness: Harness, records: Iterable[Any]) -> list[Goal]:
    """Every claim of the catalogue about these records."""
    return [
        _goal(harness, invariant.id, invariant.claim(record), invariant.claim.__name__, record)
        for record in records
        for invariant in about(type(record))
    ]


def _goal(harness: Harness, invariant: str, claim: Claim, name: str, record: Any) -> Goal:
    granted = {UNLESS + waiver: not_(applies) for waiver, applies in claim.waivers.items()}
    if invariant == "progress" and not isinstance(record, Booking):
        granted |= {need.id: need.condition(harness.config) for need in spec_world.PROGRESS_NEEDS}
    request = getattr(record, "request_id", "")
    return Goal(invariant, name, request, claim.unless_waived, granted, claim)


def flight_goals(harness: Harness, request: Request, added: Any) -> list[Goal]:
    """The text's own count of rows in flight moves by the rows that left, or came back.

    Nothing in the catalogue reads that counter.  But under async scheduling a state is supposed
    to have it right (`output-in-order`, and what of it is stale after a preemption), so a text has
    to keep it right.
    """
    if not (harness.is_async and harness.tracks_flight):
        return []
    was = harness.before[request.request_id].num_in_flight_tokens
    claim = Claim(
        {"num_in_flight_tokens": request.num_in_flight_tokens},
        "==",
        {"rows in flight": was + added},
    )
    formula = claim.unless_waived
    return [Goal(IN_FLIGHT, "rows_in_flight", request.request_id, formula, {}, claim)]


def as_asked_goals(harness: Harness, request: Request) -> list[Goal]:
    """What the client asked for, and the request's place, are as they were before the step."""
    was = harness.before[request.request_id]
    claims = (
        (field, Claim({field: getattr(request, field)}, "==", {"before": getattr(was, field)}))
        for field in AS_ASKED
    )
    return [
        Goal(CONSERVATION, f"{field}_as_asked", request.request_id, c.unless_waived, {}, c)
        for field, c in claims
    ]


def clause_goals(
    harness: Harness,
    request: Request,
    in_flight: Any,
    mid_step: bool = False,
    decision: Decision | None = None,
) -> list[Goal]:
    """Every kept clause again: the step must re-establish what it started from.

    ``decision``: what the step did with the request.  A step with less than one row is an engine's
    last, and after one that corrupts the counters (a violation of its own) nothing more is claimed:
    what such an engine does next is no verdict on the text.
    """
    granted: dict[str, Any] = {}
    if decision is not None and decision.outcome == SCHEDULED:
        alive = spec_world.CRASH_IS_THE_END
        granted[alive.id] = alive.condition(decision.num_scheduled_tokens)
        sound = rows_match_drafts(decision).holds & no_padding_diffusion(decision).holds
        granted[SOUND_SO_FAR] = sound
    return [
        Goal(SERVES[name], name, request.request_id, formula, granted)
        for name, formula in harness.clauses(request, in_flight, mid_step).items()
    ]
