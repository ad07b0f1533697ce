"""What a released object did, as the records of ``spec.records``, step by step.

The child is asked to write what a recorder writes of a running engine; the same code that judges
recordings makes records of it.  No number in one comes from the trace that is to be confirmed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from proofs.conform.lockstep import Call, Seen
from proofs.recorder import lines
from proofs.recorder.checking import claims
from proofs.recorder.facts import Facts
from proofs.recorder.known import Known
from proofs.trace import RequestLine, Violation
from spec.claims import Claim
from spec.records import Decision


@dataclass(slots=True)
class Step:
    """One step of the object, and the booking that follows it."""

    before: dict[str, Known]
    """Every request as the step began."""
    rows: dict[str, int] = field(default_factory=dict)
    drafts: dict[str, int] = field(default_factory=dict)
    records: list[Any] = field(default_factory=list)

    def line(self, name: str) -> RequestLine | None:
        """What a trace would tell of a request: as of the decision, or as the step began."""
        for record in self.records:
            if isinstance(record, Decision) and record.request_id == name:
                return RequestLine.of(record)
        known = self.before.get(name)
        if known is None:
            return None
        return RequestLine(
            name,
            known.num_tokens,
            known.num_computed_tokens,
            known.num_output_placeholders,
            known.num_spec_tokens,
            self.rows.get(name, 0),
            self.drafts.get(name, 0),
            False,
            "",
            "",
        )

    def claims(self, invariant: str) -> Iterator[tuple[str, Claim]]:
        """Everything one invariant claims about the step, and about whom."""
        for record in self.records:
            for about, claim in claims(record):
                if about == invariant:
                    yield getattr(record, "request_id", ""), claim

    def broken(self, invariant: str) -> list[Violation]:
        """How the object breaks an invariant in the step."""
        return [
            Violation.of(invariant, claim, request)
            for request, claim in self.claims(invariant)
            if not claim.holds
        ]


@dataclass(slots=True)
class Observed:
    """An execution of a released object."""

    config: dict[str, Any]
    """The knobs it ran under, read off the object."""
    steps: list[Step]
    raised: Seen
    """The exception it ended with; empty if there was none."""

    @classmethod
    def of(cls, calls: Sequence[Call], seen: Sequence[Seen]) -> Observed:
        """From the calls made and the recorder's lines of each."""
        names: list[str] = []
        steps: list[Step] = []
        header, *_ = (line for saw in seen for line in saw["lines"])
        facts = Facts(header)
        for (kind, *told), saw in zip(calls, seen, strict=False):
            if kind in ("add", "place"):
                names.append(str(told[0]))
            if kind == "schedule" or (kind == "book" and not steps):
                requests = facts.story.requests
                steps.append(Step({names[n]: replace(known) for n, known in requests.items()}))
            for line in saw["lines"]:
                records = [] if line["kind"] == lines.HEADER else list(facts.take(line))
                if not steps:
                    continue
                for number, rows, drafts in line.get("rows", ()):
                    steps[-1].rows[names[number]] = rows
                    steps[-1].drafts |= {names[number]: drafts} if drafts else {}
                if line["kind"] in (lines.SCHEDULE, lines.BOOK):
                    steps[-1].records += [_named(record, names) for record in records]
        last = seen[-1]
        if last.get("raised") and calls[len(seen) - 1][0] == "schedule":
            steps[-1].rows, steps[-1].drafts = last["rows"], last["drafts"]
        return cls(header["config"], steps, last if "raised" in last else {})


def _named(record: Any, names: Sequence[str]) -> Any:
    """The record with the request called as in the trace."""
    number = getattr(record, "request_id", "")[1:]
    return replace(record, request_id=names[int(number)]) if number else record
