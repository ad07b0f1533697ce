"""A run as every report sees it: the outcome, what a baseline accepts, and what stands out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from proofs.campaign import Outcome
from proofs.verdict import PROVED, UNDECIDED, VIOLATED, Obligation

PASSED = "passed"
KNOWN = "known bug, still caught"
ACCEPTED = "accepted"
FAILED = "failed"
LOST = "known bug, no longer caught"
OPEN = "undecided"

Key = tuple[str, ...]
"""Policy or target, invariant, mode; for an exception of a source the statement that raises too."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found and what that comes to."""

    outcome: Outcome
    accepted: Mapping[Key, str] = field(default_factory=dict)
    """Violations a baseline accepts, with the reason given there."""
    stale: tuple[str, ...] = ()
    """Entries of the baseline that accept nothing any more, a line each."""

    @property
    def verdict(self) -> str:
        """Like the outcome's, with what the baseline accepts; a stale entry is a failure."""
        seen = {self.state(obligation) for obligation in self.outcome.obligations}
        if self.stale or seen & {FAILED, LOST}:
            return VIOLATED
        return UNDECIDED if OPEN in seen or not seen else PROVED

    def state(self, obligation: Obligation) -> str:
        """What one obligation means for the run."""
        if obligation.verdict == UNDECIDED:
            return OPEN
        if obligation.verdict == PROVED:
            return LOST if obligation.expected == VIOLATED else PASSED
        if obligation.lost:
            return LOST
        if key(obligation) in self.accepted:
            return ACCEPTED
        return KNOWN if obligation.expected == VIOLATED else FAILED

    def reason(self, obligation: Obligation) -> str:
        """Why a violation is accepted; empty if it is not."""
        return self.accepted.get(key(obligation), "")

    def failures(self) -> Iterator[Obligation]:
        """The obligations that make the run fail."""
        for obligation in self.outcome.obligations:
            if self.state(obligation) in (FAILED, LOST):
                yield obligation


def key(obligation: Obligation) -> Key:
    """What identifies an obligation within a run."""
    cell = (obligation.policy, obligation.invariant, obligation.mode)
    return (*cell, obligation.site) if obligation.site else cell


def headline(report: Report, obligation: Obligation) -> str:
    """One line about an obligation that is not simply proved."""
    state = report.state(obligation)
    where = f"{obligation.policy}, {obligation.mode}"
    if obligation.trace is not None:
        text = (
            f"{obligation.invariant} is violated ({where}): {obligation.trace.violation.sentence}"
        )
    elif state == LOST:
        text = f"{obligation.invariant} is proved ({where}), but a violation was expected"
    else:
        text = f"{obligation.invariant} is {obligation.verdict} ({where})"
        if obligation.reason:
            text += f": {obligation.reason}"
    reason = report.reason(obligation)
    text = f"{text} [accepted: {reason}]" if reason else text
    return "".join(c if c.isprintable() else " " for c in text)
