"""State that survives a step: free where the profile says so, undecided where it does not know.

Every text here computes the right rows in the first step of a fresh engine.  What is wrong with it
shows in a later one, by something an earlier step left behind.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import GOOD_PAD, text

from proofs.source.check import check_source
from proofs.source.errors import SourceError
from proofs.source.fetch import fetch_release
from proofs.source.loader import Text
from proofs.source.verdicts import SourceReport
from proofs.verdict import ASYNC, PROVED, SYNC, UNDECIDED, VIOLATED

SKIP = "if {}:\n                index += 1\n                continue\n            "
FIRST = "rows = request.num_tokens_with_spec - request.num_computed_tokens\n"
BUDGET = "rows_of: dict[str, int] = {}\n"
DOUBLED = "if {}:\n            budget = 2 * budget\n        "


def _text(
    skip: str = "", doubled: str = "", before: str = "", do: str = "", **parts: str
) -> tuple[Text, ...]:
    """The scheduler with a condition under which it passes over a running request, or doubles the
    budget; with statements in front of the class, and at the top of ``schedule()``."""
    content = text(GOOD_PAD, schedule=do or "pass", **parts)
    if skip:
        content = content.replace(FIRST, SKIP.format(skip) + FIRST)
    if doubled:
        content = content.replace(BUDGET, DOUBLED.format(doubled) + BUDGET)
    content = content.replace("\n\nclass Scheduler", f"\n{before}\n\nclass Scheduler")
    return (Text("scheduler.py", content),)


def _check(texts: tuple[Text, ...], profile: str = "") -> SourceReport:
    return check_source(texts, "mini", modes=[SYNC], profile=profile)


def _verdict(report: SourceReport, invariant: str) -> str:
    found = report.finding(invariant, SYNC)
    assert found is not None
    return found.verdict


def _init(*attributes: str) -> str:
    return "\n        ".join(attributes)


KNOWN = {
    "who had rows": (
        "progress",
        {"skip": "request.request_id in self.prev_step_scheduled_req_ids"},
        "self.prev_step_scheduled_req_ids = set()",
    ),
    "who is in prefill": (
        "progress",
        {"skip": "request in self._inflight_prefills"},
        "self._inflight_prefills = set()",
    ),
    "who was held back": (
        "progress",
        {"skip": "request in self.deferred_waiting"},
        "self.deferred_waiting = set()",
    ),
    "who is finished": (
        "progress",
        {"skip": "self.finished_req_ids"},
        "self.finished_req_ids = set()",
    ),
    "how many are finished": (
        "progress",
        {"skip": "len(self.finished_req_ids) > 1"},
        "self.finished_req_ids = set()",
    ),
    "the number of the step": (
        "within-budget",
        {"doubled": "self.current_step > 1"},
        "self.current_step = 0",
    ),
    "that it was preempted before": ("progress", {"skip": "request.num_preemptions > 1"}, "pass"),
}
"""What the text reads → the promise it breaks by that."""


@pytest.mark.parametrize("name", KNOWN)
def test_what_an_earlier_step_left_is_free(name: str) -> None:
    invariant, parts, init = KNOWN[name]
    assert _verdict(_check(_text(init=init, **parts)), invariant) == VIOLATED


def test_what_the_step_itself_does_to_a_set_is_remembered() -> None:
    init = "self.finished_req_ids = set()"
    do = "self.finished_req_ids.clear()"
    assert _check(_text(init=init, do=do, skip="self.finished_req_ids")).verdict == PROVED
    skip = SKIP.format("request.request_id in self.finished_req_ids")
    (read,) = _text(init=init, skip="request.request_id in self.finished_req_ids")
    taken = "self.finished_req_ids.discard(request.request_id)\n            "
    content = read.content.replace(skip, taken + skip)
    assert content != read.content
    assert _check((Text("scheduler.py", content),)).verdict == PROVED


def test_what_cannot_be_said_of_a_free_set_is_undecided() -> None:
    init = "self.finished_req_ids = set()"
    report = _check(_text(init=init, skip="'R' in sorted(self.finished_req_ids)"))
    assert report.verdict == UNDECIDED
    assert "scheduler finished_req_ids, which an earlier step left" in report.findings[0].reason


REPORTED = """
    def told(self, names):
        told: dict[str, int] = {}
        for name in names:
            request = self.requests[name]
            if name not in self.prev_step_scheduled_req_ids:
                told[name] = request.num_tokens
        return dict(told=told)
