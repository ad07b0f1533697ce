"""The three verdicts and what one obligation's result consists of."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from proofs import symbolic
from proofs.trace import Trace

PROVED = "proved"
VIOLATED = "violated"
UNDECIDED = "undecided"

SYNC = "sync"
ASYNC = "async"
MODES = (SYNC, ASYNC)

SCOPE = (
    "every legal configuration, any number of requests, ranks and steps; "
    "model of one rank's two passes under {mode} scheduling"
)


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a result cost."""

    seconds: float = 0.0
    paths: int = 0
    queries: int = 0
    solver_seconds: float = 0.0

    @classmethod
    def of(cls, cost: symbolic.Statistics) -> Statistics:
        """From what one exploration cost."""
        return cls(cost.wall_seconds, cost.paths, cost.queries, cost.solver_seconds)

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.seconds + other.seconds,
            self.paths + other.paths,
            self.queries + other.queries,
            self.solver_seconds + other.solver_seconds,
        )

    def scaled(self, seconds: float, share: float) -> Statistics:
        """One invariant's share of work that was done for several at once."""
        return Statistics(seconds * share, self.paths, self.queries, self.solver_seconds * share)


@dataclass(frozen=True, slots=True)
class Obligation:
    """One invariant on one policy under one scheduling mode: the result."""

    invariant: str
    policy: str
    mode: str
    verdict: str
    scope: str
    assumptions: tuple[str, ...] = ()
    """Ids of the assumptions the proof used (from unsat cores)."""
    waivers: tuple[str, ...] = ()
    """Ids of the waivers the proof used."""
    reason: str = ""
    """Why it is undecided, or which body broke it."""
    site: str = ""
    """The statement of a source that raises: one obligation each, so that none hides another."""
    also: tuple[str, ...] = ()
    """Other lines of a source at which it is violated, each with a run in which it is."""
    expected: str | None = None
    """What the table of known bugs says; None where it says nothing."""
    lost: tuple[str, ...] = ()
    """What should show in this cell and does not: features of known bugs, a decision of its own."""
    trace: Trace | None = None
    statistics: Statistics = field(default_factory=Statistics)
    """This invariant's share of the work."""
    work: Statistics = field(default_factory=Statistics)
    """The work done for all invariants of the same policy and mode together."""

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one the table of known bugs expects."""
        return self.expected is None or (self.verdict == self.expected and not self.lost)

    def to_json(self) -> dict[str, Any]:
        """The row of the JSON document (design §6), plus what the proof used."""
        statistics = asdict(self.statistics)
        return {
            "invariant": self.invariant,
            **({"site": self.site} if self.site else {}),
            **({"also": list(self.also)} if self.also else {}),
            "policy": self.policy,
            "mode": self.mode,
            "verdict": self.verdict,
            "expected": self.expected,
            **({"lost": list(self.lost)} if self.lost else {}),
            "scope": self.scope,
            **statistics,
            "assumptions": list(self.assumptions),
            "waivers": list(self.waivers),
            "reason": self.reason,
            "trace": self.trace.to_json() if self.trace is not None else None,
        }
