"""What a decision's record can only know once its step is over, on this rank and on all others.

A record is made when the scheduler decides.  Four facts come later: the same step may preempt the
request again, whether some rank computes prompt is known when every rank has scheduled, and who had
no turn is known when the passes are over; and what was left to a decision is counted from those
before it, as the scheduler may have miscounted.
Written for plain and symbolic records alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from model.scheduler import Scheduler
from model.step import SchedulerOutput
from spec.config import Config
from spec.logic import any_of, min
from spec.records import BLOCKED, SCHEDULED, SKIPPED, Attention, Decision


def look_back(config: Config, records: list[Any], output: SchedulerOutput) -> None:
    """Complete, in place, the decisions of one rank's step.

    Args:
        config: the knobs.
        records: what the step recorded, in order.
        output: what it ended in.
    """
    if output.preempted_reqs:
        withdraw(records, {share.request.request_id for share in output.scheduled})
    else:
        recount(config, records)


def withdraw(records: list[Any], scheduled: Collection[str]) -> None:
    """Take back, in place, the decisions of one rank that its step took back.

    Args:
        records: what the step recorded.
        scheduled: ids of the requests in the step's output.
    """
    lost = {
        position
        for position, record in enumerate(records)
        if got_rows(record) and record.request_id not in scheduled
    }
    if not lost:
        return
    prefill = any_of(*(records[position].is_prefill for position in lost))
    for position, record in enumerate(records):
        if position in lost:
            records[position] = replace(
                record,
                outcome=SKIPPED,
                reason="preempted: rows withdrawn",
                num_scheduled_tokens=0,
                num_draft_tokens=0,
                is_padded=False,
                must_wait=True,
            )
        elif isinstance(record, Decision):
            records[position] = replace(record, prefill_withdrawn=prefill, rows_withdrawn=True)


def recount(config: Config, records: list[Any]) -> None:
    """State, in place, what the decisions before it left to each decision of one rank.

    The scheduler counts that too, and decides by it: a promise must not be judged by its count.
    Where a step takes rows back, who found them free is told by the scheduler's count only.

    Args:
        config: the knobs.
        records: what the step recorded, in order; nothing of it was withdrawn.
    """
    rows, reqs, prefill = 0, 0, False
    for position, record in enumerate(records):
        if not isinstance(record, Decision):
            continue
        inputs = config.max_num_batched_tokens - rows - config.draft_slots * reqs
        left = min(config.max_num_scheduled_tokens - rows, inputs - config.draft_slots)
        records[position] = replace(
            record, budget_left=left, budget_untouched=reqs == 0, prefill_scheduled=prefill
        )
        if record.outcome == SCHEDULED:
            rows, reqs = rows + record.num_scheduled_tokens, reqs + 1
            if not record.from_waiting:
                prefill = any_of(prefill, record.is_prefill)


def group_has_prefill(ranks: Iterable[Iterable[Any]]) -> bool:
    """Whether some request of some rank computes prompt in the step these records are of."""
    return any_of(
        *(record.is_prefill for records in ranks for record in records if got_rows(record))
    )


def queued(scheduler: Scheduler) -> tuple[list[str], list[str]]:
    """Ids of the requests that run and of those that wait; taken before a step."""
    waiting = (*scheduler.kv_holding_waiting, *scheduler.waiting)
    return [r.request_id for r in scheduler.running], [r.request_id for r in waiting]


def missed(
    config: Config,
    queues: tuple[list[str], list[str]],
    records: Iterable[Any],
    output: SchedulerOutput,
) -> list[Attention]:
    """The requests a step did not look at; a look keeps its promise by itself.

    Args:
        config: the knobs.
        queues: what ``queued`` said before the step.
        records: what the step recorded.
        output: what it ended in.
    """
    running, waiting = queues
    decisions = [record for record in records if isinstance(record, Decision)]
    looked_at = {decision.request_id for decision in decisions}
    if len(looked_at) == len(running) + len(waiting):
        return []
    blocked = {decision.request_id for decision in decisions if decision.outcome is BLOCKED}
    victims = {request.request_id for request in output.preempted_reqs}
    running_stopped = not blocked.isdisjoint(running)
    waiting_stopped = bool(blocked or victims)
    return [
        Attention(config, name, looked_at=False, excused=stopped or name in victims)
        for names, stopped in ((running, running_stopped), (waiting, waiting_stopped))
        for name in names
        if name not in looked_at
    ]


def got_rows(record: Any) -> bool:
    """A decision that gave out rows."""
    return isinstance(record, Decision) and record.outcome == SCHEDULED
