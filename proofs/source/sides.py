"""What one text did in one step from a given state: one side of a comparison of two texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from proofs.source.arrangements import Arrangement
from proofs.source.concrete import NotReplayed
from proofs.source.harness import Harness
from proofs.source.induct import from_profile
from proofs.source.observe import Step
from proofs.source.requests import Request
from proofs.source.state import View
from proofs.symbolic import Unsupported
from spec.logic import any_of
from spec.records import SCHEDULED, Decision

NOT_REACHED = "not reached"
"""No rows: the step ended before it looked at the request."""
LOST = "lost"
"""Nothing to compare: the step raised at another request."""

COMPARED = (
    *("num_computed_tokens", "num_output_tokens", "num_output_placeholders", "num_spec_tokens"),
    *("num_prompt_tokens", "max_tokens", "priority", "arrival_time", "is_prefill_chunk"),
)
"""What is compared of a request after the step."""
IN_FLIGHT = ("num_in_flight_tokens", "num_stale_output_tokens")
"""And where both texts count it (since 0.27)."""


@dataclass(slots=True)
class After:
    """A request when the step is over."""

    counters: View
    num_preemptions: Any
    places: str
    """Where the scheduler keeps it."""
    blocks: str
    """Whether its KV blocks were given back."""

    @classmethod
    def of(cls, harness: Harness, request: Request) -> After:
        """As the harness's text left it."""
        scheduler, name = harness.scheduler, request.request_id
        queues = {"runs": [scheduler.running], "waits": harness.queues()}
        places = [
            place
            for place, kept in queues.items()
            for queue in kept
            for other in queue
            if other is request
        ]
        if name not in scheduler.requests:
            places.append("is not known")
        where = " and ".join(places) or "is in no queue"
        blocks = "given back" if name in harness.world.freed else "kept"
        return cls(harness.view(request), request.num_preemptions, where, blocks)


@dataclass(slots=True)
class Side:
    """One text's step."""

    harness: Harness
    decisions: dict[str, Decision] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    """The requests with rows, in the order they got them."""
    raised: str = ""
    """The exception that ended the step instead, by name."""
    where: tuple[str, int] = ("", 0)
    """The line that raised."""
    about: str = ""
    """The request the step was at when it raised."""
    after: dict[str, After] = field(default_factory=dict)

    def outcome(self, name: str) -> str:
        """What became of a request."""
        if self.raised:
            return f"raises {self.raised}" if name == self.about else LOST
        return self.decisions[name].outcome if name in self.decisions else NOT_REACHED

    def decision(self, name: str) -> Decision | None:
        """What the step decided about a request, if it looked at it."""
        return self.decisions.get(name)

    def got_rows(self, name: str) -> bool:
        """Whether a request was scheduled."""
        return not self.raised and self.outcome(name) == SCHEDULED


def look(harness: Harness, arrange: Arrangement) -> Side:
    """Build the state and run one step of the harness's text from it."""
    arrange(harness)
    harness.arbitrary_state()
    harness.snapshot()
    try:
        output = harness.schedule()
    except (Unsupported, NotReplayed):
        raise
    except Exception as error:
        doubt = from_profile(harness.loaded, error)
        if doubt is not None:
            harness.context.unsupported(doubt)
        where = harness.loaded.host.frames(error)[-1]
        world, names = harness.world, [r.request_id for r in harness.everyone]
        about = next(iter((*reversed(world.looked), *reversed(world.served), *names)), "")
        return Side(harness, raised=type(error).__name__, where=where, about=about)
    seen = Step(harness, output)
    decisions = seen.decisions()
    harness.record(seen, decisions)
    harness.settle()
    return Side(
        harness,
        {decision.request_id: decision for decision in decisions},
        tuple(seen.rows),
        after={r.request_id: After.of(harness, r) for r in harness.judged},
    )


def scheduled_differently(old: Side, new: Side, name: str) -> Any:
    """Whether two texts give a request another outcome, other rows or other drafts."""
    before, after = old.outcome(name), new.outcome(name)
    if LOST in (before, after):
        return False
    if before != after:
        return True
    one, two = old.decision(name), new.decision(name)
    if one is None or two is None:
        return False
    return any_of(
        one.num_scheduled_tokens != two.num_scheduled_tokens,
        one.num_draft_tokens != two.num_draft_tokens,
    )


def left(old: Side, new: Side, name: str) -> Iterator[tuple[str, Any, Any]]:
    """Everything about a request after the step: what it is, in the one text and in the other."""
    before, after = old.after.get(name), new.after.get(name)
    if before is None or after is None:
        return
    one, two = before.counters, after.counters
    yield "place", before.places, after.places
    yield "status", one.status.value, two.status.value
    yield "KV blocks", before.blocks, after.blocks
    yield "num_preemptions", before.num_preemptions, after.num_preemptions
    both_track = old.harness.tracks_flight and new.harness.tracks_flight
    for counter in COMPARED + (IN_FLIGHT if both_track else ()):
        yield counter, getattr(one, counter), getattr(two, counter)


def counted_differently(old: Side, new: Side, name: str) -> Any:
    """Whether anything about a request differs after the step."""
    return any_of(*(one != two for _, one, two in left(old, new, name)))
