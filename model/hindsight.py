"""What a decision's record can only know once its step is over, on this rank and on all others.

A record is made when the scheduler decides.  Two facts come later: the same step may preempt the
request again, and whether some rank computes prompt is known when every rank has scheduled.
Written for plain and symbolic records alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from spec.logic import any_of
from spec.records import SCHEDULED, SKIPPED, Decision


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
            records[position] = replace(record, prefill_withdrawn=prefill)


def group_has_prefill(ranks: Iterable[Iterable[Any]]) -> bool:
    """Whether some request of some rank computes prompt in the step these records are of."""
    return any_of(
        *(record.is_prefill for records in ranks for record in records if got_rows(record))
    )


def got_rows(record: Any) -> bool:
    """A decision that gave out rows."""
    return isinstance(record, Decision) and record.outcome == SCHEDULED
