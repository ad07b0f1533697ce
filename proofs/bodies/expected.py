"""What a script should come to: turns, victims and queues."""

from __future__ import annotations

from dataclasses import dataclass, field

from model.request import Request
from proofs.bodies.cast import least_urgent, urgency
from proofs.bodies.script import VICTIMS, Scripted
from spec.records import BLOCKED, LOADING, SCHEDULED, SKIPPED


@dataclass(slots=True)
class Expected:
    """Turns, victims and queues, told without a loop that looks after its own index."""

    in_running: list[Request] = field(default_factory=list)
    in_waiting: list[Request] = field(default_factory=list)
    """The turns of each pass."""
    victims: list[Request] = field(default_factory=list)
    running: list[Request] = field(default_factory=list)
    holding: list[Request] = field(default_factory=list)
    waiting: list[Request] = field(default_factory=list)


def expected(scheduler: Scripted) -> Expected:
    """What one step makes of the queues of ``scheduler``; call it before."""
    plan, by_urgency = scheduler.plan, scheduler.config.priority_scheduling
    running, holding = list(scheduler.running), list(scheduler.kv_holding_waiting)
    waiting, end = list(scheduler.waiting), Expected()
    for request in scheduler.running:
        if request in end.victims:
            continue
        end.in_running.append(request)
        outcome = plan.get(request, SKIPPED)
        for _ in range(VICTIMS.get(outcome, 0)):
            victim = least_urgent(running, by_urgency)
            running.remove(victim)
            end.victims.append(victim)
            if victim is request:
                outcome = SKIPPED if by_urgency else BLOCKED
                break
        if outcome is BLOCKED:
            break
    if not end.victims:
        for request in (*holding, *waiting):
            end.in_waiting.append(request)
            outcome = plan.get(request, SKIPPED)
            if outcome is BLOCKED:
                break
            if outcome is SCHEDULED:
                running.append(request)
            if outcome is LOADING and request in waiting:
                waiting.remove(request)
                holding.append(request)
    gone = frozenset(running)
    waiting = [*reversed(end.victims), *(r for r in waiting if r not in gone)]
    holding = [r for r in holding if r not in gone]
    if by_urgency:
        waiting.sort(key=urgency)
        holding.sort(key=urgency)
    end.running, end.holding, end.waiting = running, holding, waiting
    return end
