"""Bugs in what an abort leaves: of who is aborted, and of those who are not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import texts
from planted import VERSION, Plant, findings, release, verdicts, verdicts_about

from proofs.source import diff
from proofs.source.check import check_source
from proofs.source.loader import load
from proofs.source.profile import profile_for
from proofs.source.proving.reach import with_executions
from proofs.source.runs.scenarios import shapes
from proofs.source.verdicts import REACHABLE
from proofs.verdict import MODES, PROVED, SYNC, UNDECIDED, VIOLATED

GOES = ("abort",)
LOADS = ("abort, KV connector",)
ARRIVES = ("booking, a load is done",)
COLLECTED = (
    "valid_requests.append(request)\n            if request.status == RequestStatus.RUNNING:"
)
LEAVE = "self.running = remove_all(self.running, running_requests_to_remove)"
WAITED = "self.waiting.remove_requests(waiting_requests_to_remove)"
HELD = "self.kv_holding_waiting.remove_requests(waiting_requests_to_remove)"
FREED = "self._free_request(request, delay_free_blocks=delay_free_blocks)"
LATE = "delay_free_blocks |= connector_delay_free_blocks\n        if not delay_free_blocks:"

PLANTS: dict[str, Plant] = {
    "who ran still runs": Plant("request-conservation", GOES, LEAVE, "pass"),
    "nobody runs any more": Plant("request-conservation", GOES, LEAVE, "self.running = []"),
    "who runs last goes": Plant("request-conservation", GOES, LEAVE, "self.running.pop()"),
    "who waited still waits": Plant("request-conservation", GOES, WAITED, "pass"),
    "nobody waits any more": Plant(
        "request-conservation", GOES, WAITED, "self.waiting = create_request_queue(self.policy)"
    ),
    "who waits first goes": Plant(
        "request-conservation", GOES, WAITED, "self.waiting.pop_request()"
    ),
    "who held KV still waits": Plant("request-conservation", LOADS, HELD, "pass"),
    "who waited is still deferred": Plant(
        "request-conservation",
        GOES,
        "self.deferred_waiting.difference_update(waiting_requests_to_remove)",
        "pass",
    ),
    "blocks are kept": Plant(
        "block-accounting",
        GOES,
        FREED,
        "self._free_request(request, delay_free_blocks=True)\n"
        "            del self.requests[request.request_id]",
    ),
    "nobody is forgotten": Plant(
        "request-conservation", GOES, FREED, "self._free_request(request, True)"
    ),
    "of two that wait one is taken": Plant(
        "request-conservation",
        GOES,
        "waiting_requests_to_remove.append(request)",
        "waiting_requests_to_remove = [request]",
    ),
    "who runs beside two that go goes with them": Plant(
        "request-conservation",
        GOES,
        LEAVE,
        LEAVE
        + "\n            self.running = self.running[:0] if valid_requests[1:] else self.running",
    ),
    "who is named twice ends twice": Plant(
        "no-reachable-assert", GOES, "request_ids = set(request_ids)", "pass"
    ),
    "an id without a list is letters": Plant(
        "request-conservation", GOES, "request_ids = (request_ids,)", "request_ids = ()"
    ),
    "blocks go back twice": Plant(
        "block-accounting", GOES, FREED, before="self.kv_cache_manager.free(request)"
    ),
    "all give their blocks back": Plant(
        "block-accounting",
        GOES,
        FREED,
        before="for other in self.running:\n    self.kv_cache_manager.free(other)",
    ),
    "blocks that a load writes to go back": Plant(
        "block-accounting", LOADS, FREED, "self._free_request(request)"
    ),
    "blocks of a load that is done are kept": Plant(
        "block-accounting",
        LOADS,
        "and request.request_id not in self.finished_recving_kv_req_ids",
        "and True",
    ),
    "a load that is done stays noted": Plant(
        "async-load-idle",
        LOADS,
        "self.finished_recving_kv_req_ids.discard(request.request_id)\n"
        "                self.failed_recving_kv_req_ids.discard(request.request_id)",
        "pass",
    ),
    "it does not end": Plant(
        "no-reachable-assert", GOES, "request.status = finished_status", "pass"
    ),
    "it ends otherwise": Plant(
        "request-conservation",
        GOES,
        "request.status = finished_status",
        "request.status = RequestStatus.FINISHED_STOPPED",
    ),
    "who has ended is aborted again": Plant(
        "block-accounting",
        LOADS,
        "if request is None or request.is_finished():\n                # Invalid request ID.",
        "if request is None:\n                # Invalid request ID.",
    ),
    "an id that nobody knows": Plant(
        "no-reachable-assert",
        GOES,
        "request = self.requests.get(req_id)\n"
        "            if request is None or request.is_finished():\n"
        "                # Invalid request ID.",
        "request = self.requests[req_id]\n            if request.is_finished():",
    ),
    "the ids of everybody while they go": Plant(
        "no-reachable-assert",
        GOES,
        COLLECTED,
        before="del self.requests[req_id]",
    ),
    "the workers are not told": Plant(
        "request-conservation", GOES, "self.finished_req_ids.add(request_id)", "pass"
    ),
    "who goes on loses its drafts": Plant(
        "placeholder-accounting",
        GOES,
        LEAVE,
        behind="for other in self.running:\n    other.spec_token_ids = []",
    ),
    "who goes on computes a token again": Plant(
        "placeholder-accounting",
        GOES,
        LEAVE,
        behind="for other in self.running:\n    other.num_computed_tokens -= 1",
    ),
    "who waits is run": Plant(
        "request-conservation",
        GOES,
        LEAVE,
        behind="for other in self.waiting:\n    other.status = RequestStatus.RUNNING",
    ),
    "a load ends whose request was aborted": Plant(
        "block-accounting",
        ARRIVES,
        "assert RequestStatus.is_finished(req.status)\n"
        "                self._free_blocks(self.requests[req_id])",
        "assert RequestStatus.is_finished(req.status)",
    ),
    "a load ends and its request has to live": Plant(
        "no-reachable-assert",
        ARRIVES,
        "assert RequestStatus.is_finished(req.status)\n"
        "                self._free_blocks(self.requests[req_id])",
        "assert not RequestStatus.is_finished(req.status)",
    ),
}


@pytest.mark.parametrize("name", PLANTS)
def test_what_an_abort_leaves_wrong_is_noticed(name: str) -> None:
    assert VIOLATED in verdicts_about(PLANTS[name])


ABORTS = """
    def finish_requests(self, request_ids, finished_status):
        if isinstance(request_ids, str):
            request_ids = [request_ids]
        for name in list(self.requests if request_ids is None else request_ids):
            request = self.requests.pop(name, None)
            if request is None:
                continue
            if request.status == RequestStatus.RUNNING:
                self.running.remove(request)
            else:
                self.waiting.remove_request(request)
            request.status = finished_status
            self.kv_cache_manager.free(request)
