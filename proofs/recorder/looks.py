"""One step of a recording, request by request: what the scheduler had before it, what it did.

The running pass goes through the running requests in order; the waiting pass through those that
asked for slots, in the order they did.  What cannot be seen is judged in the engine's favour: a
request behind one that was refused KV blocks counts as excused, unless that one preempted itself
under priority scheduling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from proofs.recorder import lines
from proofs.recorder.known import LOADING, RUNNING, Known, Story
from spec import records
from spec.config import Config
from spec.excuses import admits_prefill, ends_in_flight, waits_for_output
from spec.records import BLOCKED, SCHEDULED, SKIPPED, Advance, Decision


@dataclass(slots=True)
class Budget:
    """What is left of a step's budgets."""

    config: Config
    tokens: int
    inputs: int

    @property
    def left(self) -> int:
        """Rows the next request can get."""
        return min(self.tokens, self.inputs - self.config.draft_slots)

    @property
    def untouched(self) -> bool:
        """Nobody got rows yet."""
        config = self.config
        return (self.tokens, self.inputs) == (
            config.max_num_scheduled_tokens,
            config.max_num_batched_tokens,
        )

    def spend(self, rows: int) -> None:
        """Rows for one request; negative ones are given back."""
        self.tokens -= rows
        self.inputs -= rows + (self.config.draft_slots if rows >= 0 else -self.config.draft_slots)


