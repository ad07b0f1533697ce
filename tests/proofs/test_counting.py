"""A loop that could do something else for many requests than for few does not fit."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from editing import compiled, edited

import model.scheduler
from model.engine import Engine
from model.scheduler import Scheduler
from model.step import Step
from proofs.bodies.counting import unfit
from proofs.bodies.turns import notes
from proofs.definitions import definition
from spec import logic

RUNNING, WAITING, TURN = "schedule_running", "schedule_waiting", "request = queue[index]\n"
LOOK = "index < len(queue)"

EDITS: tuple[tuple[type, str, str, str, str], ...] = (
    # Numbers: written, found, made, grown.
    (Scheduler, WAITING, LOOK, f"{LOOK} and index < 2048", "line 6: 2048"),
    (Scheduler, WAITING, LOOK, f"{LOOK} and index < int('2048')", "int('2048')"),
    (Scheduler, WAITING, LOOK, f"{LOOK} and index < self.MOST", "self.MOST"),
    (Scheduler, WAITING, LOOK, f"{LOOK} and index < most_looks", "most_looks"),
    (Scheduler, WAITING, LOOK, f"{LOOK} and index < len('many' * 512)", ": 'many' * 512"),
    (Scheduler, WAITING, LOOK, f"{LOOK} and few(index)", "few(index)"),
    (Scheduler, WAITING, "step: Step", "step: Step, most: int = 2048", "a default of 2048"),
    (Scheduler, WAITING, "index = 0", "index = 0\n        most = 1\n        most += most", "most"),
    (Scheduler, WAITING, "index = 0", "index = self.running.count(None)", "index += 1"),
    (Scheduler, RUNNING, "step.index += 1", "step.index += step.index", "step.index"),
    (Scheduler, RUNNING, "step.index += 1", "step.index += 2", "step.index"),
    (Scheduler, RUNNING, "self.running[step.index]", "self.running[step.token_budget]", "picks"),
    (Scheduler, "lowest_priority", "(self.running, key", "(self.running[-512:], key", "-512:"),
    (Scheduler, "lowest_priority", "running[-1]", "running[len(self.running) - 1]", "picks"),
    (Scheduler, "lowest_priority", "key=urgency", "key=lambda r: 0", "lambda r: 0"),
    (Scheduler, "_enqueue", "key=urgency)", "hi=self.config.max_num_seqs, key=urgency)", "hi="),
    (Scheduler, "_enqueue", "queue.append(", "queue.insert(queue.index(queue[0]), ", "picks"),
    (Step, "output", "tuple(shares)", "tuple(shares[:512])", "picks :512"),
    (Engine, "book", "output.scheduled", "islice(output.scheduled, 512)", "islice"),
    (Engine, "step", "self.in_flight) >", "self.in_flight) + 1 >", "len(self.in_flight) + 1"),
    # What turns leave for one another.
    (
        *(Scheduler, WAITING, TURN),
        "looked = index\n            if looked: return\n            " + TURN,
        "looks at index",
    ),
    (
        *(Scheduler, WAITING, "if outcome is BLOCKED:"),
        "if outcome is BLOCKED and last is BLOCKED:\n                return\n"
        "            last = outcome\n            if outcome is BLOCKED:",
        "a turn finds last as another left it",
    ),
    (
        *(Scheduler, WAITING, TURN),
        "self.finished.append(queue[index])\n            if self.finished[2]: return\n"
        "            " + TURN,
        "picks 2",
    ),
    (Scheduler, WAITING, TURN, "seen = [index]\n            " + TURN, "[index]"),
    (Scheduler, WAITING, TURN, "self.num_waiting = 1\n            " + TURN, "self.num_waiting"),
    (Scheduler, WAITING, TURN, "(last := queue[index])\n            " + TURN, "last :="),
    (
        *(Scheduler, "try_running", "victim = self"),
        "taken = (*taken, 1)\n        victim = self",
        "a turn finds taken as another left it",
    ),
    (
        *(Scheduler, "try_running", "victim = self"),
        "next(turns)\n        victim = self",
        "next(turns)",
    ),
    (
        *(Scheduler, "try_running", "victim = self"),
        "request.num_spec_tokens += 1\n        victim = self",
        "request.num_spec_tokens",
    ),
    (
        *(Scheduler, "try_running", "if rows == 0:"),
        "if make_room(self):\n        pass\n    if rows == 0:",
        "a turn finds taken as another left it",
    ),
    # Turns that are written one after the other.
    (
        *(Scheduler, "add_request", "self._enqueue(self.waiting, request)"),
        "\n    ".join(["self._enqueue(self.waiting, request)"] * 31),
        "has 33 parts",
    ),
    (Engine, "book", "output.scheduled", "(output,) * 512", "(output,) * 512"),
    (Scheduler, "finish", "self.running, ", "self.running, " * 31, "(self.running, self.running"),
    (Step, "output", "tuple(shares)", f"tuple(shares, {'rows, ' * 31})", "has 32 parts"),
    (
        *(Scheduler, WAITING, "outcome = self.try_waiting(step, request)"),
        "outcome = self.try_waiting(step, request) or self.try_waiting(step, request)",
        "try_waiting is asked for in 2 places",
    ),
    (
        *(Scheduler, "schedule", "self.schedule_running(step)"),
        "self.schedule_running(step); self.schedule_running(step)",
        "schedule_running is asked for in 2 places",
    ),
    (
        *(Scheduler, "try_running", "if rows == 0:"),
        "if rows == 1:\n        return self.try_running(step, request)\n    if rows == 0:",
        "try_running is asked for in 2 places",
    ),
    (
        *(Scheduler, WAITING, "(self.kv_holding_waiting, self.waiting)"),
        "(self.waiting, self.kv_holding_waiting, self.waiting)",
        "(self.waiting, self.kv_holding_waiting, self.waiting)",
    ),
)


ROOM = """
def make_room(scheduler):
    taken = 0
    while scheduler.preempt():
        taken += 1
        if taken > 200:
            return False
    return True
