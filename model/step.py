"""One step while it is being decided, and the output it ends in."""

from __future__ import annotations

from dataclasses import dataclass, field

from model.request import Request
from spec.config import Config
from spec.logic import not_, total
from spec.records import StepTotals


@dataclass(slots=True)
class Scheduled:
    """One request's share of a step: what the runner executes and the output is booked against.

    Nobody changes one; it is not frozen because a frozen record takes three times as long to make,
    and one is made per request and step.
    """

    request: Request
    num_scheduled_tokens: int
    num_draft_tokens: int
    padded: bool
    samples: bool
    """The rows reach the request's last known token, so the runner samples."""


@dataclass(frozen=True, slots=True)
class SchedulerOutput:
    """What ``schedule()`` hands to the runner."""

    scheduled: tuple[Scheduled, ...]
    preempted_reqs: tuple[Request, ...]

    def totals(self, config: Config) -> StepTotals:
        """The step as a whole."""
        rows = total(share.num_scheduled_tokens for share in self.scheduled)
        return StepTotals(config, rows, len(self.scheduled))


@dataclass(slots=True)
class Step:
    """The budgets left and the rows given out so far."""

    token_budget: int
    input_budget: int
    threshold: int
    """The long-prefill threshold in force; 0 = off."""
    running_scheduled: bool = False
    """Some running request got rows."""
    prefill_scheduled: bool = False
    """A running prefill got rows.  Prefills admitted by the waiting pass do not count."""
    index: int = 0
    """Position of the running pass in ``running``."""
    num_scheduled_tokens: dict[Request, int] = field(default_factory=dict)
    num_draft_tokens: dict[Request, int] = field(default_factory=dict)
    padded: set[Request] = field(default_factory=set)
    preempted_reqs: list[Request] = field(default_factory=list)

    def commit(
        self, config: Config, request: Request, rows: int, drafts: int, padded: bool = False
    ) -> None:
        """Spend the budgets on one request."""
        self.num_scheduled_tokens[request] = rows
        self.token_budget -= rows
        self.input_budget -= rows + config.draft_slots
        if drafts > 0:
            self.num_draft_tokens[request] = drafts
        if padded:
            self.padded.add(request)

    def retract(self, config: Config, request: Request) -> None:
        """Give back what ``commit`` spent on a request that is preempted in the same step."""
        rows = self.num_scheduled_tokens.pop(request, None)
        if rows is not None:
            self.token_budget += rows
            self.input_budget += rows + config.draft_slots
            self.num_draft_tokens.pop(request, None)

    def output(self) -> SchedulerOutput:
        """The finished step."""
        shares = [
            Scheduled(
                request,
                rows,
                self.num_draft_tokens.get(request, 0),
                request in self.padded,
                not_(request.is_prefill_chunk),
            )
            for request, rows in self.num_scheduled_tokens.items()
        ]
        return SchedulerOutput(tuple(shares), tuple(self.preempted_reqs))