class Looks:
    """One step.

    Args:
        config: the knobs.
        minor: of the release, 0.``minor``.
        before: what was known when the step began; read at once, before it moves on.
        line: what was recorded of the step.
    """

    def __init__(self, config: Config, minor: int, before: Story, line: lines.Line) -> None:
        self.config, self.minor, self.line = config, minor, line
        self.rows = {request: (n, drafts) for request, n, drafts in line["rows"]}
        self.preempted = set(line["preempted"])
        self.ran = {n: replace(before.of(n)) for n in before.running}
        self.waited = {n: replace(before.of(n)) for n in (*before.held, *before.waiting)}
        self.slots = [ask[1:] for ask in line["asked"] if ask[0] == "slots"]
        self.refused = {ask[0] for ask in self.slots if not ask[3]}
        self.admitted = [n for n in self.rows if n not in self.ran]
        self.budget = Budget(config, config.max_num_scheduled_tokens, config.max_num_batched_tokens)
        self.prefill_scheduled = False
        self.prefill_withdrawn = False
        self.rows_withdrawn = False

    def decisions(self, after: Story) -> Iterator[Decision]:
        """A decision for every request the step is known to have looked at."""
        if self.line.get("held_back"):
            return  # the engine was told to hold work back: nothing is due
        found = [*self._running(after), *self._waiting(after)]
        prefill = any(d.is_prefill for d in found if d.outcome == SCHEDULED)
        yield from (replace(d, group_has_prefill=prefill or d.is_prefill) for d in found)

    def advances(self, after: Story) -> Iterator[Advance]:
        """How the step moved on every request that it gave rows."""
        for number, (rows, _) in self.rows.items():
            ran, now = self.ran.get(number), after.of(number)
            if ran is not None or number in self.waited:
                counted = self._found(number)[0] if ran is None else ran.num_computed_tokens
                yield Advance(self.config, now.name, counted, rows, now.num_computed_tokens)

    def shares(self, after: Story) -> list[Any]:
        """What the output of the step will be booked against."""
        return [
            (n, rows, drafts, drafts > 0 and n not in self.ran, not after.of(n).is_prefill_chunk)
            for n, (rows, drafts) in self.rows.items()
        ]

    # -- the two passes -------------------------------------------------------------------------

    def _running(self, after: Story) -> Iterator[Decision]:
        stopped = False
        for number, known in self.ran.items():
            self._withdraw(number)
            if number in self.rows:
                yield self._decision(known, after, SCHEDULED, known.num_computed_tokens)
                self._spend(number)
                self.prefill_scheduled |= known.is_prefill_chunk
            else:
                preempted = number in self.preempted
                excused = stopped or preempted or number in self.refused
                # By priority, the requests behind one that preempted itself can still go on.
                stopped = excused and not (preempted and self.config.priority_scheduling)
                outcome = SKIPPED if self.budget.left > 0 else BLOCKED
                yield self._decision(known, after, outcome, known.num_computed_tokens, excused)

    def _waiting(self, after: Story) -> Iterator[Decision]:
        if self.preempted:
            return  # no waiting pass in this step
        asked = set()
        stopped = False
        for ask in self.line["asked"]:
            if ask[1] not in self.waited or ask[1] in asked:
                continue
            number, known = ask[1], self.waited[ask[1]]
            asked.add(number)
            computed, granted, load = self._found(number)
            if number in self.rows:
                yield self._decision(known, after, SCHEDULED, computed)
                self._spend(number)
            elif granted and load:
                yield self._decision(known, after, records.LOADING, computed)
            else:
                stopped = True
                yield self._decision(known, after, BLOCKED, computed, number in self.refused)
        if not stopped and self.budget.left > 0:
            yield from self._passed_over(after, asked)

    def _passed_over(self, after: Story, asked: set[int]) -> Iterator[Decision]:
        """Requests that asked for nothing: still loading, stale, or where the pass broke off."""
        for number, known in self.waited.items():
            if number in asked:
                continue
            if len(after.running) >= self.config.max_num_seqs:
                return
            still = after.of(number).status == LOADING
            if still or known.num_stale_output_tokens > 0:
                yield self._decision(known, after, SKIPPED, known.num_computed_tokens)
                continue
            yield self._decision(known, after, BLOCKED, known.num_computed_tokens)
            return

    def _found(self, number: int) -> tuple[int, bool, bool]:
        """C with the hits of this step, whether slots were granted, and for a load."""
        computed = self.waited[number].num_computed_tokens
        granted = load = False
        for what, request, *told in self.line["asked"]:
            if request != number:
                continue
            if what == "hit":
                computed = told[0]
            elif what == "match":
                computed += max(told[1], 0)
            else:
                computed, _, granted, load, _ = told
        return computed, bool(granted), bool(load)

    # -- budgets --------------------------------------------------------------------------------

    def _spend(self, number: int) -> None:
        self.budget.spend(self.rows[number][0])

    def _withdraw(self, number: int) -> None:
        """Whether a prefill that had rows was preempted before this request got its own."""
        if not self.preempted or not self.config.priority_scheduling:
            return
        got: set[int] = set()
        for request, _, _, granted, _, _ in self.slots:
            if request == number:
                break
            if granted:
                got.add(request)
        withdrawn = got & self.preempted
        self.rows_withdrawn |= bool(withdrawn)
        self.prefill_withdrawn |= any(self.ran[n].is_prefill_chunk for n in withdrawn)

    # -- the record -----------------------------------------------------------------------------

    def _decision(
        self, before: Known, after: Story, outcome: str, computed: int, excused: bool = False
    ) -> Decision:
        config, now = self.config, after.of(before.request)
        rows, drafts = self.rows.get(before.request, (0, 0))
        if outcome == SCHEDULED:
            computed = now.num_computed_tokens - rows
        waits = before.status != RUNNING
        if waits:
            is_prefill = admits_prefill(config, before.num_tokens, computed)
        else:
            is_prefill = before.is_prefill_chunk
        return Decision(
            config=config,
            request_id=before.name,
            outcome=outcome,
            reason="recorded",
            from_waiting=waits,
            num_prompt_tokens=before.num_prompt_tokens,
            num_tokens=before.num_tokens,
            num_computed_tokens=computed,
            num_output_placeholders=before.num_output_placeholders,
            num_spec_tokens=before.num_spec_tokens,
            num_scheduled_tokens=rows,
            num_draft_tokens=drafts,
            is_prefill=is_prefill,
            is_padded=waits and drafts > 0,
            is_loading=before.status == LOADING and now.status == LOADING,
            must_wait=excused or self._must_wait(before, after),
            budget_left=self.budget.left,
            budget_untouched=self.budget.untouched,
            prefill_scheduled=self.prefill_scheduled,
            group_has_prefill=is_prefill,
            kv_capacity=now.kv_capacity,
            prefill_withdrawn=self.prefill_withdrawn,
            rows_withdrawn=self.rows_withdrawn,
            waits_alone=waits and before.num_stale_output_tokens > 0,
            has_slot=len(after.running) < config.max_num_seqs,
            ends_in_flight=not waits and ends_in_flight(before),
        )

    def _must_wait(self, known: Known, after: Story) -> bool:
        """Facts, apart from budgets and blocks, that excuse a step for not serving a request."""
        config = self.config
        if known.status == RUNNING:
            return waits_for_output(config, known)
        return known.num_stale_output_tokens > 0 or len(after.running) >= config.max_num_seqs
