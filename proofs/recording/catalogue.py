"""Every invariant on every record of a recording."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from proofs.recorder import lines
from proofs.recorder.checking import Broken, claims
from proofs.recorder.facts import Facts
from proofs.recorder.known import CAPPED
from spec.records import SCHEDULED, Booking, Decision

MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Found:
    """A violation and the line it was found on."""

    line: int
    broken: Broken


@dataclass(slots=True)
class Judged:
    """What was looked at, and what was found."""

    records: Counter[str] = field(default_factory=Counter)
    """Type of record → how many."""
    asked: Counter[str] = field(default_factory=Counter)
    """Invariant → how often it was evaluated."""
    applied: Counter[str] = field(default_factory=Counter)
    """Invariant → how often its condition held and no waiver excused it."""
    waived: Counter[str] = field(default_factory=Counter)
    """Waiver → how often it alone or with others excused a broken promise."""
    violated: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)
    """Situation → how often it occurred: a recording that never met it says nothing about it."""


class Catalogue:
    """Takes the lines of a recording, and judges."""

    def __init__(self, header: lines.Line) -> None:
        self.facts = Facts(header)
        self.judged = Judged()

    def take(self, line: lines.Line) -> None:
        """One more line.

        Raises:
            Unfounded: the line speaks of a request that has not arrived.
        """
        judged = self.judged
        self._meet(line)
        for record in self.facts.take(line):
            judged.records[type(record).__name__] += 1
            self._situate(record)
            for invariant, claim in claims(record):
                judged.asked[invariant] += 1
                excuses = [waiver for waiver, applies in claim.waivers.items() if applies]
                judged.applied[invariant] += bool(claim.when) and not excuses
                if not claim.unless_waived and excuses:
                    judged.waived.update(excuses)
                if not claim.holds:
                    judged.violated[invariant] += 1
                    if len(judged.found) < MOST_KEPT:
                        who = getattr(record, "request_id", "")
                        broken = Broken(invariant, who, claim.sentence())
                        judged.found.append(Found(line["n"], broken))

    def _meet(self, line: lines.Line) -> None:
        met = self.judged.met
        met["steps"] += line["kind"] == lines.SCHEDULE and bool(line["rows"])
        met["requests"] += line["kind"] == lines.ADD
        met["aborts"] += len(line["state"]) if line["kind"] == lines.FINISH else 0
        if line["kind"] == lines.SCHEDULE:
            met["preemptions"] += len(line["preempted"])
            for what, _, *told in line["asked"]:
                met["prefix hits"] += what == "hit" and told[0] > 0
                met["refusals of KV blocks"] += what == "slots" and not told[2]

    def _situate(self, record: object) -> None:
        met = self.judged.met
        if isinstance(record, Decision) and record.outcome == SCHEDULED:
            config = record.config
            wanted = record.num_computed_tokens + 1 + config.num_spec_tokens
            met["rows cut or unpadded at max_model_len"] += (
                not record.is_prefill
                and wanted + config.num_sampled_tokens_per_step > config.max_model_len
            )
            met["padded requests"] += record.is_padded
        elif isinstance(record, Booking):
            met["accepted drafts"] += max(record.num_emitted_tokens - 1, 0)
            known = self.facts.story.requests.get(int(record.request_id[1:]))
            met["length caps"] += (
                record.num_emitted_tokens > 0 and known is not None and known.status == CAPPED
            )
