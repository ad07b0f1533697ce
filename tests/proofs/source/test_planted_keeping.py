"""Bugs in what a run leaves to others: KV blocks of who lives, the order of who runs, an output.

And texts that would keep the checker from seeing how a run ends.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from planted import ARRIVAL, LOADING, ONE, STEP, VICTIM, Plant, findings, verdicts_about

from proofs.source.errors import Rejected
from proofs.source.gate import parse
from proofs.source.loader import Text, load
from proofs.source.profile import profile_for
from proofs.verdict import ASYNC, SYNC, UNDECIDED, VIOLATED

EMPTY = ("step, nobody",)
NOTHING_BACK = ("booking, nobody",)
ADMITTED = "self.deferred_waiting.discard(request)\n                self.running.append(request)"
BOOKED = "# Free encoder inputs only after the step has actually executed."
STILL_LOADING = 'logger.debug("%s is still in WAITING_FOR_REMOTE_KVS state.", request_id)'
ENQUEUED = "self._enqueue_waiting_request(request)\n            self.requests["
ENDED = "return scheduler_output\n\n    def _build_kv_connector_meta("

PLANTS: dict[str, Plant] = {
    "who runs is given up when its output is booked": Plant(
        "block-accounting", ONE, BOOKED, before="self.kv_cache_manager.free(request)"
    ),
    "who loads is given up": Plant(
        "block-accounting", LOADING, STILL_LOADING, behind="self.kv_cache_manager.free(request)"
    ),
    "who runs is given up when another arrives": Plant(
        "block-accounting",
        ARRIVAL,
        ENQUEUED,
        before="for other in self.running:\n    self.kv_cache_manager.free(other)",
    ),
    "the pool is asked for a whole length": Plant(
        "block-accounting",
        STEP,
        "num_new_tokens,\n                        num_lookahead_tokens=self.num_lookahead_tokens,",
        "num_new_tokens + self.max_model_len,\n"
        "                        num_lookahead_tokens=self.num_lookahead_tokens,",
        version="0.30.0",
    ),
    "who is admitted comes first": Plant(
        "progress", STEP, ADMITTED, ADMITTED.replace("append(request)", "insert(0, request)")
    ),
    "who runs is turned round": Plant(
        "progress",
        VICTIM,
        "# Check if the scheduling constraints are satisfied.",
        before="self.running.reverse()",
    ),
    "a booking reads what the step wrote": Plant(
        "rows-match-drafts",
        STEP,
        'with record_function_or_nullcontext("schedule: update_after_schedule"):',
        before="scheduler_output.num_invalid_spec_tokens = dict.fromkeys("
        "scheduled_spec_decode_tokens, 1)",
        mode=ASYNC,
    ),
    "the largest of no requests": Plant(
        "no-reachable-assert",
        EMPTY,
        "self.kv_cache_manager.new_step_starts()",
        behind="longest = max(r.num_tokens for r in [*self.running, *self.waiting])",
    ),
    "the largest of no rows": Plant(
        "no-reachable-assert",
        NOTHING_BACK,
        "num_scheduled_tokens = scheduler_output.num_scheduled_tokens\n        pooler_outputs",
        before="longest = max(scheduler_output.num_scheduled_tokens.values())",
    ),
    "a long queue takes nobody": Plant(
        "request-conservation",
        ARRIVAL,
        ENQUEUED,
        before="if len(self.waiting) > 1:\n    return",
    ),
    "an argument that the pool does not have": Plant(
        "progress",
        STEP,
        "has_scheduled_reqs=bool(self.running),",
        "has_scheduled_requests=bool(self.running),",
    ),
}


@pytest.mark.parametrize("name", PLANTS)
def test_what_is_not_left_as_it_has_to_be_is_noticed(name: str) -> None:
    about = verdicts_about(PLANTS[name])
    assert about and about <= {VIOLATED, UNDECIDED}, about


HIDDEN = {
    "suppressed": """
import contextlib
with contextlib.suppress(object):
    if len(preempted_reqs) > 1:
        while True:
            pass""",
    "replaced by another": """
try:
    try:
        if len(preempted_reqs) > 1:
            while True:
                pass
    finally:
        raise KeyError
except KeyError:
    pass""",
}


@pytest.mark.parametrize("hidden", HIDDEN)
def test_what_runs_on_is_over_whatever_the_text_makes_of_it(hidden: str) -> None:
    """Two requests may be preempted in one step: one for the other, that one for itself."""
    endless = Plant("", VICTIM, ENDED, before=HIDDEN[hidden])
    with pytest.raises(Rejected, match="runs on"):
        findings(endless.texts(), endless.mode, endless.tasks, endless.version)


def test_a_map_is_asked_no_further_than_python_asks() -> None:
    text = """
def told(seen, numbers):
    def tell(number):
        seen.append(number)
        return number == 2
    return any(map(tell, numbers)), all(filter(tell, numbers))


class Scheduler:
    def schedule(self):
        return None
"""
    loaded = load([Text("mini.py", text)], profile_for(None))
    namespace = loaded.schedulers[SYNC].schedule.__globals__
    seen: list[int] = []
    assert namespace["told"](seen, [1, 2, 3]) == (True, True)
    assert seen == [1, 2, 1, 2, 3]


@pytest.mark.parametrize("ending", ["\n", "\r", "\r\n"])
def test_a_file_says_no_other_encoding_than_utf_8(ending: str) -> None:
    """Python would read another text: ``\\u000a`` ends a comment in raw_unicode_escape."""
    lines = ["", "# -*- coding: raw_unicode_escape -*-", "x = 1  # \\u000ax = 2", ""]
    with pytest.raises(Rejected, match="UTF-8"):
        parse(ending.join(lines), "scheduler.py")
    parse(ending.join(["", "# -*- coding: utf-8 -*-", "x = 1", ""]), "scheduler.py")
