"""What one text did when one thing happened to a given state: one side of a comparison of two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from proofs.source.compare.effects import Calls, Effects
from proofs.source.objects.requests import Request
from proofs.source.proving.concrete import NotReplayed
from proofs.source.proving.induct import from_profile
from proofs.source.runs.deciding import STEP
from proofs.source.runs.harness import Harness
from proofs.source.runs.observe import Step, in_order
from proofs.source.runs.places import queue_names
from proofs.source.runs.shapes import Event, Shape
from proofs.source.runs.state import View
from proofs.symbolic import Unsupported
from proofs.symbolic.counts import start_counting
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
    """Where the scheduler keeps it: the queue, and how many are in front of it there."""
    turn: str
    """How many are in front of it in all waiting queues together, in the order they are served."""
    blocks: str
    """Whether its KV blocks were given back."""

    @classmethod
    def of(cls, harness: Harness, request: Request) -> After:
        """As the harness's text left it."""
        scheduler, name = harness.scheduler, request.request_id
        waiting = {n: list(getattr(scheduler, n).shown__) for n in queue_names(scheduler)}
        running = {"running": list(scheduler.running)}
        unknown = [] if name in scheduler.requests else ["is not known"]
        line = running | {"waiting": [item for queue in waiting.values() for item in queue]}
        place, turn = (
            " and ".join([*_found(request, queues), *unknown]) or "is in no queue"
            for queues in (running | waiting, line)
        )
        blocks = "given back" if name in harness.world.freed else "kept"
        return cls(harness.view(request), request.num_preemptions, place, turn, blocks)


def _found(request: Request, queues: Mapping[str, list[Request]]) -> Iterator[str]:
    for queue, items in queues.items():
        for ahead, item in enumerate(items):
            if item is request:
                yield f"{queue}, {ahead} in front"


@dataclass(slots=True)
class Side:
    """One text's step, or what else happened."""

    harness: Harness
    event: Event
    effects: Effects
    """What it did beside deciding; empty where it raised."""
    decisions: dict[str, Decision] = field(default_factory=dict)
    turns: tuple[str, ...] = ()
    """All requests, in the order in which they had their turn."""
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


def look(harness: Harness, shape: Shape, calls: Calls) -> Side:
    """Build the state and let it happen to the harness's text.

    Args:
        calls: what this text is heard to tell.
    """
    arranged = shape.begin(harness)
    effects = Effects(harness, calls)
    try:
        returned = shape.event.call(harness, arranged)
    except (Unsupported, NotReplayed):
        raise
    except Exception as error:
        return _raised(harness, shape.event, effects, error)
    finally:
        start_counting(False)
    side = Side(harness, shape.event, effects)
    if shape.event is STEP:
        seen = Step(harness, returned)
        decisions = seen.decisions()
        harness.record(seen, decisions)
        side.decisions = {decision.request_id: decision for decision in decisions}
    effects.read(returned)
    harness.settle()
    side.turns = _turns(harness)
    side.after = {r.request_id: After.of(harness, r) for r in harness.judged}
    return side


def _raised(harness: Harness, event: Event, effects: Effects, error: Exception) -> Side:
    doubt = from_profile(harness.loaded, error)
    if doubt is not None:
        harness.context.unsupported(doubt)
    where = harness.loaded.host.frames(error)[-1]
    world, names = harness.world, [r.request_id for r in harness.everyone]
    about = next(iter((*reversed(world.looked), *reversed(world.served), *names)), "")
    kind = type(error).__name__
    turns = _turns(harness)
    return Side(harness, event, effects, turns=turns, raised=kind, where=where, about=about)


def _turns(harness: Harness) -> tuple[str, ...]:
    """Whoever is in no queue had none, and comes last."""
    names = [request.request_id for request in (*in_order(harness), *harness.everyone)]
    return tuple(dict.fromkeys(names))


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
    if queue_names(old.harness.scheduler) == queue_names(new.harness.scheduler):
        yield "place", before.places, after.places
    else:
        yield "turn", before.turn, after.turn
    yield "status", one.status.value, two.status.value
    yield "KV blocks", before.blocks, after.blocks
    yield "num_preemptions", before.num_preemptions, after.num_preemptions
    both_track = old.harness.tracks_flight and new.harness.tracks_flight
    for counter in COMPARED + (IN_FLIGHT if both_track else ()):
        yield counter, getattr(one, counter), getattr(two, counter)


def counted_differently(old: Side, new: Side, name: str) -> Any:
    """Whether anything about a request differs after the step."""
    return any_of(*(one != two for _, one, two in left(old, new, name)))
