"""The result of comparing two sources, as data: what a report prints and a pipe carries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

from proofs.trace import RequestLine
from proofs.verdict import PROVED, UNDECIDED, Statistics

CHANGED = "changed"
MOST_NAMED = 6
"""How many of the runs in which a difference shows a line of text names."""


@dataclass(frozen=True, slots=True)
class Half:
    """One text's step in an example, as it was run on integers."""

    requests: tuple[RequestLine, ...]
    decision: str
    file: str
    line: int
    """The line that gave the request its rows, left it out, or raised."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One class of states on which two texts schedule differently."""

    sentence: str
    """``one waiting request with C > 0 on a rank with nothing running: 1 row before, ...``"""
    conditions: tuple[str, ...]
    """What else all states of the class have in common."""
    modes: tuple[str, ...]
    under: tuple[str, ...]
    """The scenarios in which it shows."""
    request: str
    config: dict[str, Any]
    """The smallest example's configuration."""
    before: Half
    after: Half
    company: str = ""
    """The part of the sentence that says what is in front of the request."""

    @property
    def news(self) -> str:
        """The sentence without it: the same may happen in other company."""
        return self.sentence.replace(f" {self.company}:", ":") if self.company else self.sentence


@dataclass(frozen=True, slots=True)
class Same:
    """A named population of requests, and whether both texts schedule it alike."""

    population: str
    verdict: str
    """``proved`` (alike), ``changed`` or ``undecided``."""


@dataclass(frozen=True, slots=True)
class NotExecuted:
    """A function that two texts define otherwise, where no run of either executes what differs."""

    name: str
    change: str
    """``changed``, ``added`` or ``removed``."""
    file: str
    whole: bool
    """Whether nothing of it is executed; otherwise some of what differs."""
    before: tuple[int, ...]
    """Lines of the old text, that of the definition included if nothing is executed."""
    after: tuple[int, ...]

    def common(self, other: NotExecuted) -> NotExecuted:
        """What neither of the runs behind two findings has executed."""
        before, after = (
            tuple(line for line in mine if line in theirs)
            for mine, theirs in ((self.before, other.before), (self.after, other.after))
        )
        whole = self.whole and other.whole
        return replace(self, whole=whole, before=before, after=after)

    def __str__(self) -> str:
        """``has_request (scheduler.py:2101)``."""
        line, when = (self.after[0], "") if self.after else (self.before[0], " before")
        return f"{self.name.rpartition('.')[2]} ({self.file}:{line}{when})"


