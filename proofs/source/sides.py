"""What one text did in one step from a given state: one side of a comparison of two texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from proofs.source.concrete import NotReplayed
from proofs.source.harness import Harness
from proofs.source.induct import from_profile
from proofs.source.observe import Step
from proofs.source.scenarios import Arrangement
from proofs.source.state import View
from proofs.symbolic import Unsupported
from spec.logic import all_of, any_of, not_
from spec.records import SCHEDULED, Decision

NOT_REACHED = "not reached"
"""No rows: the step ended before it looked at the request."""
LOST = "lost"
"""Nothing to compare: the step raised at another request."""


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
    after: dict[str, View] = field(default_factory=dict)

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
        output = harness.scheduler.schedule()
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
        after={request.request_id: harness.view(request) for request in harness.judged},
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


def counted_differently(old: Side, new: Side, name: str) -> Any:
    """Whether a request's counters differ after the step."""
    one, two = old.after.get(name), new.after.get(name)
    if one is None or two is None:
        return False
    return any_of(
        one.status is not two.status,
        one.num_computed_tokens != two.num_computed_tokens,
        one.num_output_placeholders != two.num_output_placeholders,
        one.num_spec_tokens != two.num_spec_tokens,
        all_of(one.is_prefill_chunk, not_(two.is_prefill_chunk)),
        all_of(two.is_prefill_chunk, not_(one.is_prefill_chunk)),
    )
