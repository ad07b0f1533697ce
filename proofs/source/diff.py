"""Two texts on the same symbolic inputs: the states on which they schedule differently.

Both schedulers are built in one run from the same answers, so each path is a class of states on
which both behave uniformly.  On every path each request's outcome, rows, drafts and counters are
compared; where they can differ, the states are described by what they have in common and the
smallest is run again on integers.  Whatever is left is equal on every path, that is, proved equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from proofs.source.classes import COUNTERS, Class, Comparison, classify, possible
from proofs.source.concrete import NotReplayed, run
from proofs.source.concrete import rows_line as line_of
from proofs.source.differences import CHANGED, Difference, DiffReport, Half, Same
from proofs.source.errors import Rejected, SourceError, Unprofiled, said
from proofs.source.harness import Harness
from proofs.source.host import RAN_ON, RanOn, bounded
from proofs.source.induct import NOT_THE_SAME
from proofs.source.loader import Loaded, Text, load
from proofs.source.places import WAITING_QUEUES
from proofs.source.profile import profile_for
from proofs.source.scenarios import CROWDS, Shape, Task, crowds, shapes
from proofs.source.sides import Side, counted_differently, left, look, scheduled_differently
from proofs.source.telling import in_words, known_config, worded
from proofs.source.words import POPULATIONS, TELLING, Subject
from proofs.symbolic import Exploration, Ground, Limits, NondeterminismError, Path
from proofs.trace import RequestLine
from proofs.verdict import ASYNC, MODES, PROVED, SYNC, UNDECIDED, Statistics
from spec.logic import all_of, any_of, not_

SCOPE = (
    "one schedule() and _update_after_schedule() from every state of the request invariant, "
    "every legal configuration, any number of requests"
)


def diff_sources(
    old: Iterable[Text],
    new: Iterable[Text],
    names: tuple[str, str],
    versions: tuple[str | None, str | None] = (None, None),
    *,
    modes: Iterable[str] = MODES,
    limits: Limits | None = None,
    profile: str = "",
    base: Iterable[Text] = (),
) -> DiffReport:
    """Compare two schedulers from their texts alone.

    Args:
        names: how the report calls them.
        versions: their releases, if they are some; selects the profile's rows.
        profile: further profile lines for both.
        base: what those of them derive from that are no releases.

    Raises:
        SourceError: one of them is no scheduler, or does not load.
    """
    limits, base = limits or Limits(paths=20_000, seconds=120), tuple(base)
    sides: list[Loaded] = []
    for texts, name, version in zip((old, new), names, versions, strict=True):
        try:
            under = base if version is None else ()
            sides.append(load(texts, profile_for(version, profile), under))
        except SourceError as error:
            if isinstance(error, Rejected):
                return _rejected(names, f"{name}: {error}")
            raise SourceError(f"{name}: {error}", error.status) from None
        except Unprofiled as unknown:
            return DiffReport(*names, SCOPE, (), (), (f"{name}: {unknown.gap}",))
    common = sides[0].mentioned & sides[1].mentioned
    everything = sides[0].mentioned | sides[1].mentioned
    one, two = (replace(side, mentioned=common) for side in sides)
    comparison = Comparison(one, two)
    for mode in modes:
        if not all(mode in side.schedulers for side in sides):
            continue
        ground = Ground()
        for shape in (*shapes(mode == ASYNC, everything), *crowds(mode == ASYNC)):
            try:
                _explore(comparison, mode, shape, limits, ground)
            except RanOn as ran_on:
                return _rejected(names, f"rejected: {ran_on.file}:{ran_on.line}: {RAN_ON}")
            except NondeterminismError:
                comparison.doubts[f"{shape.name}, {mode}: {NOT_THE_SAME}"] = None
    return _concluded(comparison, names, everything - common)


def _rejected(names: tuple[str, str], why: str) -> DiffReport:
    return DiffReport(*names, SCOPE, (), (), rejected=why)


# -- exploring -------------------------------------------------------------------------------------


def _explore(
    comparison: Comparison, mode: str, shape: Shape, limits: Limits, ground: Ground
) -> None:
    """All paths of one shape of state, on both texts at once."""

    def both(context: Any) -> tuple[Side, Side]:
        sides = []
        for loaded in (comparison.old, comparison.new):
            with bounded(loaded.host):
                harness = Harness(loaded, context, shape.features, None)
                sides.append(look(harness, shape.arrange))
        return sides[0], sides[1]

    task = Task(shape.name, lambda harness: [], shape.features)
    with Exploration(both, limits, ground) as exploration:
        for path in exploration:
            if path.unsupported:
                for gap in path.unsupported:
                    comparison.doubts[gap.reason] = None
            elif path.error is not None:
                comparison.doubts[f"{shape.name}: {_named(path.error)}"] = None
            else:
                _compare(comparison, mode, task, path)
        if not exploration.complete:
            for reason in exploration.reasons or ("stopped early",):
                comparison.doubts[f"{shape.name}, {mode}: {reason}"] = None
        comparison.statistics += Statistics.of(exploration.statistics)


def _compare(comparison: Comparison, mode: str, task: Task, path: Path[tuple[Side, Side]]) -> None:
    """Every request of one path; one that differs only since one before it does is no news."""
    old, new = path.value
    alike: Any = True
    for name in old.turns:
        rows = scheduled_differently(old, new, name)
        counters = all_of(not_(rows), counted_differently(old, new, name))
        differs = all_of(alike, any_of(rows, counters))
        subject = Subject(old, new, name)
        if name not in old.harness.stand_ins:
            _populations(comparison, path, subject, differs)
            for doubt, said in ((all_of(alike, rows), ""), (all_of(alike, counters), COUNTERS)):
                if possible(path, doubt, comparison):
                    classify(comparison, mode, task, path, subject, doubt, said)
        alike = all_of(alike, not_(differs))


def _populations(comparison: Comparison, path: Path[Any], subject: Subject, differs: Any) -> None:
    for population in POPULATIONS:
        members = population.members(subject)
        if population.name not in comparison.met and possible(path, members):
            comparison.met.add(population.name)
        if population.name not in comparison.changed and possible(
            path, all_of(members, differs), comparison
        ):
            comparison.changed.add(population.name)


# -- concluding ------------------------------------------------------------------------------------


def _concluded(
    comparison: Comparison, names: tuple[str, str], only_one: frozenset[str]
) -> DiffReport:
    differences, doubts = [], list(comparison.doubts)
    for found in comparison.classes.values():
        try:
            differences.append(_example(comparison, found))
        except NotReplayed as failure:
            doubts.append(f"{found.sentence}: not replayed: {failure}")
    # What takes a crowd comes last: it is often the same news with one request more.
    differences.sort(key=lambda d: (d.under[0] in CROWDS, len(d.sentence), d.sentence))
    scope = SCOPE
    if "max_num_new_slots_for_drafting" in only_one:
        scope += "; no drafter slots (D = 0): one of the two does not know them"
    if not only_one.isdisjoint(WAITING_QUEUES):
        scope += "; of the queues only the order of all who wait: the two keep different ones"
    verdicts = [
        Same(
            p.name,
            CHANGED if p.name in comparison.changed else UNDECIDED if doubts else PROVED,
        )
        for p in POPULATIONS
        if p.name in comparison.met
    ]
    return DiffReport(
        *names, scope, tuple(differences), tuple(verdicts), tuple(doubts), comparison.statistics
    )


def _example(comparison: Comparison, found: Class) -> Difference:
    """The smallest example, run again by both texts on integers."""
    overlap = found.task.features.async_scheduling
    arranged = {shape.name: shape for shape in (*shapes(overlap), *crowds(overlap))}
    shape = arranged[found.task.name]
    halves, sides = [], []
    for loaded in (comparison.old, comparison.new):
        seen: list[Side] = []

        def scenario(harness: Harness, seen: list[Side] = seen) -> list[Any]:
            seen.append(look(harness, shape.arrange))
            return []

        ran = run(loaded, Task(shape.name, scenario, shape.features), found.answers)
        if not seen:
            raise NotReplayed(_named(ran.error))
        (side,) = seen
        sides.append(side)
        file, line = (
            side.where
            if side.raised
            else ran.tracer.behind(
                line_of(ran, found.request) if side.got_rows(found.request) else None
            )
        )
        lines = tuple(RequestLine.of(worded(d)) for d in side.decisions.values())
        decided = side.outcome(found.request) if side.raised else _in_words(side)
        halves.append(Half(lines, decided, file, line))
    one, two = sides
    halves = [
        replace(half, decision=f"{half.decision}{after}")
        for half, after in zip(halves, _left(one, two, found.request), strict=True)
    ]
    if not (
        scheduled_differently(one, two, found.request)
        or counted_differently(one, two, found.request)
    ):
        raise NotReplayed("on integers both texts do the same")
    return Difference(
        found.sentence,
        tuple(name for name in found.common if name not in TELLING),
        tuple(mode for mode in (SYNC, ASYNC) if mode in found.modes),
        tuple(found.under),
        str(found.request),
        known_config(one.harness),
        halves[0],
        halves[1],
    )


def _left(one: Side, two: Side, name: str) -> tuple[str, str]:
    """What is otherwise about a request after the step, on either side, where its rows are not."""
    if scheduled_differently(one, two, name):
        return "", ""
    apart = [(what, *values) for what, *values in left(one, two, name) if values[0] != values[1]]
    before, after = (
        ", ".join(f"{what} = {values[side]}" for what, *values in apart) for side in (0, 1)
    )
    return f"; then {name}: {before}", f"; then {name}: {after}"


def _in_words(side: Side) -> str:
    """What a step decided, requests it did not look at included."""
    told = [in_words(side.decisions.values())]
    names = (request.request_id for request in side.harness.everyone)
    told += [f"{name} not reached" for name in names if name not in side.decisions]
    return "; ".join(filter(None, told))


def _named(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {said(error)}"
