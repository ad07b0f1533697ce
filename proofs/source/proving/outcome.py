"""What exploring has found out about one text under one scheduling mode so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from proofs.source.errors import Gap
from proofs.source.runs.shapes import Task
from proofs.verdict import Statistics

Topic = tuple[str, str]
"""What is broken: an invariant, and for an exception the statement that raises it."""


@dataclass
class Candidate:
    """A counterexample the solver proposed, with what makes it small."""

    task: Task
    answers: Mapping[str, int]
    size: tuple[int, ...]


@dataclass
class Outcome:
    """What is known about one mode so far."""

    enough: frozenset[Topic] | None = None
    """Topics of which one counterexample each is all that is wanted; None: look everywhere."""
    relied_on: frozenset[str] = frozenset()
    """Clauses every state was supposed to satisfy, and every step has to keep."""
    candidates: dict[tuple[Topic, str], Candidate] = field(default_factory=dict)
    """(topic, which promise in which run) → the smallest counterexample seen."""
    broken: set[str] = field(default_factory=set)
    """Clauses some path breaks."""
    doubts: list[str] = field(default_factory=list)
    """Why nothing is proved."""
    doubtful: dict[str, str] = field(default_factory=dict)
    """Invariant id → why this one is not proved."""
    gaps: dict[Gap, None] = field(default_factory=dict)
    used: dict[str, set[str]] = field(default_factory=dict)
    """Invariant id → names of tracked hypotheses its proof used."""
    pruned_by: set[str] = field(default_factory=set)
    """Names of assumptions that left out executions: whatever is proved rests on them."""
    spoken: set[str] = field(default_factory=set)
    statistics: Statistics = field(default_factory=Statistics)

    @property
    def is_void(self) -> bool:
        """Whether a clause relied on is not kept: only more of those are worth looking for."""
        return not self.relied_on.isdisjoint(self.broken)

    @property
    def counts(self) -> bool:
        """Whether something may be called proved for what is being explored."""
        return self.enough is None and not self.is_void

    @property
    def satisfied(self) -> bool:
        """Whether everything wanted was found."""
        return self.enough is not None and self.enough <= {topic for topic, _ in self.candidates}

    @property
    def sites(self) -> tuple[str, ...]:
        """The statements that raise on some path."""
        return tuple(sorted({site for (_, site), _ in self.candidates if site}))
