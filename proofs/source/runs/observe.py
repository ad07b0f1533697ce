"""Reading decisions off what the text did: the records the spec's invariants speak about.

Nothing here says how a scheduler should decide.  Rows and drafts are read from the
``SchedulerOutput`` it returned, counters from the requests before and after, and what it looked at
from the queues; the catalogue's own claims judge the records.
"""

from __future__ import annotations

from typing import Any

from model.request import RequestStatus as ModelStatus
from proofs.source.objects.requests import Request, RequestStatus, length_of
from proofs.source.runs.harness import Harness
from proofs.source.runs.loads import found, is_loading, starts_to_load
from proofs.source.runs.settled import request_state
from proofs.symbolic import SymBool, SymInt
from spec.excuses import admits_prefill, ends_in_flight, waits_for_output
from spec.logic import all_of, any_of, ite, min, not_
from spec.records import (
    BLOCKED,
    LOADING,
    SCHEDULED,
    SKIPPED,
    Advance,
    Decision,
    RequestState,
    StepTotals,
)

_NUMBERS = (int, bool, SymInt, SymBool)


def in_order(harness: Harness) -> list[Request]:
    """Running requests first, waiting ones as they were looked at, then those that were not."""
    everyone = {r.request_id: r for r in harness.everyone}
    before = harness.before
    running = [r for n, r in everyone.items() if before[n].status is ModelStatus.RUNNING]
    looked = [everyone[n] for n in harness.world.looked if n in everyone]
    looked = [request for request in looked if request not in running]
    queued = [r for queue in harness.queues() for r in queue.shown__ if r in everyone.values()]
    return running + looked + [r for r in queued if r not in running and r not in looked]