"""


def test_a_report_of_a_free_set_forks_nothing() -> None:
    init, end = "self.prev_step_scheduled_req_ids = set()", "output = SchedulerOutput("
    plain = check_source(_text(init=init, methods=REPORTED), "mini", modes=[SYNC])
    content = _text(init=init, methods=REPORTED)[0].content
    told = content.replace(end, f"report = self.told(rows_of)\n        {end}")
    report = _check((Text("s.py", told),))
    assert report.verdict == PROVED and report.statistics.paths == plain.statistics.paths
    read = content.replace(end, f"assert self.told(rows_of)['told'] is not None\n        {end}")
    assert _check((Text("s.py", read),)).verdict == PROVED
    read = content.replace(end, f"assert len(self.told(rows_of)['told']) < 2\n        {end}")
    report = _check((Text("s.py", read),))
    assert report.verdict == UNDECIDED
    assert "under a condition that nobody decided" in report.findings[0].reason


PACING = "class _Pacing:\n    def __init__(self):\n        self.steps = 0\n"
COUNTING = "def _counter():\n    n = 0\n    def count():\n        nonlocal n\n        n += 1\n"
OWN = {
    "an object of its own": (
        "scheduler.pacing",
        {
            "before": PACING,
            "init": "self.pacing = _Pacing()",
            "do": "self.pacing.steps += 1",
            "doubled": "self.pacing.steps > 1",
        },
    ),
    "a set under another name": (
        "scheduler.served",
        {
            "init": "self.served = set()",
            "do": "served = self.served",
            "skip": "request.request_id in served or served.add(request.request_id)",
        },
    ),
    "a set changed by a rare method": (
        "scheduler.served",
        {
            "init": "self.served = set()",
            "skip": "self.served.symmetric_difference_update({request.request_id}) "
            "or request.request_id not in self.served",
        },
    ),
    "a list in a dictionary": (
        "scheduler.tables",
        {"init": "self.tables = {'a': [0]}", "do": "a = self.tables['a']; a[0] += 1"},
    ),
    "an attribute that is new": (
        "scheduler.been_here",
        {
            "do": "me, been = self, hasattr(self, 'been_here'); me.been_here = True",
            "doubled": "been",
        },
    ),
    "a bound method": (
        "scheduler.note",
        {"init": "self.note = [].append", "do": "self.note(1)"},
    ),
    "an iterator": (
        "scheduler.numbers",
        {"init": "self.numbers = iter([1, 2, 3])", "doubled": "next(self.numbers) > 1"},
    ),
    "a global": (
        "text._STEPS",
        {
            "before": "_STEPS = {'n': 0}",
            "do": "_STEPS['n'] += 1",
            "doubled": "_STEPS['n'] > 1",
        },
    ),
    "an attribute of a class": (
        "text._Pacing",
        {
            "before": "class _Pacing:\n    steps = 0\n",
            "do": "_Pacing.steps += 1",
            "doubled": "_Pacing.steps > 1",
        },
    ),
    "a default": (
        "text.Scheduler.pace",
        {
            "methods": "    def pace(self, seen=[]):\n        seen.append(1); return len(seen)",
            "doubled": "self.pace() > 1",
        },
    ),
    "a closure": (
        "text._COUNT",
        {
            "before": COUNTING + "        return n\n    return count\n_COUNT = _counter()",
            "doubled": "_COUNT() > 1",
        },
    ),
    "an attribute of a function": (
        "text._pace",
        {"before": "def _pace():\n    pass\n", "do": "_pace.steps = 1"},
    ),
    "an attribute of what was imported": (
        "text.remove_all",
        {
            "do": "been = hasattr(remove_all, 'steps'); remove_all.steps = 1",
            "doubled": "been",
        },
    ),
    "a field of a request": (
        "request.num_nans_in_logits",
        {
            "do": "for r in self.running:\n            r.num_nans_in_logits += 1",
            "skip": "request.num_nans_in_logits > 1",
        },
    ),
    "what its row says stays as it is": (
        "scheduler.num_waiting_for_streaming_input",
        {
            "init": "self.num_waiting_for_streaming_input = 0",
            "do": "self.num_waiting_for_streaming_input += 1",
            "doubled": "self.num_waiting_for_streaming_input > 1",
        },
    ),
    "a load that is over": (
        "scheduler.finished_recving_kv_req_ids",
        {
            "init": "self.finished_recving_kv_req_ids = set()",
            "skip": "self.finished_recving_kv_req_ids.add(request.request_id)",
        },
    ),
}
"""What keeps the state → the name under which it is reported, and the text."""


@pytest.mark.parametrize("name", OWN)
def test_what_the_profile_does_not_know_must_stay_as_it_is_until_a_row_settles_it(
    name: str,
) -> None:
    attribute, parts = OWN[name]
    report = _check(_text(**parts))
    assert {f.verdict for f in report.findings} == {UNDECIDED}, report
    assert report.exit_status == 3
    (gap,) = {gap for f in report.findings for gap in f.gaps}
    assert gap.attribute.startswith(attribute) and gap.line > 0
    assert "changed from step to step" in gap.attribute or "cannot be compared" in gap.attribute
    assert gap.settle.startswith(f"{attribute} | state | ")
    settled = _check(_text(**parts), profile=gap.settle)
    free = "any-" in gap.settle and ("skip" in parts or "doubled" in parts)
    assert settled.verdict == (VIOLATED if free else PROVED), settled


QUIET = {
    "read only": {"init": "self.tables = {'a': [0]}", "doubled": "self.tables['a'][0] > 0"},
    "put back": {
        "init": "self.depth = {'n': 0}",
        "do": "depth = self.depth; depth['n'] += 1; depth['n'] -= 1",
    },
    "a copy": {"init": "self.tables = [0]", "do": "mine = list(self.tables); mine.append(1)"},
    "an empty list for an empty list": {
        "init": "self.failed_recving_kv_req_ids = []",
        "do": "self.failed_recving_kv_req_ids = []",
    },
    "a global that is read": {"before": "_WIDTH = [1, 2]", "do": "width = len(_WIDTH)"},
    "an object of its own that is read": {
        "before": PACING,
        "init": "self.pacing = _Pacing()",
        "doubled": "self.pacing.steps > 0",
    },
    "a request with the value of its row": {
        "do": "for r in self.running:\n            r.num_nans_in_logits = 0"
    },
}


@pytest.mark.parametrize("name", QUIET)
def test_what_stays_as_it_is_is_no_state(name: str) -> None:
    assert _check(_text(**QUIET[name])).verdict == PROVED


def test_the_whole_loop_looks_too() -> None:
    texts = _text(init="self.told = set()", update="told = self.told; told.add(1)")
    report = check_source(texts, "mini", whole_loop_too=True, modes=[SYNC])
    assert {f.verdict for f in report.findings} == {UNDECIDED}


def test_a_row_for_state_says_what_it_may() -> None:
    with pytest.raises(SourceError, match="a state row says one of"):
        _check(_text(), profile="scheduler.steps | state | whatever | | | why")


# -- the shipping text ---------------------------------------------------------------------------

RUNNING = "if self.current_step < request.next_decode_eligible_step:"
SHIPPED = {
    "prev-step": (
        SYNC,
        RUNNING,
        "if request.request_id in self.prev_step_scheduled_req_ids:",
        (VIOLATED, "progress"),
    ),
    "nested": (
        SYNC,
        "self.current_step += 1\n",
        "self.current_step += 1\n        told = self.told; told.append(1)\n",
        (UNDECIDED, "scheduler.told"),
    ),
    "eligible-step": (
        ASYNC,
        "if self.use_v2_model_runner:\n                # Set the next",
        "if True:\n                # Set the next",
        (UNDECIDED, "request.next_decode_eligible_step"),
    ),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipping_text_with_one_line_more(name: str) -> None:
    try:
        texts = fetch_release("0.33.0").texts
    except SourceError as error:
        pytest.skip(str(error))
    mode, old, new, (verdict, what) = SHIPPED[name]
    edited = tuple(
        Text(
            t.name,
            t.content.replace(old, new, 1).replace(
                "self.current_step = 0\n", "self.current_step = 0\n        self.told = []\n"
            ),
        )
        for t in texts
    )
    report = check_source(edited, name, "0.33.0", modes=[mode])
    if verdict == VIOLATED:
        found = report.finding(what, mode)
        assert found is not None and found.verdict == VIOLATED
    else:
        assert all(gap.attribute.startswith(what) for f in report.findings for gap in f.gaps)
        assert UNDECIDED in {f.verdict for f in report.findings}
