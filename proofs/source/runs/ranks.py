"""Two data-parallel ranks in one run: the theorem about a group, without the reduction to one.

Elsewhere the other ranks are one free flag, *some request elsewhere computes prompt*.  Here they
are a second scheduler object of the same text under the same configuration, with requests of its
own; whether anybody computes prompt is read off both, and the claim is the one that the captured
graph needs: any request of one rank gets as many rows as any of the other, unless a waiver of
``uniform-decode`` applies to one of the two.  It costs the product of the paths.
"""

from __future__ import annotations

from typing import Any, NoReturn

from proofs.source.objects.world import Context
from proofs.source.runs.arrangements import Arrangement
from proofs.source.runs.due import Due
from proofs.source.runs.goals import UNLESS, Goal
from proofs.source.runs.harness import Harness
from proofs.source.runs.observe import Step
from proofs.source.runs.shapes import Scenario
from spec.claims import Claim
from spec.config import FLAGS, KNOBS
from spec.logic import any_of, not_
from spec.promises import uniform_decode
from spec.records import Decision

INVARIANT = "uniform-decode"
_SHARED = frozenset({*(knob.name for knob in KNOBS), *FLAGS})


class Rank:
    """A context whose questions are another rank's; the configuration is the group's."""

    def __init__(self, context: Context, rank: int) -> None:
        self._context, self._rank = context, rank

    def _name(self, question: str) -> str:
        return question if question in _SHARED else f"rank {self._rank}: {question}"

    def int(self, name: str, lo: int | None = None, hi: int | None = None) -> Any:
        """A number on this rank."""
        return self._context.int(self._name(name), lo, hi)

    def bool(self, name: str) -> Any:
        """A truth value on this rank."""
        return self._context.bool(self._name(name))

    def assume(self, condition: Any, name: str | None = None) -> None:
        """As the context does."""
        self._context.assume(condition, name)

    def unsupported(self, reason: str) -> NoReturn:
        """As the context does."""
        self._context.unsupported(reason)


def two_ranks(first: Arrangement, second: Arrangement) -> Scenario:
    """One step of both ranks at once, from arbitrary states of two shapes."""

    def run(h: Harness) -> list[Due]:
        other = Harness(h.loaded, Rank(h.context, 1), h.features, h.kept)
        h.peers.append(other)
        steps: list[Step] = []
        for rank, arrange in ((h, first), (other, second)):
            h.loaded.host.begin(rank.world)
            arrange(rank)
            rank.arbitrary_state()
            rank.snapshot()
            rank.moment()
            steps.append(Step(rank, rank.schedule()))
            rank.carried.settle()  # what the ranks share is put back before the next one's step
        prompts = [step.computes_prompt() for step in steps]
        decided: list[list[Decision]] = []
        for number, step in enumerate(steps):
            decided.append(step.decisions(elsewhere=prompts[1 - number]))
            step.harness.record(step, decided[-1])
        return [alike(one, two) for one in decided[0] for two in decided[1]]

    return run


def alike(one: Decision, two: Decision) -> Goal:
    """Two requests on different ranks have the same number of rows, where both claim a width."""
    first, second = uniform_decode(one), uniform_decode(two)
    claim = Claim(
        {f"rows of {one.request_id} on rank 0": one.num_scheduled_tokens},
        "==",
        {f"rows of {two.request_id} on rank 1": two.num_scheduled_tokens},
        when=first.when & second.when,
        waivers={name: any_of(first.waivers[name], second.waivers[name]) for name in first.waivers},
    )
    granted = {UNLESS + name: not_(applies) for name, applies in claim.waivers.items()}
    return Goal(INVARIANT, alike.__name__, "", claim.unless_waived, granted, claim)
