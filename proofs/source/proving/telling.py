"""A run on integers in the words of a trace: what a reader sees of each of its steps.

The words are those of a trace of the model, so that the two read alike.  A field that the run does
not know is left out rather than shown as a zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from proofs.replay import RAISED, count
from proofs.source.runs.harness import Harness
from proofs.source.runs.state import Moment, View
from proofs.trace import RequestLine, TraceStep, Violation, config_to_json
from spec.records import LOADING, SCHEDULED, SKIPPED, Decision

ARRIVES = "{} arrives: {:prompt token}, max_tokens {}"
ABORTED = "a client aborts {}"
LOADED = "KV of {} has arrived"
RETURNED = "output of {} booked: {:token}, {} in all"
STOPPED = "{} samples its stop token"
PROPOSED = "{:draft} proposed for {}"
NOT_REACHED = "not reached"
BOOKED = "booked"
OUTPUT = "no step is decided: output comes back"
NO_OUTPUT = "no step is decided: a request arrives"
NO_MORE = "no step is decided: a client aborts"
DIES = "the scheduler dies before it decides"
DIES_BOOKING = "the scheduler dies as it books the output"
DIES_ABORTING = "the scheduler dies as a request is aborted"


@dataclass(frozen=True, slots=True)
class Raise:
    """How the last step ended, if with an exception."""

    request: str
    """The request it was looking at; empty if that is not known."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """What it had given out until then, by request."""
    drafts: Mapping[str, int] = field(default_factory=dict)


def known_config(harness: Harness) -> dict[str, Any]:
    """The knobs that mean something here, by name.

    The KV pool answers freely, so its size is none of them, nor is that of a block where no
    boundary matters; a knob that the text does not know is none either.
    """
    unknown = {"num_gpu_blocks"}
    if not (harness.config.mamba_align or harness.world.connector):
        unknown.add("block_size")
    if not harness.knows_draft_slots:
        unknown.add("draft_slots")
    knobs = config_to_json(harness.config)
    return {name: value for name, value in knobs.items() if name not in unknown}


def steps_of(
    harness: Harness, violation: Violation, ended: Raise | None = None, rank: int = 0
) -> tuple[TraceStep, ...]:
    """Every step of the run, rank by rank; the last one of ``rank`` breaks the promise."""
    if not harness.moments:
        harness.moment()
    last = len(harness.moments) - 1
    return tuple(
        _step(one, number, at, ended, violation if (number, at) == (last, rank) else None)
        for number in range(last + 1)
        for at, one in enumerate((harness, *harness.peers))
        if number < len(one.moments)
    )


def _step(
    harness: Harness, number: int, rank: int, ended: Raise | None, broken: Violation | None
) -> TraceStep:
    moment = harness.moments[number]
    lines, decided = _decided(harness, moment, None if broken is None else ended)
    events = (*_before(moment, bool(harness.config.priority_scheduling)), *_found(moment))
    return TraceStep(number, rank, tuple(lines), decided, events, broken, _after(moment))


def _decided(
    harness: Harness, moment: Moment, ended: Raise | None
) -> tuple[list[RequestLine], str]:
    """A line per request, and the step in words."""
    decisions = [worded(decision) for decision in moment.decisions]
    if decisions:
        lines, said = [RequestLine.of(d) for d in decisions], in_words(decisions)
        return lines, said if ended is None else f"{said}; booking the output raises"
    names = [request.request_id for request in harness.everyone]
    if moment.only_books:
        dies = DIES_ABORTING if moment.aborted else DIES_BOOKING
        outcome, reason = (BOOKED, "") if ended is None else (RAISED, dies)
        said = NO_OUTPUT if moment.arrived and ended is None else OUTPUT
        said = NO_MORE if moment.aborted else said
        return [_line(harness, n, outcome, reason) for n in names], said
    if ended is None:
        return [], "idle"
    lines = [_at_the_end(harness, name, ended) for name in names]
    given = [
        f"{line.request_id}: {count(line.num_scheduled_tokens, 'row')}"
        for line in lines
        if line.outcome == SCHEDULED
    ]
    return lines, "; ".join([*given, f"{ended.request or 'the step'} raises"])


def booked_in_words(harness: Harness) -> tuple[tuple[RequestLine, ...], str]:
    """The last moment, in which nobody got rows: a line per request, and what came instead."""
    moment = harness.moments[-1]
    lines = tuple(_line(harness, r.request_id, BOOKED) for r in harness.everyone)
    told = (*_before(moment, bool(harness.config.priority_scheduling)), *_after(moment))
    return lines, "; ".join(told) or "nobody gets rows"


def _at_the_end(harness: Harness, name: str, ended: Raise) -> RequestLine:
    """What a request had got when the step raised."""
    if name == ended.request:
        return _line(harness, name, RAISED, DIES)
    if name in ended.rows:
        got = _line(harness, name, SCHEDULED, "before the exception")
        return replace(
            got,
            num_scheduled_tokens=ended.rows[name],
            num_draft_tokens=ended.drafts.get(name, 0),
        )
    served = name in harness.world.looked or name in harness.world.served
    return _line(harness, name, SKIPPED if served else NOT_REACHED)


def _line(harness: Harness, name: str, outcome: str, reason: str = "") -> RequestLine:
    """A request without a decision: its counters before the step."""
    was = harness.before.get(name) or View.of(harness.scheduler.requests[name], False)
    return RequestLine(
        name,
        int(was.num_tokens),
        int(was.num_computed_tokens),
        int(was.num_output_placeholders),
        int(was.num_spec_tokens),
        0,
        0,
        False,
        outcome,
        reason,
    )


def worded(decision: Decision) -> Decision:
    """A decision on integers, its reason as exact as the numbers allow."""
    width = 1 + decision.config.num_spec_tokens
    if decision.is_padded and decision.num_scheduled_tokens == width:
        return replace(decision, reason="padded to 1 + K")
    return decision


def in_words(decisions: Iterable[Decision]) -> str:
    """What a step decided."""
    return "; ".join(_in_words(worded(decision)) for decision in decisions)


def _in_words(d: Decision) -> str:
    if d.outcome == SCHEDULED:
        rows = count(int(d.num_scheduled_tokens), "row")
        return f"{d.request_id} {d.reason}: {rows}, {count(int(d.num_draft_tokens), 'draft')}"
    if d.outcome == LOADING:
        return f"{d.request_id}: {d.reason}"
    return f"{d.request_id} {d.outcome}: {d.reason}"


def _before(moment: Moment, priorities: bool) -> Iterator[str]:
    """Who arrives, and whose KV, before the step decides."""
    for arrived in moment.arrived:
        yield _told(ARRIVES + (", priority {}" if priorities else ""), *arrived)
    yield from (_told(ABORTED, name) for name in moment.aborted)
    yield from (_told(LOADED, name) for name in moment.loaded)


def _found(moment: Moment) -> Iterator[str]:
    """What the caches held of the requests the step looked at."""
    for name, hit in moment.hits.items():
        if hit != 0:
            yield _told("{:token} of {} in the prefix cache", hit, name)
    for name, (matched, by_itself) in moment.matches.items():
        if matched != 0:
            how = "loading them in the background" if by_itself else "already loaded"
            yield _told("{:token} of {} at the KV connector, " + how, matched, name)


def _after(moment: Moment) -> tuple[str, ...]:
    """What came back after the step."""
    return (
        *(_told(RETURNED, *returned) for returned in moment.returned),
        *(_told(STOPPED, name) for name in moment.stopped),
        *(_told(PROPOSED, drafts, name) for name, drafts in moment.proposed if drafts != 0),
    )


def _told(sentence: str, *values: Any) -> str:
    """A sentence with its values put in; ``{:token}`` counts them."""
    return sentence.format(*(_Number(v) if isinstance(v, int) else v for v in values))


class _Number(int):
    """Formats itself with a noun: ``{:row}`` is ``1 row`` or ``2 rows``."""

    def __format__(self, noun: str) -> str:
        return count(int(self), noun) if noun else str(int(self))
