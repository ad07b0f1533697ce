"""What the records say of a step, written by hand: not worked out as the code does it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from model.environment import Quiet, Sample
from model.hindsight import group_has_prefill, look_back, missed, queued, recount, withdraw
from model.kv_cache import KVCacheManager
from model.observation import decision
from model.output import book_output, is_decode
from model.policies import RECOMMENDED
from model.request import Request, RequestStatus
from model.scheduler import Scheduler
from model.step import Scheduled, SchedulerOutput, Step
from spec.config import Config
from spec.records import BLOCKED, SCHEDULED, SKIPPED, Advance, Booking, Decision, StepTotals

CONFIG = Config.checked(
    max_model_len=32, num_spec_tokens=3, draft_slots=2, max_num_batched_tokens=80, num_gpu_blocks=2
)


def running(**counters: int) -> Request:
    """10 prompt tokens and 10 generated, of at most 16; one block of KV, one step in flight."""
    request = Request("r", 10, 16)
    request.status = RequestStatus.RUNNING
    request.num_output_tokens, request.num_computed_tokens = 10, 23
    request.num_output_placeholders = request.num_in_flight_tokens = 4
    request.num_blocks = 1
    for name, value in counters.items():
        setattr(request, name, value)
    return request


def preempted(**counters: int) -> Request:
    request = running(num_computed_tokens=0, num_output_placeholders=0, num_in_flight_tokens=0)
    request.status = RequestStatus.PREEMPTED
    for name, value in counters.items():
        setattr(request, name, value)
    return request


def empty() -> KVCacheManager:
    pool = KVCacheManager(CONFIG)
    pool.num_free_blocks = 0
    return pool


def told(request: Request, step: Step | None = None, **facts: Any) -> Decision:
    """The record of skipping a request in an empty step, but for the facts given."""
    config = facts.pop("config", CONFIG)
    asked = dict.fromkeys(("rows", "drafts", "slots_taken", "slots_refused"), 0)
    known = {"padded": False, "computed": None, "pool": KVCacheManager(config)}
    step = step or Step(config.max_num_scheduled_tokens, config.max_num_batched_tokens, 0)
    return decision(config, step, request, SKIPPED, "", **(asked | known | facts))


def test_budget_left_is_the_lesser_budget_without_the_drafter_slots() -> None:
    assert told(running()).budget_left == 64
    assert told(running(), Step(20, 21, 0)).budget_left == 19
    assert told(running()).budget_untouched
    assert not told(running(), Step(63, 80, 0)).budget_untouched
    assert not told(running(), Step(64, 79, 0)).budget_untouched


def test_only_a_running_request_can_end_in_flight() -> None:
    assert told(running(num_output_tokens=15)).ends_in_flight
    assert not told(running()).ends_in_flight
    assert not told(preempted(num_output_tokens=15, num_output_placeholders=1)).ends_in_flight


@pytest.mark.parametrize(
    ("status", "loads"), [("WAITING_FOR_REMOTE_KVS", True), ("WAITING", False)]
)
def test_a_request_loads_while_its_status_says_so(status: str, loads: bool) -> None:
    request = preempted()
    request.status = RequestStatus[status]
    assert told(request).is_loading == loads


def test_a_prefill_is_known_by_its_chunk_when_it_runs_and_by_its_rows_when_it_waits() -> None:
    chunk = running(num_computed_tokens=5)
    assert not told(chunk).is_prefill
    chunk.is_prefill_chunk = True
    assert told(chunk).is_prefill
    assert told(preempted()).is_prefill
    assert not told(preempted(), computed=19).is_prefill
    assert told(preempted(), computed=18).is_prefill
    assert told(preempted(), computed=18).num_computed_tokens == 18


def test_a_waiting_request_lacks_a_slot_blocks_or_output_of_an_earlier_life() -> None:
    assert not told(preempted()).must_wait
    assert told(preempted(num_stale_output_tokens=1)).must_wait
    assert told(preempted(num_stale_output_tokens=1)).waits_alone
    assert not told(preempted()).waits_alone
    taken = told(preempted(), slots_taken=4)
    assert taken.must_wait and not taken.has_slot
    assert told(preempted(), slots_taken=3).has_slot
    # One block of 16 tokens held, none free; it has 20 tokens to compute, or one and 3 drafts.
    for slots, short in ((16, False), (17, True), (20, True), (21, False)):
        assert told(preempted(), slots_refused=slots, pool=empty()).must_wait == short
    for slots, short in ((17, True), (23, True), (24, False)):
        record = told(preempted(), slots_refused=slots, pool=empty(), computed=19)
        assert record.must_wait == short
    assert not told(preempted(), slots_refused=20).must_wait, "two blocks are free"
    assert not told(running(), slots_refused=17, pool=empty()).must_wait, "it can preempt somebody"


def test_who_was_preempted_in_this_step_waits_alone_under_priority_scheduling_only() -> None:
    urgent = replace(CONFIG, priority_scheduling=True)
    for config, alone in ((CONFIG, False), (urgent, True)):
        victim = preempted()
        step = Step(64, 80, 0, preempted_reqs=[victim])
        record = told(victim, step, config=config, slots_refused=32, pool=empty())
        assert record.must_wait and not record.from_waiting
        assert record.waits_alone == alone
        beyond = told(victim, step, config=config, slots_refused=33, pool=empty())
        assert not beyond.must_wait, "nobody needs more than max_model_len"


def test_a_running_request_waits_alone_for_its_output() -> None:
    assert told(running(num_output_tokens=15)).waits_alone
    assert not told(running()).waits_alone


# -- looking back on a step -----------------------------------------------------------------------


def turn(name: str, outcome: str = SCHEDULED, rows: int = 1, **facts: Any) -> Decision:
    """One decision of a step, as it is recorded first; wrong about what was left to it."""
    count = {"num_scheduled_tokens": rows if outcome is SCHEDULED else 0}
    wrong = {"budget_left": -1, "budget_untouched": False, "prefill_scheduled": True}
    return replace(told(running()), request_id=name, outcome=outcome, **(count | wrong | facts))


def left(records: list[Any]) -> list[tuple[int, bool, bool]]:
    return [(r.budget_left, r.budget_untouched, r.prefill_scheduled) for r in records]


def output(scheduled: str = "", victims: str = "") -> SchedulerOutput:
    """A step that ends with rows for one set of requests and without another; one letter each."""
    shares = [Scheduled(Request(name, 1, 1), 1, 0, False, True) for name in scheduled]
    return SchedulerOutput(tuple(shares), tuple(Request(name, 1, 1) for name in victims))


def test_what_was_left_to_a_decision_is_counted_from_those_before_it() -> None:
    records = [
        turn("a", rows=4),
        turn("b", SKIPPED),
        Advance(CONFIG, "a", 0, 4, 4),
        turn("c", rows=10, is_prefill=True),
        turn("d", rows=2),
    ]
    look_back(CONFIG, records, output("acd"))
    del records[2]
    # The lesser of 64 rows and 80 inputs, of which each request took 2 for the drafter.
    assert left(records) == [
        (64, True, False),
        (60, False, False),
        (60, False, False),
        (50, False, True),
    ]


def test_the_input_budget_pays_for_the_drafter_of_each_request() -> None:
    config = replace(CONFIG, max_num_batched_tokens=66)
    records = [turn("a", rows=4), turn("b", rows=5), turn("c")]
    recount(config, records)
    assert [record.budget_left for record in records] == [64, 66 - 4 - 2 - 2, 66 - 9 - 4 - 2]


def test_an_admitted_prefill_is_no_running_one() -> None:
    records = [turn("a", is_prefill=True, from_waiting=True), turn("b")]
    recount(CONFIG, records)
    assert not records[1].prefill_scheduled
    records = [turn("a", SKIPPED, is_prefill=True), turn("b")]
    recount(CONFIG, records)
    assert left(records)[1] == (64, True, False)


def test_rows_that_a_preemption_took_back_were_never_given() -> None:
    records = [
        turn("a", rows=4),
        turn("b", rows=9, is_prefill=True, num_draft_tokens=3, is_padded=True),
    ]
    records.append(Advance(CONFIG, "a", 0, 4, 4))
    look_back(CONFIG, records, output("a", victims="b"))
    kept, lost, advance = records
    assert (kept.outcome, kept.num_scheduled_tokens, kept.prefill_withdrawn) == (SCHEDULED, 4, True)
    assert kept.budget_left == -1, "who found those rows free is not counted anew"
    assert kept.rows_withdrawn, "so what it could get is not known"
    assert (lost.outcome, lost.num_scheduled_tokens, lost.num_draft_tokens) == (SKIPPED, 0, 0)
    assert lost.must_wait and not lost.is_padded
    assert advance.num_computed_tokens == 4


def test_a_withdrawn_decode_withdraws_no_prefill() -> None:
    records = [turn("a"), turn("b"), turn("c", is_prefill=True)]
    withdraw(records, {"a", "c"})
    assert not records[0].prefill_withdrawn and not records[2].prefill_withdrawn
    records = [turn("a"), turn("b"), turn("c", is_prefill=True)]
    withdraw(records, {"a"})
    assert records[0].prefill_withdrawn, "one of the victims was a prefill"
    records = [turn("a"), turn("b"), turn("c", is_prefill=True)]
    withdraw(records, {"a", "c"})
    assert records[1].outcome is SKIPPED
    assert not records[0].prefill_withdrawn
    records = [turn("a"), turn("b", SKIPPED, is_prefill=True, must_wait=False)]
    withdraw(records, {"a"})
    assert not records[1].must_wait and not records[0].prefill_withdrawn


def test_a_prefill_on_any_rank_is_one_of_the_group() -> None:
    decodes, skipped = [turn("a")], [turn("b", SKIPPED, is_prefill=True)]
    assert not group_has_prefill([decodes, skipped])
    assert group_has_prefill([decodes, [turn("b", is_prefill=True)]])


@pytest.mark.parametrize(
    ("looked_at", "victims", "unexcused"),
    [
        ({"a": SCHEDULED, "b": SCHEDULED, "c": SCHEDULED, "d": SKIPPED}, "", ""),
        ({"a": SCHEDULED, "c": SCHEDULED}, "", "bd"),
        ({"a": BLOCKED, "c": SCHEDULED}, "", ""),
        ({"a": SCHEDULED, "b": SCHEDULED, "c": BLOCKED}, "", ""),
        ({"a": SCHEDULED, "c": BLOCKED}, "", "b"),
        ({"a": SCHEDULED}, "b", ""),
        ({}, "b", "a"),
    ],
)
def test_a_request_is_passed_over_for_a_reason(
    looked_at: dict[str, str], victims: str, unexcused: str
) -> None:
    records: list[Any] = [turn(name, outcome) for name, outcome in looked_at.items()]
    records.append(StepTotals(CONFIG, 0, 0))
    scheduler = Scheduler(CONFIG, RECOMMENDED, Quiet())
    scheduler.running = [Request("a", 1, 1), Request("b", 1, 1)]
    scheduler.kv_holding_waiting, scheduler.waiting = [Request("c", 1, 1)], [Request("d", 1, 1)]
    queues = queued(scheduler)
    assert queues == (["a", "b"], ["c", "d"])
    turns = missed(CONFIG, queues, records, output(victims=victims))
    assert [turn.request_id for turn in turns] == [n for n in "abcd" if n not in looked_at]
    assert not any(turn.looked_at for turn in turns)
    assert "".join(turn.request_id for turn in turns if not turn.excused) == unexcused


# -- booking --------------------------------------------------------------------------------------


def booked(sample: Sample, samples: bool = True, ended: bool = False, **counters: int) -> Booking:
    """The record of a step of 1 + 3 rows whose output is back; nothing else is in flight."""
    request = running(**counters)
    if ended:
        request.status = RequestStatus.FINISHED_ABORTED
    return book_output(CONFIG, Scheduled(request, 4, 3, False, samples), sample)


@pytest.mark.parametrize(
    ("sample", "counters", "returned", "due", "stop"),
    [
        (Sample(2), {}, 2, 2, False),
        (Sample(4, stop_after=4), {}, 4, 4, True),
        (Sample(4, stop_after=1), {}, 4, 1, True),
        (Sample(3, stop_after=4), {}, 3, 3, False),
        (Sample(4), {"num_output_tokens": 13}, 4, 3, False),
        (Sample(4, stop_after=4), {"num_output_tokens": 13}, 4, 3, False),
        (Sample(4), {"num_output_tokens": 19, "max_tokens": 40}, 4, 3, False),
        (Sample(4), {"num_output_tokens": 16}, 4, 1, False),
    ],
    ids=[
        "all that came back",
        "a stop token at the end",
        "a stop token at once",
        "no stop token came back",
        "as many as max_tokens allows",
        "a stop token past max_tokens",
        "as many as max_model_len allows",
        "one more at the limit, which no request is at",
    ],
)
def test_tokens_due_end_at_the_stop_token_or_the_length(
    sample: Sample, counters: dict[str, int], returned: int, due: int, stop: bool
) -> None:
    record = booked(sample, **counters)
    assert (record.num_returned_tokens, record.num_due_tokens) == (returned, due)
    assert (record.stop_due, record.stopped_early, record.must_emit) == (stop, stop, True)
    assert record.num_emitted_tokens == due and record.is_stopped == stop


def test_a_step_that_does_not_sample_owes_nothing() -> None:
    record = booked(Sample(2, stop_after=1), samples=False)
    assert (record.num_returned_tokens, record.num_due_tokens, record.must_emit) == (0, 0, False)
    assert not record.stop_due and not record.stopped_early


def test_what_is_owed_to_a_request_that_has_ended_is_not_known() -> None:
    record = booked(Sample(2), ended=True)
    assert (record.num_returned_tokens, record.num_due_tokens, record.must_emit) == (0, -1, False)
    assert record.stopped_early and record.is_finished and not record.is_stopped


def test_a_canvas_may_bring_nothing() -> None:
    diffusion = replace(CONFIG, num_sampled_tokens_per_step=0)
    record = book_output(diffusion, Scheduled(running(), 3, 3, False, True), Sample(0))
    assert not record.must_emit and record.num_due_tokens == 0


def test_how_a_request_ended_is_told() -> None:
    capped = booked(Sample(4), num_output_tokens=13)
    assert capped.is_length_capped and capped.is_finished and not capped.is_decode
    going_on = booked(Sample(2))
    assert going_on.is_decode and not going_on.is_finished and not going_on.is_length_capped
    chunk = running()
    chunk.is_prefill_chunk = True
    assert not is_decode(chunk)