@dataclass(frozen=True, slots=True)
class DiffReport:
    """Everything that was found out about a pair of sources."""

    old: str
    new: str
    scope: str
    differences: tuple[Difference, ...]
    populations: tuple[Same, ...]
    undecided: tuple[str, ...] = ()
    """Why the rest is not proved equal; empty: it is."""
    statistics: Statistics = field(default_factory=Statistics)
    rejected: str = ""
    besides: tuple[Difference, ...] = ()
    """What is told, returned or kept otherwise although all requests fare alike."""
    not_executed: tuple[NotExecuted, ...] = ()
    """What the texts say otherwise and no run has executed: nothing is known of it."""

    @property
    def exit_status(self) -> int:
        """0 proved equal, 1 different, 2 rejected, 3 undecided."""
        if self.rejected:
            return 2
        if self.differences or self.besides:
            return 1
        return 3 if self.undecided or self.not_executed else 0

    def population(self, start: str) -> str:
        """The verdict on the population whose name starts so."""
        return next((s.verdict for s in self.populations if s.population.startswith(start)), "")

    def to_json(self) -> dict[str, Any]:
        """Plain data, for ``json.dumps``."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> DiffReport:
        """Read what ``to_json`` wrote.

        Raises:
            KeyError, TypeError: not such data.
        """
        return cls(
            old=str(data["old"]),
            new=str(data["new"]),
            scope=str(data["scope"]),
            differences=tuple(_difference(d) for d in data["differences"]),
            populations=tuple(Same(**same) for same in data["populations"]),
            undecided=tuple(data["undecided"]),
            statistics=Statistics(**data["statistics"]),
            rejected=str(data["rejected"]),
            besides=tuple(_difference(d) for d in data["besides"]),
            not_executed=tuple(_not_executed(one) for one in data["not_executed"]),
        )

    def lines(self) -> list[str]:
        """The report as lines of text."""
        if self.rejected:
            return [self.rejected]
        told = [f"{self.old} -> {self.new}: {self.scope}"]
        if not self.differences:
            fares = "no request is scheduled or left otherwise"
            found = "no difference found" + (" in what is run" if self.not_executed else "")
            told.append(fares if self.besides else found)
        news: dict[str, list[Difference]] = {}
        for difference in self.differences:
            news.setdefault(difference.news, []).append(difference)
        for number, same in enumerate(news.values(), 1):
            first, *others = sorted(same, key=lambda d: len(d.before.requests))
            told += ["", *_told(number, first), *(_again(first, other) for other in others)]
        if self.besides:
            told += ["", "while all requests fare alike:"]
        for number, difference in enumerate(self.besides, 1 + len(news)):
            told += ["", *_told(number, difference)]
        told.append("")
        alike = {
            PROVED: "unchanged (proved)",
            UNDECIDED: "undecided",
            CHANGED: "changed: see above",
        }
        width = max((len(same.population) for same in self.populations), default=0)
        told += [f"{s.population.ljust(width)}  {alike[s.verdict]}" for s in self.populations]
        told += _unseen(self.not_executed)
        if self.undecided:
            told.append("whatever is not listed: undecided")
            told += [f"  {reason}" for reason in self.undecided]
        else:
            told.append("whatever is not listed: told, kept, booked and scheduled alike (proved)")
        return told


def together(reports: Sequence[DiffReport]) -> DiffReport:
    """One report of those about several modes: the same difference in each is one."""
    rejected = next((report for report in reports if report.rejected), None)
    if rejected is not None:
        return rejected
    first = reports[0]
    verdicts: dict[str, set[str]] = {}
    for same in (same for report in reports for same in report.populations):
        verdicts.setdefault(same.population, set()).add(same.verdict)
    ranked = (CHANGED, UNDECIDED, PROVED)
    doubts = tuple(dict.fromkeys(doubt for report in reports for doubt in report.undecided))
    populations = tuple(
        Same(name, UNDECIDED if worst == PROVED and doubts else worst)
        for name, said in verdicts.items()
        for worst in [next(verdict for verdict in ranked if verdict in said)]
    )
    return replace(
        first,
        scope=max((report.scope for report in reports), key=len),
        differences=_merged(d for report in reports for d in report.differences),
        populations=populations,
        undecided=doubts,
        statistics=reduce(add, (report.statistics for report in reports)),
        besides=_merged(d for report in reports for d in report.besides),
        not_executed=_in_no(report for report in reports if report.statistics.paths),
    )


def _in_no(reports: Iterable[DiffReport]) -> tuple[NotExecuted, ...]:
    """What the runs of none of some modes have executed."""
    first, *others = ({one.name: one for one in r.not_executed} for r in reports)
    left = [*first.values()]
    for found in others:
        both = ((one, found[one.name]) for one in left if one.name in found)
        left = [one.common(other) for one, other in both]
    return tuple(one for one in left if one.before or one.after)


def _merged(differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """Those that say the same as one, with the smallest example."""
    found: dict[str, Difference] = {}
    for one in differences:
        known = found.get(one.sentence, one)
        smaller = min(known, one, key=lambda d: d.config["max_model_len"])
        found[one.sentence] = replace(
            smaller,
            conditions=tuple(c for c in known.conditions if c in one.conditions),
            modes=tuple(dict.fromkeys((*known.modes, *one.modes))),
            under=tuple(dict.fromkeys((*known.under, *one.under))),
        )
    return in_order(found.values())


def in_order(differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """Short ones first; what takes a crowd comes last: it is often the same with one more."""
    return tuple(
        sorted(differences, key=lambda d: ("crowd" in d.under[0], len(d.sentence), d.sentence))
    )


def _told(number: int, difference: Difference) -> list[str]:
    d = difference
    knobs = ("max_model_len", "num_spec_tokens", "num_sampled_tokens_per_step")
    optional = ("long_prefill_token_threshold", "draft_slots")
    shown = [f"{k} = {d.config[k]}" for k in (*knobs, *(o for o in optional if d.config.get(o)))]
    told = [f"{number}. {d.sentence}"]
    if d.conditions:
        told.append(f"   where {', '.join(d.conditions)}")
    told.append(f"   {', '.join(d.modes)}; {'; '.join(_few(d.under))}")
    told.append(f"   smallest example: {', '.join(shown)}")
    for r in d.before.requests:
        counters = f"N = {r.num_tokens}, C = {r.num_computed_tokens}"
        more = f", S = {r.num_spec_tokens}" if r.num_spec_tokens else ""
        told.append(f"     {r.request_id}: {counters}{more}, H = {r.num_output_placeholders}")
    told.append(f"     before ({d.before.file}:{d.before.line}): {d.before.decision}")
    told.append(f"     after  ({d.after.file}:{d.after.line}): {d.after.decision}")
    return told


def _again(first: Difference, other: Difference) -> str:
    """The same news in other company."""
    told = f"   the same {other.company or 'with nobody in front'}"
    if other.conditions != first.conditions:
        told += f", where {', '.join(other.conditions) or 'nothing else is in common'}"
    return told if other.modes == first.modes else f"{told} ({', '.join(other.modes)})"


def _few(names: tuple[str, ...]) -> tuple[str, ...]:
    """The first of many names, and how many there are besides."""
    rest = len(names) - MOST_NAMED
    return names if rest <= 1 else (*names[:MOST_NAMED], f"{rest} more")


def _unseen(not_executed: Iterable[NotExecuted]) -> Iterator[str]:
    """A line for what nobody runs at all, and one for parts of what is run."""
    groups = {True: "run by nobody here", False: "in part run by nobody here"}
    for whole, said in groups.items():
        names = tuple(str(one) for one in not_executed if one.whole is whole)
        if names:
            yield f"changed, and {said}: {', '.join(_few(names))}"


def _not_executed(data: dict[str, Any]) -> NotExecuted:
    lines = {side: tuple(data[side]) for side in ("before", "after")}
    return NotExecuted(**{**data, **lines})


def _difference(data: dict[str, Any]) -> Difference:
    plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    plain |= {"before": _half(data["before"]), "after": _half(data["after"])}
    return Difference(**plain)


def _half(data: dict[str, Any]) -> Half:
    return Half(**data | {"requests": tuple(RequestLine(**line) for line in data["requests"])})
