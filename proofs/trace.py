"""A counterexample as data: the configuration, what each step decided, and the broken promise.

A trace is only ever built by replaying a scenario on integers (``proofs.replay``) or by
re-executing a scheduler source on integers; no number in it was copied from a solver.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from spec.claims import Claim
from spec.config import FLAGS, KNOBS, Config
from spec.records import Decision


@dataclass(frozen=True, slots=True)
class Violation:
    """The broken inequality with numbers in it."""

    id: str
    left: int
    relation: str
    right: int
    terms: dict[str, int]
    sentence: str
    """``31 + 2 + 1 = 34 > 33 = max_model_len``."""
    request: str
    """The request it is about; empty for a whole step."""
    left_names: tuple[str, ...] = ()
    """Which of the terms stand on the left side; the others stand on the right."""

    @classmethod
    def of(cls, invariant: str, claim: Claim, request: str) -> Violation:
        """From a claim on integers that does not hold."""
        return cls(
            id=invariant,
            left=int(sum(claim.left.values())),
            relation=claim.relation,
            right=int(sum(claim.right.values())),
            terms={name: int(value) for name, value in (*claim.left.items(), *claim.right.items())},
            sentence=claim.sentence(),
            request=request,
            left_names=tuple(claim.left),
        )


@dataclass(frozen=True, slots=True)
class RequestLine:
    """One request in one step: its counters before the step and what it got."""

    request_id: str
    num_tokens: int
    num_computed_tokens: int
    num_output_placeholders: int
    num_spec_tokens: int
    num_scheduled_tokens: int
    num_draft_tokens: int
    is_padded: bool
    outcome: str
    reason: str

    @classmethod
    def of(cls, decision: Decision) -> RequestLine:
        """From a decision on integers."""
        return cls(
            request_id=decision.request_id,
            num_tokens=int(decision.num_tokens),
            num_computed_tokens=int(decision.num_computed_tokens),
            num_output_placeholders=int(decision.num_output_placeholders),
            num_spec_tokens=int(decision.num_spec_tokens),
            num_scheduled_tokens=int(decision.num_scheduled_tokens),
            num_draft_tokens=int(decision.num_draft_tokens),
            is_padded=bool(decision.is_padded),
            outcome=decision.outcome,
            reason=decision.reason,
        )


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of one rank."""

    step: int
    rank: int
    requests: tuple[RequestLine, ...]
    decision: str
    """What the step decided, in words."""
    events: tuple[str, ...] = ()
    """What happened before the decision: arrivals, aborts, hits found."""
    violated: Violation | None = None
    booked: tuple[str, ...] = ()
    """What came back after the decision: output booked, drafts proposed."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The execution that breaks an invariant, as it was replayed."""

    invariant: str
    policy: str
    config: dict[str, Any]
    steps: tuple[TraceStep, ...]
    source: dict[str, Any] | None = None
    """``{file, line}`` of the scheduler source behind the violation, if one was checked."""
    branches: tuple[dict[str, Any], ...] = ()
    """Branch decisions of the source that led there: ``{file, line, taken}``."""
    scenario: dict[str, Any] | None = None
    """Enough to run it again (``proofs.scenario``)."""
    notes: tuple[str, ...] = field(default=())
    target: str = ""
    """The arguments of ``check`` that name what was checked; empty for a policy of the model."""
    excerpts: tuple[dict[str, Any], ...] = ()
    """Text of the source around the branches: ``{file, first, lines}``, lines counted from 1."""
    without: str = ""
    """The assumption or waiver that rules this execution out; empty for a violation."""

    @property
    def mode(self) -> str:
        """The scheduling mode it happened under: ``sync`` or ``async``."""
        return "async" if self.config.get("async_scheduling") else "sync"

    @property
    def violation(self) -> Violation:
        """The broken promise; every trace has exactly one."""
        return next(step.violated for step in self.steps if step.violated is not None)

    def to_json(self) -> dict[str, Any]:
        """Plain data, for ``json.dumps``."""
        return asdict(self)


def config_to_json(config: Config) -> dict[str, Any]:
    """Every knob by name, as plain numbers and truth values."""
    numbers = {knob.name: int(getattr(config, knob.name)) for knob in KNOBS}
    return numbers | {flag: bool(getattr(config, flag)) for flag in FLAGS}
