"""What a run consists of: an arbitrary state, one thing that happens to it, what must hold then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from proofs.source.objects.world import Context
from proofs.source.runs.due import Due
from proofs.source.runs.harness import Harness
from proofs.source.runs.narrow import Narrowed
from proofs.source.runs.state import Features
from proofs.symbolic.counts import start_counting

Scenario = Callable[[Harness], list[Due]]
"""Runs the text once and returns what must hold."""


@dataclass(frozen=True, slots=True)
class Event:
    """One call of the text's own methods."""

    call: Callable[[Harness, Any], Any]
    """Takes what the arrangement returned; gives what the text returned."""
    claims: Callable[[Harness, Any, Any], list[Due]]
    """What must hold after it; takes both."""
    deals_with: str
    """What it is about, in a sentence on two texts: ``the same rows``."""


@dataclass(frozen=True, slots=True)
class Shape:
    """States in which something happens: how they are built, under which features."""

    name: str
    arrange: Callable[[Harness], Any]
    features: Features
    event: Event

    def begin(self, harness: Harness) -> Any:
        """Build the state; what the arrangement returned."""
        arranged = self.arrange(harness)
        harness.arbitrary_state()
        harness.snapshot()
        return arranged

    def run(self, harness: Harness) -> list[Due]:
        """Build it, let it happen, and claim everything about it."""
        arranged = self.begin(harness)
        returned = self.event.call(harness, arranged)
        start_counting(False)
        return self.event.claims(harness, arranged, returned)

    @property
    def task(self) -> Task:
        """The exploration of all of it."""
        return Task(self.name, self.run, self.features)


@dataclass(frozen=True, slots=True)
class Task:
    """One exploration: a scenario with features."""

    name: str
    scenario: Scenario
    features: Features
    ranges: tuple[tuple[str, tuple[int, int]], ...] = ()
    """Beginning of a question → bounds on its answer, for a search in a small world."""

    def context(self, context: Context) -> Context:
        """The context the scenario is run in."""
        return Narrowed(context, dict(self.ranges)) if self.ranges else context
