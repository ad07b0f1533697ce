"""The smallest example of a difference between two texts, run again by both on integers.

No number in a report on two texts comes from a solver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proofs.source.compare.classes import Apart, Class, Comparison
from proofs.source.compare.effects import ORDER, Calls, ordered
from proofs.source.compare.sides import Side, counted_differently, left, look, scheduled_differently
from proofs.source.compare.values import MISSING, apart, parted
from proofs.source.compare.words import TELLING
from proofs.source.differences import Difference, Half
from proofs.source.errors import named
from proofs.source.proving.concrete import NotReplayed, Run, run
from proofs.source.proving.concrete import rows_line as line_of
from proofs.source.proving.lines import parting
from proofs.source.proving.telling import booked_in_words, in_words, known_config, worded
from proofs.source.runs.harness import Harness
from proofs.source.runs.shapes import Shape, Task
from proofs.trace import RequestLine
from proofs.verdict import ASYNC, SYNC

Played = tuple[Side, Run]


def example(comparison: Comparison, found: Class) -> Difference:
    """The smallest example of a class.

    Raises:
        NotReplayed: on integers there is none.
    """
    (one, first), (two, second) = _play(comparison, found.shape, found.answers)
    name = found.request
    rows = scheduled_differently(one, two, name)
    if not (rows or counted_differently(one, two, name)):
        raise NotReplayed("on integers both texts do the same")
    places = [_line(*played, name) for played in ((one, first), (two, second))]
    if not rows:
        places = parting(first.tracer, second.tracer)
    then = ("", "") if rows else _left(one, two, name)
    halves = [
        Half(_requests(side), f"{_told(side, name)}{after}", *place)
        for side, place, after in zip((one, two), places, then, strict=True)
    ]
    return Difference(
        found.sentence,
        tuple(common for common in found.common if common not in TELLING),
        tuple(mode for mode in (SYNC, ASYNC) if mode in found.modes),
        tuple(found.under),
        str(name),
        known_config(one.harness),
        halves[0],
        halves[1],
        found.company,
    )


def beside(comparison: Comparison, what: str, found: Apart) -> Difference:
    """The smallest example of something told, returned or kept otherwise.

    Raises:
        NotReplayed: on integers there is none.
    """
    (one, first), (two, second) = _play(comparison, found.shape, found.answers)
    values: Sequence[Any] = [side.effects.values.get(what, MISSING) for side in (one, two)]
    if what == ORDER:
        values = ordered(one.effects, two.effects)
    if not apart(*values):
        raise NotReplayed("on integers both texts do the same")
    where, before, after = parted(*values)
    places = parting(first.tracer, second.tracer)
    halves = [
        Half(_requests(side), _told(side), *place)
        for side, place in zip((one, two), places, strict=True)
    ]
    return Difference(
        f"{what}{where}: {before} before, {after} after",
        (),
        tuple(mode for mode in (SYNC, ASYNC) if mode in found.modes),
        tuple(found.under),
        "",
        known_config(one.harness),
        halves[0],
        halves[1],
    )


def _play(comparison: Comparison, shape: Shape, answers: Mapping[str, int]) -> list[Played]:
    """Both texts on the same numbers."""
    played = []
    for loaded in (comparison.old, comparison.new):
        seen: list[Side] = []
        calls = Calls(loaded.as_written)

        def scenario(h: Harness, seen: list[Side] = seen, calls: Calls = calls) -> list[Any]:
            seen.append(look(h, shape, calls))
            return []

        ran = run(loaded, Task(shape.name, scenario, shape.features), answers)
        if not seen:
            raise NotReplayed(named(ran.error))
        played.append((seen[0], ran))
    return played


def _line(side: Side, ran: Run, name: str) -> tuple[str, int]:
    """The line that gave a request its rows, left it out, or raised."""
    if side.raised:
        return side.where
    return ran.tracer.behind(line_of(ran, name) if side.got_rows(name) else None)


def _requests(side: Side) -> tuple[RequestLine, ...]:
    if side.decisions:
        return tuple(RequestLine.of(worded(decision)) for decision in side.decisions.values())
    return booked_in_words(side.harness)[0]


def _told(side: Side, name: str = "") -> str:
    """What a step decided, requests it did not look at included, or what else happened."""
    if side.raised:
        return side.outcome(name)
    if not side.decisions:
        return booked_in_words(side.harness)[1]
    told = [in_words(side.decisions.values())]
    names = (request.request_id for request in side.harness.everyone)
    told += [f"{name} not reached" for name in names if name not in side.decisions]
    return "; ".join(filter(None, told))


def _left(one: Side, two: Side, name: str) -> tuple[str, str]:
    """What is otherwise about a request afterwards, on either side."""
    differ = [(what, *values) for what, *values in left(one, two, name) if values[0] != values[1]]
    before, after = (
        ", ".join(f"{what} = {values[side]}" for what, *values in differ) for side in (0, 1)
    )
    return f"; then {name}: {before}", f"; then {name}: {after}"
