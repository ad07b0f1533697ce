"""The loops and the engine are bound: each small break of them breaks the promise it should."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from editing import edited

import model.scheduler
from model.engine import Engine
from model.kv_cache import KVCacheManager
from model.policies import PaddingPolicy
from model.request import Request
from model.scheduler import Scheduler
from model.step import Step
from spec.config import FLAGS, KNOBS

passes = import_module("proofs.bodies.passes")
runs = import_module("proofs.bodies.engine_runs")


def broken_in_passes() -> set[str]:
    """The promises that some script breaks."""
    return {name for name, holds in passes.all_scripts() if not holds}


def assert_broken(promise: str) -> None:
    """Some script breaks this promise; the first is enough."""
    kept = (name == promise and not holds for name, holds in passes.all_scripts())
    assert any(kept), f"no script breaks: {promise}; broken: {broken_in_passes()}"


def broken_in_runs() -> set[str]:
    """The promises that some run breaks."""
    return {name for async_ in (True, False) for name, holds in runs.all_runs(async_) if not holds}


RUN, ASKED = "self.schedule_running(step)", "self.try_waiting(step, request)"
RUNS, ENQUEUED = "self.running.append(request)", "self._enqueue(self.kv_holding_waiting, request)"
RESUMED = "request.num_preemptions > 0"
LOADING = "request.status is RequestStatus.WAITING_FOR_REMOTE_KVS"
PREEMPTED = "request.status is RequestStatus.PREEMPTED"
NO_STREAM = "self.num_waiting_for_streaming_input = 0"
BOTH = "(self.kv_holding_waiting, self.waiting)"
QUEUES = "queues in order of arrival or urgency"
TURN = "every waiting request has its turn"
ADMITTED = "admitted requests run last, in order"
VICTIM = "the last or the least urgent is preempted"
ELSE = "the loops change nothing else"
CLIENT, ORDER = "a request is what the client asked for", "who stays in a queue keeps the order"
ENDS = "a request ends where its stop token or its length says"
IN_FLIGHT = "rows in flight are those of steps not booked"
OWN = "each share is booked with its own sample and drafts"
ONCE = "steps are booked once, oldest first"
FEW = "async scheduling has one step in flight, sync none"
STREAMS = "streams keep their slots"
LOOP, ENQUEUE = "schedule_waiting", "_enqueue"
SEES = passes.SEES
SEEN_OF_A_STEP = ("index", "num_scheduled_tokens", "preempted_reqs")


@pytest.mark.parametrize(
    ("method", "old", "new", "promise"),
    [
        # One order of service only.
        (LOOP, "queue in (self", "queue in (self.waiting.sort(key=urgency) or self", SEES),
        (
            LOOP,
            "queue in (self",
            "queue in (self.waiting.sort(key=lambda r: -r.num_prompt_tokens) or self",
            SEES,
        ),
        (LOOP, RUNS, "self.running.insert(0, request)", ADMITTED),
        (LOOP, ENQUEUED, "self.kv_holding_waiting.append(request)", QUEUES),
        (ENQUEUE, "priority_scheduling:", f"priority_scheduling and not {LOADING}:", QUEUES),
        # Running requests beside those that hold KV, load or resume.
        (LOOP, ASKED, f"SKIPPED if {RESUMED} and step.running_scheduled else {ASKED}", SEES),
        (LOOP, ASKED, f"SKIPPED if {LOADING} and self.running else {ASKED}", TURN),
        (LOOP, ASKED, f"SKIPPED if {PREEMPTED} else {ASKED}", TURN),
        (LOOP, BOTH, f"((self.waiting,) if self.running else {BOTH})", TURN),
        (
            LOOP,
            "queue is self.waiting",
            "queue is self.waiting and not step.running_scheduled",
            SEES,
        ),
        (
            LOOP,
            RUNS,
            "self.running.insert(0 if step.running_scheduled else len(self.running), request)",
            SEES,
        ),
        # Ties.
        (
            "lowest_priority",
            "key=urgency",
            "key=lambda r: (r.priority, r.num_computed_tokens)",
            VICTIM,
        ),
        (
            "lowest_priority",
            "key=urgency",
            "key=lambda r: (r.priority, -r.num_preemptions)",
            VICTIM,
        ),
        # What no loop has a business with.
        (LOOP, ENQUEUED, f"{ENQUEUED}; request.num_computed_tokens = 0", SEES),
        (LOOP, RUNS, f"{RUNS}; request.num_output_tokens = 0", SEES),
        (LOOP, RUNS, f"{RUNS}; request.priority = 0", SEES),
        (
            "schedule_running",
            "self.try_running(step, request)",
            "self.try_running(step, request); step.token_budget += 1",
            SEES,
        ),
        (
            "preempt",
            "victim.num_spec_tokens = 0",
            "victim.num_spec_tokens = victim.num_output_tokens = 0",
            ELSE,
        ),
        ("begin_step", "return", f"{NO_STREAM}; return", STREAMS),
        ("schedule", RUN, f"{RUN}; {NO_STREAM}", STREAMS),
        # Ends and arrivals among others.
        (
            "finish",
            "queue.remove(request)",
            "queue[queue.index(request)] = queue[-1]; queue.pop()",
            "who ends leaves the others in their places",
        ),
        (
            "finish",
            "self.kv_cache_manager.free(request)",
            "request.num_blocks = 0",
            "every block is free or held",
        ),
        (
            "finish",
            "self.finished.append(request)",
            "self.finished.insert(0, request)",
            "each request in one queue",
        ),
        (
            "add_request",
            "self._enqueue(self.waiting, request)",
            "self._enqueue(self.kv_holding_waiting or self.waiting, request)",
            QUEUES,
        ),
        # Loops.
        ("schedule_running", "step.index += 1", "step.index += 0", "turns in queue order"),
        (
            "schedule_running",
            "if outcome is BLOCKED:",
            "if outcome is not SCHEDULED:",
            "every running request has its turn",
        ),
        (LOOP, "return", "break", "nobody overtakes who stops the pass"),
        ("schedule", "if not step.preempted_reqs", "if True", "no admission after a preemption"),
        (
            "lowest_priority",
            "self.running[-1]",
            "self.running[0]",
            "only priority scheduling withdraws rows",
        ),
        (
            "schedule",
            "self.update_after_schedule(step, request, rows)",
            "self.update_after_schedule(step, request, 1)",
            "the counters advance once per scheduled request",
        ),
    ],
)
def test_a_broken_loop_is_noticed(
    method: str, old: str, new: str, promise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scheduler, method, edited(getattr(Scheduler, method), old, new))
    assert_broken(promise)


LOOPS = ("schedule_running", LOOP)
NUMBERS = [
    *(f"request.{slot} == -77" for slot in Request.__slots__ if slot != "status"),
    *(f"self.config.{name} == -77" for name in (*FLAGS, *(knob.name for knob in KNOBS))),
    *(f"self.policy.{field.name} == -77" for field in fields(PaddingPolicy)),
    *(f"self.kv_cache_manager.{name} == -77" for name in KVCacheManager.__slots__),
    *(f"step.{name} == -77" for name in Step.__slots__ if name not in SEEN_OF_A_STEP),
    "self.num_waiting_for_streaming_input == -77",
    "len(self.finished)",
    "len(step.preempted_reqs)",
    "[rows == -77 for rows in step.num_scheduled_tokens.values()]",
]
"""No number is so, and the loops go the same way; but they looked."""


@pytest.mark.parametrize("looks", [f"{loop}: {looks}" for loop in LOOPS for looks in NUMBERS])
def test_a_loop_that_looks_into_what_it_hands_on_is_noticed(
    looks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, _, looks = looks.partition(": ")
    swallowed = f"try:\n{{0}}    {looks}\n{{0}}except Exception:\n{{0}}    pass\n{{0}}outcome = "
    indent = " " * (8 if loop == "schedule_running" else 12)
    method = edited(getattr(Scheduler, loop), "outcome = ", swallowed.format(indent))
    monkeypatch.setattr(Scheduler, loop, method)
    assert_broken(SEES)


def test_urgency_without_the_sign_of_the_priority_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = edited(model.scheduler.urgency, "request.priority", "abs(request.priority)")
    monkeypatch.setattr(model.scheduler, "urgency", key)
    assert {QUEUES, VICTIM} <= broken_in_passes()


@pytest.mark.parametrize(
    ("method", "old", "new", "promise"),
    [
        ("abort", "if not request.is_finished:", "if True:", "each request ends once"),
        (
            "abort",
            "if not request.is_finished:",
            "if request.is_finished:",
            "who is aborted leaves at once, and alone",
        ),
        ("abort", "FINISHED_ABORTED", "FINISHED_STOPPED", ENDS),
        (
            "book_share",
            "if is_finished and not was_finished",
            "if request.status is RequestStatus.FINISHED_LENGTH_CAPPED and not was_finished",
            "every request ends",
        ),
        ("book", "in output.scheduled:", "in output.scheduled[:2]:", SEES),
        ("book", "self.book_share(share)", "self.book_share(share); break", IN_FLIGHT),
        ("book_share", "if not config.async_scheduling and", "if", OWN),
        (
            "book_share",
            "not was_finished and share.samples",
            "not was_finished and share.samples and not request.num_stale_output_tokens",
            OWN,
        ),
        (
            "book_share",
            "book_counters(config, share, sample)",
            "book_counters(config, share, sample); request.num_output_tokens += 1",
            "a request gets the tokens that were returned for it",
        ),
        ("step", "(self.max_in_flight if output.scheduled else 0)", "self.max_in_flight", ONCE),
        (
            "step",
            "if output.scheduled:",
            "if output.scheduled and not output.preempted_reqs:",
            SEES,
        ),
        ("step", "popleft", "pop", ONCE),
        (
            "_record_step",
            "self._record_pool()",
            "self.scheduler.num_waiting_for_streaming_input = 1",
            "an engine remembers nothing but the steps in flight",
        ),
        ("step", "(self.max_in_flight if", "(self.max_in_flight + 1 if", FEW),
        (
            "__init__",
            "Scheduler(config,",
            "Scheduler(Config(),",
            "a new engine is empty and as configured",
        ),
    ],
)
def test_a_broken_engine_is_noticed(
    method: str, old: str, new: str, promise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, method, edited(getattr(Engine, method), old, new))
    assert promise in broken_in_runs()


@pytest.mark.parametrize(
    "looks",
    [
        "output.scheduled and output.scheduled[0].num_scheduled_tokens > 999",
        "bool(output.preempted_reqs)",
        "self.config.num_spec_tokens > 7",
        "bool(self.scheduler.running)",
        "self.environment.draft(None)",
        "self.scheduler.num_waiting_for_streaming_input = 0",
    ],
)
@pytest.mark.parametrize("loop", ["step", "book"])
def test_an_engine_that_lays_hands_on_what_it_hands_on_is_noticed(
    looks: str, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {"step": "if output.scheduled:", "book": "for share in"}[loop]
    method = edited(getattr(Engine, loop), before, f"{looks}\n    {before}")
    monkeypatch.setattr(Engine, loop, method)
    assert SEES in broken_in_runs()


@pytest.mark.parametrize("says", [lambda scheduler: scheduler.running, lambda _: True])
def test_an_engine_that_miscounts_its_work_is_noticed(
    says: Callable[[Scheduler], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = property(lambda self: bool(says(self.scheduler)))
    monkeypatch.setattr(Engine, "has_unfinished_requests", work)
    assert "an engine with work left says so" in broken_in_runs()


def test_an_ended_request_that_keeps_its_blocks_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    method = edited(Scheduler.finish, "self.kv_cache_manager.free(request)", "pass")
    monkeypatch.setattr(Scheduler, "finish", method)
    assert "every block comes back" in broken_in_runs()


@pytest.mark.parametrize(
    ("old", "new", "promise"),
    [
        ("self.lowest_priority()", "self.running[0]", VICTIM),
        ("request.num_spec_tokens = 0", "request.priority = 0", CLIENT),
        ("return SCHEDULED", "self.running.reverse(); return SCHEDULED", ORDER),
    ],
)
def test_a_broken_decision_is_noticed_in_runs(
    old: str, new: str, promise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scheduler, "try_running", edited(Scheduler.try_running, old, new))
    assert promise in broken_in_runs()


def test_nothing_is_broken_and_every_promise_is_due() -> None:
    for module, kept in (
        (passes, passes.all_scripts()),
        (runs, runs.all_runs(True)),
        (runs, runs.all_runs(False)),
    ):
        names = dict(kept)
        assert names.keys() - {SEES} == module.SERVES.keys()
    assert not broken_in_passes() | broken_in_runs()
