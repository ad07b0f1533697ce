"""Two texts on the same symbolic inputs: the states on which they do not do the same.

Both schedulers are built in one run from the same answers, so each path is a class of states on
which both behave uniformly.  On every path each request's outcome, rows, drafts and counters are
compared, and then all that was told, returned and kept beside; where they can differ, the states
are described by what they have in common and the smallest is run again on integers.  Whatever is
left is equal on every path, that is, proved equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from proofs.source.compare.classes import Comparison, classify, note, possible
from proofs.source.compare.definitions import not_executed
from proofs.source.compare.effects import Calls, differing
from proofs.source.compare.examples import beside, example
from proofs.source.compare.sides import Side, counted_differently, look, scheduled_differently
from proofs.source.compare.values import unread
from proofs.source.compare.words import POPULATIONS, Subject
from proofs.source.differences import CHANGED, DiffReport, Same, in_order
from proofs.source.errors import Rejected, SourceError, Unprofiled, named
from proofs.source.loader import Loaded, Text, load
from proofs.source.objects.host import RAN_ON, RanOn, bounded
from proofs.source.profile import profile_for
from proofs.source.proving.concrete import NotReplayed
from proofs.source.proving.induct import NOT_THE_SAME
from proofs.source.runs.harness import Harness
from proofs.source.runs.places import WAITING_QUEUES
from proofs.source.runs.scenarios import shapes
from proofs.source.runs.shapes import Shape
from proofs.source.syntax.marking import Marks
from proofs.symbolic import Exploration, Ground, Limits, NondeterminismError, Path
from proofs.verdict import ASYNC, MODES, PROVED, UNDECIDED, Statistics
from spec.logic import all_of, any_of, not_

SCOPE = (
    "one step, one booking of output, one arrival, one abort from every state of the request "
    "invariant, every legal configuration, any number of requests"
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
    old, new = tuple(old), tuple(new)
    marks = [None, None] if old == new else [Marks(), Marks()]
    sides: list[Loaded] = []
    for texts, name, version, marked in zip((old, new), names, versions, marks, strict=True):
        try:
            under = base if version is None else ()
            sides.append(load(texts, profile_for(version, profile), under, marks=marked))
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
    heard = [(side, Calls(side)) for side in (one, two)]
    for mode in modes:
        able = [mode in side.schedulers for side in sides]
        if not all(able):
            if any(able):
                comparison.doubts[f"{mode}: only one of the two schedules so"] = None
            continue
        ground = Ground()
        for shape in shapes(mode == ASYNC, everything):
            try:
                _explore(comparison, heard, mode, shape, limits, ground)
            except RanOn as ran_on:
                return _rejected(names, f"rejected: {ran_on.file}:{ran_on.line}: {RAN_ON}")
            except NondeterminismError:
                comparison.doubts[f"{shape.name}, {mode}: {NOT_THE_SAME}"] = None
    report = _concluded(comparison, names, everything - common)
    ran = [marked.passed() for marked in marks if marked is not None]
    if not ran:
        return report
    return replace(report, not_executed=not_executed(one.trees, two.trees, ran[0], ran[1]))


def _rejected(names: tuple[str, str], why: str) -> DiffReport:
    return DiffReport(*names, SCOPE, (), (), rejected=why)


# -- exploring -------------------------------------------------------------------------------------


def _explore(
    comparison: Comparison,
    heard: Iterable[tuple[Loaded, Calls]],
    mode: str,
    shape: Shape,
    limits: Limits,
    ground: Ground,
) -> None:
    """All paths of one shape of state, on both texts at once."""

    def both(context: Any) -> tuple[Side, Side]:
        sides = []
        for loaded, calls in heard:
            with bounded(loaded.host):
                sides.append(look(Harness(loaded, context, shape.features, None), shape, calls))
        return sides[0], sides[1]

    with Exploration(both, limits, ground) as exploration:
        for path in exploration:
            comparison.doubts |= dict.fromkeys(path.doubts)
            if path.unsupported:
                for gap in path.unsupported:
                    comparison.doubts[gap.reason] = None
            elif path.error is not None:
                comparison.doubts[f"{shape.name}: {named(path.error)}"] = None
            else:
                _compare(comparison, mode, shape, path)
        if not exploration.complete:
            for reason in exploration.reasons or ("stopped early",):
                comparison.doubts[f"{shape.name}, {mode}: {reason}"] = None
        comparison.statistics += Statistics.of(exploration.statistics)


def _compare(
    comparison: Comparison, mode: str, shape: Shape, path: Path[tuple[Side, Side]]
) -> None:
    """Every request of one path, then the rest; what follows from an earlier one is no news."""
    old, new = path.value
    alike: Any = True
    for name in old.turns:
        rows = scheduled_differently(old, new, name)
        counters = all_of(not_(rows), counted_differently(old, new, name))
        differs = all_of(alike, any_of(rows, counters))
        subject = Subject(old, new, name)
        if name not in old.harness.stand_ins:
            _populations(comparison, path, subject, differs)
            same = f"the same {shape.event.deals_with}"
            for doubt, said in ((all_of(alike, rows), ""), (all_of(alike, counters), same)):
                if possible(path, doubt, comparison):
                    classify(comparison, mode, shape, path, subject, doubt, said)
        alike = all_of(alike, not_(differs))
    if old.raised or new.raised:
        return
    for what, apart in differing(old.effects, new.effects):
        note(comparison, mode, shape, path, what, all_of(alike, apart))
        for kind in (kind for side in path.value for kind in unread(side.effects.values.get(what))):
            comparison.doubts[f"{what} holds {kind}, which cannot be compared"] = None


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
    doubts = dict(comparison.doubts)
    differences, besides = [], []
    for found in comparison.classes.values():
        try:
            differences.append(example(comparison, found))
        except NotReplayed as failure:
            doubts[f"{found.sentence}: not replayed: {failure}"] = None
    for what, apart in comparison.besides.items():
        try:
            besides.append(beside(comparison, what, apart))
        except NotReplayed as failure:
            doubts[f"{what}: not replayed: {failure}"] = None
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
        *names,
        scope,
        in_order(differences),
        tuple(verdicts),
        tuple(doubts),
        comparison.statistics,
        besides=in_order(besides),
    )
