"""What is watched for staying as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from model.policies import RECOMMENDED
from model.request import Request
from model.scheduler import Scheduler
from model.step import Step
from proofs.bodies import run_body
from proofs.bodies.aftermath import CONTAINERS
from proofs.clauses import SERVES
from proofs.crowds import Crowd, Ledger, Marks
from proofs.frame import Frame
from proofs.harness import Harness
from proofs.induction import Cache, explore
from proofs.surroundings import WatchedScheduler
from proofs.symbolic import Context, Exploration, Limits, Refuted
from proofs.verdict import ASYNC


def test_every_slot_and_attribute_is_watched() -> None:
    class Grown(Request):
        __slots__ = ("extra",)

    request = Grown("r", 3, 4)
    request.extra = 1
    step = Step(5, 6, 7)
    frame = Frame(request=request, step=step)
    kept = dict(frame.kept(()))
    assert set(kept) >= {f"request.{slot}" for slot in (*Request.__slots__, "extra")}
    assert "step.threshold" in kept and all(kept.values())
    request.extra, step.threshold = 2, 0
    assert [f for f, same in frame.kept(("step.token_budget",)) if not same] == [
        "request.extra",
        "step.threshold",
    ]
    assert frame.before("step.threshold") == 7
    assert "request.extra" not in dict(frame.kept(("request.extra",)))


def test_what_a_container_holds_is_watched_even_if_it_does_not_tell() -> None:
    def run(context: Context) -> None:
        step = Step(1, 2, 3, num_scheduled_tokens=Ledger(context), padded=Marks(context))
        first, other = Request("r", 3, 4), Request("other", 3, 4)
        step.num_draft_tokens[other] = rows = context.int("rows")
        step.preempted_reqs = Crowd(context, [first])
        frame = Frame(step=step)
        assert frame.held("step.preempted_reqs") == {0: first}
        step.num_draft_tokens[other] = rows + 0
        assert all(bool(kept) for _, kept in frame.kept(()))
        step.num_scheduled_tokens[first] = 1
        step.num_draft_tokens[other] = rows + 1
        step.padded.add(first)
        step.preempted_reqs.append(first)
        names = {name for name, kept in frame.kept(()) if not bool(kept)}
        assert names == set(CONTAINERS)
        assert all(kept for _, kept in frame.kept(CONTAINERS)), "what they hold may move"
        step.padded, step.preempted_reqs = {first}, [first, first]
        names = {name for name, kept in frame.kept(CONTAINERS) if not kept}
        assert names == {"step.padded", "step.preempted_reqs"}, "which they are may not"

    with Exploration(run) as paths:
        assert [path.error for path in paths] == [None]


def refuted(body: str) -> set[str]:
    """Names of the goals of one body that fail on some path, async."""
    found: set[str] = set()
    with Exploration(
        lambda context: run_body(body, Harness(context, RECOMMENDED, True, SERVES))
    ) as paths:
        for path in paths:
            goals = {f"{n} {goal.name}": goal.formula for n, goal in enumerate(path.value or ())}
            for name, answer in path.prove_all(goals).items():
                if isinstance(answer, Refuted):
                    found.add(name.partition(" ")[2])
    return found


def test_a_preemption_may_not_fold_the_output_into_the_prompt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    preempt = Scheduler.preempt

    def folds(self: Scheduler, step: Step, victim: Request) -> None:
        preempt(self, step, victim)
        victim.num_prompt_tokens += victim.num_output_tokens

    monkeypatch.setattr(Scheduler, "preempt", folds)
    assert "request.num_prompt_tokens is left alone" in refuted("preemption")


@pytest.mark.parametrize("body", ["running-pass", "waiting-pass"])
def test_rows_are_charged_to_both_budgets(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = Step.commit

    def cheats(self: Step, config: Any, request: Request, rows: int, *more: Any) -> None:
        commit(self, config, request, rows, *more)
        self.token_budget += 1

    monkeypatch.setattr(Step, "commit", cheats)
    failed = refuted(body)
    assert "rows-are-charged" in failed and "inputs-are-charged" not in failed


def test_a_scheduler_may_not_preempt_whom_it_did_not_choose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def itself(self: WatchedScheduler) -> Request:
        (shown,) = (r for r in list.__iter__(self.running) if isinstance(r, Request))
        return shown

    monkeypatch.setattr(WatchedScheduler, "lowest_priority", itself)
    assert "the-chosen-is-preempted" in refuted("running-pass")


def test_a_body_is_shared_by_policies_that_agree_on_what_it_read() -> None:
    cache = Cache()
    limits = Limits()
    one = explore("running-pass", RECOMMENDED, ASYNC, frozenset(SERVES), limits, cache)
    unread = replace(RECOMMENDED, name="other", threshold_aware=False)
    other = explore("running-pass", unread, ASYNC, frozenset(SERVES), limits, cache)
    assert other.goals == one.goals
    assert len(cache.results["running-pass", ASYNC]) == 1
    read = replace(RECOMMENDED, clamps_running=True)
    explore("running-pass", read, ASYNC, frozenset(SERVES), limits, cache)
    assert len(cache.results["running-pass", ASYNC]) == 2
