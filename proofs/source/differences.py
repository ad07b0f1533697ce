"""The result of comparing two sources, as data: what a report prints and a pipe carries."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from proofs.trace import RequestLine
from proofs.verdict import PROVED, UNDECIDED, Statistics

CHANGED = "changed"


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


@dataclass(frozen=True, slots=True)
class Same:
    """A named population of requests, and whether both texts schedule it alike."""

    population: str
    verdict: str
    """``proved`` (alike), ``changed`` or ``undecided``."""


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

    @property
    def exit_status(self) -> int:
        """0 proved equal, 1 different, 2 rejected, 3 undecided."""
        if self.rejected:
            return 2
        if self.differences:
            return 1
        return 3 if self.undecided else 0

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
        )

    def lines(self) -> list[str]:
        """The report as lines of text."""
        if self.rejected:
            return [self.rejected]
        told = [f"{self.old} -> {self.new}: {self.scope}"]
        if not self.differences:
            told.append("no difference found")
        for number, difference in enumerate(self.differences, 1):
            told += ["", *_told(number, difference)]
        told.append("")
        alike = {
            PROVED: "unchanged (proved)",
            UNDECIDED: "undecided",
            CHANGED: "changed: see above",
        }
        width = max((len(same.population) for same in self.populations), default=0)
        told += [f"{s.population.ljust(width)}  {alike[s.verdict]}" for s in self.populations]
        if self.undecided:
            told.append("whatever is not listed: undecided")
            told += [f"  {reason}" for reason in self.undecided]
        else:
            told.append("whatever is not listed: scheduled alike (proved)")
        return told


def _told(number: int, difference: Difference) -> list[str]:
    d = difference
    knobs = ("max_model_len", "num_spec_tokens", "num_sampled_tokens_per_step")
    optional = ("long_prefill_token_threshold", "draft_slots")
    shown = [f"{k} = {d.config[k]}" for k in (*knobs, *(o for o in optional if d.config.get(o)))]
    told = [f"{number}. {d.sentence}"]
    if d.conditions:
        told.append(f"   where {', '.join(d.conditions)}")
    told.append(f"   {', '.join(d.modes)}; {'; '.join(d.under)}")
    told.append(f"   smallest example: {', '.join(shown)}")
    for r in d.before.requests:
        counters = f"N = {r.num_tokens}, C = {r.num_computed_tokens}"
        more = f", S = {r.num_spec_tokens}" if r.num_spec_tokens else ""
        told.append(f"     {r.request_id}: {counters}{more}, H = {r.num_output_placeholders}")
    told.append(f"     before ({d.before.file}:{d.before.line}): {d.before.decision}")
    told.append(f"     after  ({d.after.file}:{d.after.line}): {d.after.decision}")
    return told


def _difference(data: dict[str, Any]) -> Difference:
    plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    plain |= {"before": _half(data["before"]), "after": _half(data["after"])}
    return Difference(**plain)


def _half(data: dict[str, Any]) -> Half:
    return Half(**data | {"requests": tuple(RequestLine(**line) for line in data["requests"])})
