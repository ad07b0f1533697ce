"""What a text tells, returns and keeps beside deciding rows: two texts that differ there are told.

Each is an edit of a few words of 0.33.0 that no promise speaks about, or that schedules alike.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import texts
from planted import HELD_BACK, LOADING, ONE, STEP, VERSION, Plant, release

from proofs.source import diff
from proofs.source.differences import DiffReport
from proofs.source.loader import Text
from proofs.source.runs.scenarios import shapes
from proofs.verdict import ASYNC, SYNC

BEHIND = ("crowd, behind a victim",)


def _compared(
    monkeypatch: pytest.MonkeyPatch,
    old: Iterable[Text],
    new: Iterable[Text],
    tasks: Iterable[str],
    mode: str = SYNC,
    version: str | None = None,
) -> DiffReport:
    """Two texts compared in some of the runs."""
    monkeypatch.setattr(
        diff, "shapes", lambda *given: [shape for shape in shapes(*given) if shape.name in tasks]
    )
    return diff.diff_sources(old, new, ("old", "new"), (version, version), modes=[mode])


PLANTS = {
    "no slots for the drafter of who is admitted": Plant(
        "kv_cache_manager.allocate_slots()[0].num_lookahead_tokens",
        STEP,
        "0 if limit_lookahead_tokens else self.num_lookahead_tokens",
        "0",
    ),
    "blocks of a load that may be found before it ends": Plant(
        "kv_cache_manager.allocate_slots()[0].delay_cache_blocks",
        LOADING,
        "delay_cache_blocks=load_kv_async",
        "delay_cache_blocks=False",
    ),
    "who is resumed passes for running": Plant(
        "SchedulerOutput.scheduled_cached_reqs.resumed_req_ids",
        STEP,
        "if idx >= num_running_reqs:",
        "if idx > num_running_reqs:",
    ),
    "the workers are told another length": Plant(
        "SchedulerOutput.scheduled_cached_reqs.num_computed_tokens",
        STEP,
        "num_computed_tokens.append(req.num_computed_tokens)",
        "num_computed_tokens.append(req.num_computed_tokens + 1)",
    ),
    "the workers get the tokens of who ran": Plant(
        "SchedulerOutput.scheduled_cached_reqs.all_token_ids",
        STEP,
        "if req_id not in self.prev_step_scheduled_req_ids:",
        "if req_id in self.prev_step_scheduled_req_ids:",
    ),
    "the workers are not told who ended": Plant(
        "scheduler.finished_req_ids",
        ONE,
        "self.finished_req_ids.add(request_id)",
        "pass",
    ),
    "the set of who ended is emptied after it was handed out": Plant(
        "SchedulerOutput.finished_req_ids",
        STEP,
        "self.finished_req_ids = set()\n",
        "self.finished_req_ids.clear()\n",
    ),
    "the client is not told that it ended": Plant(
        "what it returns", ONE, "finish_reason=finish_reason,", "finish_reason=None,"
    ),
    "the client gets one token": Plant(
        "what it returns",
        ONE,
        "request_id=req_id,\n                        new_token_ids=new_token_ids,",
        "request_id=req_id,\n                        new_token_ids=new_token_ids[:1],",
    ),
    "the connector is told another count": Plant(
        "connector.update_state_after_alloc()",
        LOADING,
        "self.kv_cache_manager.get_blocks(request_id),\n"
        "                            num_external_computed_tokens,",
        "self.kv_cache_manager.get_blocks(request_id),\n                            0,",
    ),
    "the connector is not told who ended": Plant(
        "connector.request_finished()",
        ("booking, KV connector and Mamba alignment",),
        "self.connector.request_finished(\n                request, block_ids[0]\n            )",
        "(False, None)",
    ),
    "the cache is looked up for less": Plant(
        "kv_cache_manager.get_computed_blocks",
        STEP,
        "self.kv_cache_manager.get_computed_blocks(request, max_cache_hit_length)",
        "self.kv_cache_manager.get_computed_blocks(request, 0)",
    ),
    "the connector is asked from another token on": Plant(
        "connector.get_num_new_matched_tokens()",
        LOADING,
        "request, block_aligned_local\n",
        "request, 0\n",
    ),
    "the workers hold the request's own list": Plant(
        "SchedulerOutput.scheduled_cached_reqs.all_token_ids",
        STEP,
        "all_token_ids[req_id] = req.all_token_ids.copy()",
        "all_token_ids[req_id] = req.all_token_ids",
    ),
    "the rows are told in another order": Plant(
        "SchedulerOutput.num_scheduled_tokens",
        ("crowd, two waiting",),
        "            num_scheduled_tokens=num_scheduled_tokens,\n            total_num",
        "            num_scheduled_tokens=dict(reversed(num_scheduled_tokens.items())),\n"
        "            total_num",
    ),
    "prefills are held back a step longer": Plant(
        "scheduler.prefill_capacity_bound",
        HELD_BACK,
        "self.prefill_capacity_bound = num_waiting > len(self.deferred_waiting)",
        "self.prefill_capacity_bound = num_waiting > len(self.deferred_waiting) + 1",
    ),
}


@pytest.mark.parametrize("name", PLANTS)
def test_what_only_others_see_is_a_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant = PLANTS[name]
    found = _compared(
        monkeypatch, release(VERSION), plant.texts(), plant.tasks, plant.mode, VERSION
    )
    told = [one.sentence for one in found.besides]
    assert any(sentence.startswith(plant.invariant) for sentence in told), found.lines()
    assert found.exit_status == 1


def test_padding_that_is_no_placeholder_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    edited = [
        Text(text.name, text.content.replace("[-1] * self", "[0] * self").replace(" -1\n", " 0\n"))
        for text in release(VERSION)
    ]
    found = _compared(monkeypatch, release(VERSION), edited, STEP, ASYNC, VERSION)
    told = [one.sentence for one in found.besides]
    assert any("scheduled_spec_decode_tokens" in sentence for sentence in told), found.lines()


def test_drafter_slots_that_a_victim_does_not_give_back(monkeypatch: pytest.MonkeyPatch) -> None:
    plant = Plant("", BEHIND, "+= restored + draft_slots", "+= restored")
    found = _compared(monkeypatch, release(VERSION), plant.texts(), BEHIND, SYNC, VERSION)
    assert "another running request" in found.differences[0].sentence, found.lines()


def test_the_order_of_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = ("self.kv_cache_manager.take_events()", "self.kv_cache_manager.take_new_block_ids()")
    old, new = (texts(schedule="; ".join(order)) for order in (calls, calls[::-1]))
    found = _compared(monkeypatch, old, new, STEP)
    (one,) = found.besides
    assert one.sentence.startswith("the order of what it tells[") and not found.undecided


def test_what_only_one_keeps_and_nobody_changes_is_no_news(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = _compared(monkeypatch, texts(), texts(init="self.spare = []; self.more = 1"), STEP)
    assert not found.besides and not found.undecided, found.lines()


def test_what_only_one_keeps_and_a_step_changes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "scheduler.total | state | any-int | | | rows given so far"
    monkeypatch.setattr(diff, "shapes", lambda *given: shapes(*given)[1:2])
    counts = texts(init="self.total = 0", schedule="self.total += 1")
    found = diff.diff_sources(texts(), counts, ("old", "new"), modes=[SYNC], profile=rows)
    assert [one.sentence.split(":")[0] for one in found.besides] == ["scheduler.total"]


def test_where_two_texts_part_is_the_line_that_only_one_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant = PLANTS["the workers are not told who ended"]
    found = _compared(monkeypatch, release(VERSION), plant.texts(), ONE, SYNC, VERSION)
    (one, *_) = found.besides
    (before,) = (t.content for t in release(VERSION) if t.name == "scheduler.py")
    number = before[: before.index(plant.at)].count("\n") + 1
    assert one.before.line == number, (one.before, number)


def test_what_cannot_be_read_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    held = texts(init="self.walk = iter([])")
    row = "scheduler.walk | state | assumed | | | a walk"
    monkeypatch.setattr(diff, "shapes", lambda *given: shapes(*given)[1:2])
    found = diff.diff_sources(held, held, ("old", "new"), modes=[SYNC], profile=row)
    assert any("scheduler.walk" in doubt for doubt in found.undecided), found.lines()
    assert found.exit_status == 3