"""
"""A loop of a function that only a body calls, which would never see so many turns."""


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit[-1])
def test_a_loop_that_could_count_does_not_fit(
    edit: tuple[type, str, str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, old, new, why = edit
    monkeypatch.setattr(model.scheduler, "make_room", None, raising=False)
    exec(compiled(ROOM, "make_room"), vars(model.scheduler))
    monkeypatch.setattr(owner, name, edited(vars(owner)[name], old, new))
    told = unfit()
    assert any(why in each for each in told), told


def test_the_model_fits() -> None:
    assert not unfit()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return index < 2048", "2048"),
        ("return index < len(str(index))", "str"),
        ("looks.append(1)\n    return len(looks) > 1", "looks"),
        ("return True if index else helps(index)", "helps"),
    ],
)
def test_what_helps_a_loop_fits_as_well(
    body: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = f"def helps(index):\n    {body}\n"
    monkeypatch.setattr(model.scheduler, "looks", [], raising=False)
    monkeypatch.setattr(model.scheduler, "helps", None, raising=False)
    exec(compiled(code, f"helps: {body}"), vars(model.scheduler))
    method = edited(Scheduler.schedule_waiting, LOOK, f"{LOOK} and helps(index)")
    monkeypatch.setattr(Scheduler, WAITING, method)
    told = unfit()
    assert any(f"{why}" in each for each in told), told


def test_sizes_are_of_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    short = edited(logic.size, "return len(queue)", "return len(queue[:512])")
    monkeypatch.setattr("model.engine.size", short)
    assert any("queue[:512]" in each for each in unfit())


@pytest.mark.parametrize("made", ["Base", "class attribute", "no text", "wrapped"])
def test_a_scheduler_that_is_made_otherwise_does_not_fit(
    made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: Any = 512
    if made == "Base":
        held = type("method", (), {"__call__": Scheduler.finish})()
    elif made == "no text":
        text = "def finish(self, request, status):\n    pass\n"
        exec(text, {}, names := dict[str, Any]())
        held = names["finish"]
    elif made == "wrapped":
        held = staticmethod(Scheduler.finish)
    monkeypatch.setattr(Scheduler, "finish", held)
    assert any("Scheduler.finish" in each for each in unfit())


def test_another_scheduler_for_some_does_not_fit() -> None:
    other = type("LargeScheduler", (Scheduler,), {"__module__": "model.engine"})
    assert "LargeScheduler is another Scheduler" in unfit()
    del other
    gc.collect()
    assert not unfit()


def test_what_runs_is_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert definition(Scheduler.finish)
    code = Scheduler.finish.__code__
    longer = code.replace(co_consts=(*code.co_consts, 512))
    monkeypatch.setattr(Scheduler.finish, "__code__", longer)
    assert definition(Scheduler.finish) is None


def test_a_body_may_count_but_not_its_turns() -> None:
    def counts(self: Any, step: Any) -> int:
        left: int = step.token_budget - 512
        while self.more(step, left):
            self.take(step)
        return left

    function: Any = counts
    node = definition(function)
    assert node is not None and not notes(node, {})
