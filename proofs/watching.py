"""`Watching`: the goals of one path, and the model's objects that must stay as they were."""

from __future__ import annotations

from typing import Any

from model.request import Request
from model.scheduler import Scheduler
from proofs.crowds import Crowd
from proofs.frame import Frame, keeps_order
from proofs.goal import FRAMED, Goal
from proofs.symbolic import Context

QUEUES = "running", "waiting", "kv_holding_waiting", "finished"


class Watching:
    """Remembers what the model's code may touch, and collects what must hold of it afterwards."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.goals: list[Goal] = []
        self.frame: Frame
        """What the objects under proof were when the model's code began to run."""
        self.queues: dict[str, tuple[Crowd, list[Any]]] = {}
        """What the queues showed then."""
        self.asked: list[tuple[str, Request]] = []
        """What the world was asked since, and about whom."""

    def watch(self, scheduler: Scheduler, request: Request, **others: Any) -> None:
        """The model's code runs from here on: remember every field of what it may touch."""
        self.queues = {
            name: (queue, queue.watch())
            for name in QUEUES
            for queue in [getattr(scheduler, name)]
            if isinstance(queue, Crowd)
        }
        manager = scheduler.kv_cache_manager
        self.asked.clear()
        self.frame = Frame(request=request, scheduler=scheduler, pool=manager, **others)

    def must_leave(self, *moved: str) -> None:
        """Everything watched is as it was, but for the fields named; queues keep their order."""
        for name, kept in self.frame.kept(moved):
            self.goals.append(Goal(FRAMED[name.split(".")[0]], f"{name} is left alone", kept))
        for name, (queue, before) in self.queues.items():
            after = queue.shown
            nobody_lost = all(r in after or isinstance(r, Request) for r in before)
            kept = keeps_order(before, after) and nobody_lost
            self.must_be("progress", **{f"{name}_keeps_its_order": kept})
        # A variable answers once: a connector tells of a load that is done a single time.
        once = len(set(self.asked)) == len(self.asked)
        self.must_be("progress", nobody_is_asked_twice=once)

    def must_be(self, invariant: str, **wanted: bool) -> None:
        """Further promises, by name."""
        for name, holds in wanted.items():
            self.goals.append(Goal(invariant, name.replace("_", "-"), holds))