"""
OTHERWISE = ABORTS.replace("request_ids, finished_status", "request_id").replace(
    "finished_status", "RequestStatus.FINISHED_ABORTED"
)


def _aborting(methods: str) -> tuple[set[str], tuple[str, ...]]:
    """The verdicts of our own scheduler with such a method, and what is noted."""
    report = check_source(texts(methods=methods), "mini", whole_loop_too=True, modes=[SYNC])
    scopes = {finding.scope for finding in report.findings if finding.verdict == PROVED}
    assert all(("finish_requests" in scope) == bool(methods) for scope in scopes)
    return {finding.verdict for finding in report.findings}, report.notes


def test_a_scheduler_that_aborts_is_proved() -> None:
    assert _aborting(ABORTS) == ({PROVED}, ())


def test_a_scheduler_that_cannot_abort_is_noted() -> None:
    said, notes = _aborting("")
    assert said == {PROVED} and "no finish_requests: a client that aborts was not run" in notes


def test_who_is_aborted_with_other_words_is_undecided() -> None:
    said, _ = _aborting(OTHERWISE.replace("request_ids", "request_id"))
    assert said == {UNDECIDED}


@pytest.mark.parametrize("mode", MODES)
def test_a_release_aborts_as_it_has_to(mode: str) -> None:
    found = verdicts(release(VERSION), mode, (*GOES, *LOADS, *ARRIVES))
    assert set(found.values()) == {PROVED}


@pytest.mark.parametrize(
    ("name", "events"),
    [
        ("who ran still runs", "('a client aborts A',)"),
        (
            "who waited still waits",
            "('A arrives: 1 prompt token, max_tokens 1', 'a client aborts A')",
        ),
        ("who held KV still waits", "('a client aborts A',)"),
    ],
)
def test_an_abort_is_reached_from_an_empty_engine(name: str, events: str) -> None:
    plant = PLANTS[name]
    found = [f for f in findings(plant.texts(), SYNC, plant.tasks) if f.verdict == VIOLATED]
    ends = with_executions(load(plant.texts(), profile_for(VERSION)), found, 2_000)
    about = [f for f in ends if f.invariant == plant.invariant and f.trace is not None]
    assert [f.reachability for f in about] == [REACHABLE]
    assert [str(f.trace.steps[-1].events) for f in about if f.trace is not None] == [events]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("who ran still runs", "the same abort, but left otherwise"),
        ("blocks that a load writes to go back", "the same abort, but left otherwise"),
        ("the workers are not told", "scheduler.finished_req_ids"),
    ],
)
def test_two_texts_that_abort_otherwise(
    name: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = (*GOES, *LOADS)
    monkeypatch.setattr(
        diff, "shapes", lambda *given: [shape for shape in shapes(*given) if shape.name in runs]
    )
    texts = release(VERSION), PLANTS[name].texts()
    found = diff.diff_sources(*texts, ("old", "new"), (VERSION, VERSION), modes=[SYNC])
    sentences = [one.sentence for one in (*found.differences, *found.besides)]
    assert any(told in sentence for sentence in sentences), found.lines()
    assert "a client aborts" in "\n".join(found.lines())