class Step:
    """One call of ``schedule()`` as records.

    Args:
        harness: the run.
        output: what ``schedule()`` returned.
    """

    def __init__(self, harness: Harness, output: Any) -> None:
        self.harness, self.output = harness, output
        self.rows: dict[str, Any] = output.num_scheduled_tokens
        self.drafts: dict[str, Any] = output.scheduled_spec_decode_tokens
        for name, rows in self.rows.items():
            if type(rows) not in _NUMBERS:
                harness.loaded.host.unprofiled(f"SchedulerOutput.num_scheduled_tokens[{name!r}]")
        self._group_has_prefill: Any = None

    # -- the records ---------------------------------------------------------------------------

    def decisions(self, elsewhere: Any = None) -> list[Decision]:
        """One decision per request the step looked at, in the order it looked.

        Args:
            elsewhere: whether some other rank computes prompt in this step; None: maybe.
        """
        made: list[Decision] = []
        running_scheduled, prefill_scheduled, used, count = False, False, 0, 0
        if elsewhere is None:
            elsewhere = self.harness.context.bool("a request elsewhere computes prompt")
        self._group_has_prefill = any_of(elsewhere, self.computes_prompt())
        for request in in_order(self.harness):
            if self._is_out_of_reach(request, made):
                continue
            decision = self._decision(request, used, count, running_scheduled, prefill_scheduled)
            if decision is None:
                continue
            made.append(decision)
            if decision.outcome == SCHEDULED:
                used, count = used + decision.num_scheduled_tokens, count + 1
                if not decision.from_waiting:
                    running_scheduled = True
                    prefill_scheduled = prefill_scheduled | decision.is_prefill
        return made

    def computes_prompt(self) -> Any:
        """Whether some request of this rank computes prompt in this step."""
        found: Any = False
        for request in self.harness.everyone:
            name = request.request_id
            if name in self.rows:
                computed = request.num_computed_tokens - self.rows[name]
                found = any_of(found, self._is_prefill(name, computed))
        return found

    def draft_count(self, request: Request) -> Any:
        """Drafts attached to a request's rows."""
        return length_of(self.drafts.get(request.request_id, ()))

    def totals(self) -> StepTotals:
        """The step as a whole."""
        total: Any = 0
        for rows in self.rows.values():
            total = total + rows
        return StepTotals(self.harness.config, total, len(self.rows))

    def advances(self) -> list[Advance]:
        """How the step moved each request on that it scheduled, or that starts to load."""
        return [
            Advance(
                self.harness.config,
                request.request_id,
                self._counted(request),
                self.rows.get(request.request_id, 0),
                request.num_computed_tokens,
            )
            for request in self.harness.judged
            if request.request_id in self.rows or starts_to_load(self.harness, request)
        ]

    def _counted(self, request: Request) -> Any:
        """Tokens computed before the step, and hits it found."""
        was = self.harness.before[request.request_id]
        if was.status is ModelStatus.RUNNING:
            return was.num_computed_tokens
        before = was.num_computed_tokens
        if was.status is ModelStatus.WAITING_FOR_REMOTE_KVS:  # the last token is computed again
            before = min(before, was.num_tokens - 1)
        return before + found(self.harness.world, request.request_id)

    def states(self) -> list[RequestState]:
        """Every request after the step."""
        return [request_state(self.harness, r) for r in self.harness.judged]

    # -- one decision --------------------------------------------------------------------------

    def _is_out_of_reach(self, request: Request, made: list[Decision]) -> bool:
        """The step had stopped before it came to this waiting request: nothing is claimed."""
        if request.request_id in (*self.harness.world.looked, *self.rows):
            return False
        before = self.harness.before
        if before[request.request_id].status is ModelStatus.RUNNING:
            return False
        preempted = any(
            r.status is RequestStatus.PREEMPTED
            and before[r.request_id].status is ModelStatus.RUNNING
            for r in self.harness.everyone
        )
        return preempted or any(d.from_waiting and d.outcome == BLOCKED for d in made)

    def _decision(
        self, request: Request, used: Any, count: int, running: bool, prefill: Any
    ) -> Decision | None:
        h, name = self.harness, request.request_id
        was = h.before[name]
        from_waiting = was.status is not ModelStatus.RUNNING
        rows = self.rows.get(name, 0)
        drafts = self.draft_count(request)
        outcome = self._outcome(request, from_waiting)
        computed = was.num_computed_tokens
        if from_waiting:
            computed = self._computed(request, rows, outcome)
        config = h.config
        budget = config.max_num_scheduled_tokens - used
        inputs = config.max_num_batched_tokens - used - config.draft_slots * count
        return Decision(
            config=config,
            request_id=name,
            outcome=outcome,
            reason=self._reason(request, outcome, from_waiting, drafts),
            from_waiting=from_waiting,
            num_prompt_tokens=was.num_prompt_tokens,
            num_tokens=was.num_tokens,
            num_computed_tokens=computed,
            num_output_placeholders=was.num_output_placeholders,
            num_spec_tokens=was.num_spec_tokens,
            num_scheduled_tokens=rows,
            num_draft_tokens=drafts,
            is_prefill=self._is_prefill(name, computed),
            is_padded=from_waiting and drafts > 0,
            is_loading=is_loading(h, name),
            must_wait=self._must_wait(request, from_waiting),
            budget_left=min(budget, inputs - config.draft_slots),
            budget_untouched=all_of(h.is_first, count == 0),
            prefill_scheduled=prefill,
            group_has_prefill=self._group_has_prefill,
            prefill_withdrawn=any_of(*self._withdrawn(name)),
            rows_withdrawn=bool(self._withdrawn(name)),
            kv_capacity=h.world.slots.get(name, was.num_computed_tokens),
            waits_alone=from_waiting
            and any_of(was.num_stale_output_tokens > 0, name in h.world.unsure),
            has_slot=self._has_slot(request),
            threshold=ite(h.is_alone(), 0, config.long_prefill_token_threshold),
            ends_in_flight=False if from_waiting else ends_in_flight(was),
        )

    def _outcome(self, request: Request, from_waiting: bool) -> str:
        name = request.request_id
        if name in self.rows:
            return SCHEDULED
        if not from_waiting:
            return SKIPPED
        if starts_to_load(self.harness, request):
            return LOADING
        return SKIPPED if name in self.harness.world.skipped else BLOCKED

    def _computed(self, request: Request, rows: Any, outcome: str) -> Any:
        """C as of the decision: the step has added the rows, and the hits it found."""
        if outcome == SCHEDULED:
            return request.num_computed_tokens - rows
        was = self.harness.before[request.request_id].num_computed_tokens
        if outcome == LOADING:
            return request.num_computed_tokens
        # What a connector matched may have been cut by the text: not counted, so less is claimed.
        return was + self.harness.world.hits.get(request.request_id, 0)

    def _is_prefill(self, name: str, computed: Any) -> Any:
        """Whether rows of this request compute prompt, or recompute what a preemption lost."""
        was = self.harness.before[name]
        if was.status is ModelStatus.RUNNING:
            return was.is_prefill_chunk
        return admits_prefill(self.harness.config, was.num_tokens, computed)

    def _withdrawn(self, name: str) -> list[Any]:
        """Of each request served before this one and preempted after that, whether it computed
        prompt."""
        before = self.harness.before
        return [
            before[other].is_prefill_chunk
            for other, cut in self.harness.world.withdrawn.items()
            if name in cut and other not in self.rows
        ]

    def _must_wait(self, request: Request, from_waiting: bool) -> Any:
        """Facts, apart from budgets, that excuse a step for not serving a request."""
        h, name = self.harness, request.request_id
        was = h.before[name]
        if name in (*h.world.short, *h.world.unsure) or (
            request.status is RequestStatus.PREEMPTED and not from_waiting
        ):
            return True
        held_back = h.features.holds_back and any_of(from_waiting, was.is_prefill_chunk)
        if not from_waiting:
            return any_of(held_back, waits_for_output(h.config, was))
        return any_of(held_back, was.num_stale_output_tokens > 0, not_(self._has_slot(request)))

    def _has_slot(self, request: Request) -> Any:
        """Whether the step left a sequence slot for a waiting request."""
        running = len([r for r in self.harness.scheduler.running if r is not request])
        return running < self.harness.config.max_num_seqs

    def _reason(self, request: Request, outcome: str, from_waiting: bool, drafts: Any) -> str:
        name = request.request_id
        if outcome == SCHEDULED:
            if not from_waiting:
                return "running"
            return "padded with placeholder drafts" if name in self.drafts else "admitted"
        if name in self.harness.world.short:
            return "no KV block"
        if name in self.harness.world.unsure:
            return "connector cannot tell yet"
        if from_waiting and name not in self.harness.world.looked:
            return "not looked at"
        return "KV load started" if outcome == LOADING else "no rows"
