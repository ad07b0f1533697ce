"""The states a run of the text starts from: who is running, who is waiting, in which order."""

from __future__ import annotations

from collections.abc import Callable

from proofs.source.harness import Harness

Arrangement = Callable[[Harness], None]
"""Builds an arbitrary state of some shape."""


def pair(h: Harness) -> None:
    """At most one running and at most one waiting request."""
    if bool(h.context.bool("a request is running")):
        h.running("R")
    h.waiting("W")
    h.others_wait()


def after_running_pass(h: Harness) -> None:
    """One waiting request, after any running pass.

    What an earlier running pass does to a waiting request is that some request got rows, that one
    of them was a prefill, and that budgets shrank.  A stand-in that takes one row, with arbitrary
    budgets, produces each of these contexts; nothing is claimed about it.
    """
    if bool(h.context.bool("a request is running")):
        h.stand_in("R")
    h.waiting("W")
    h.others_wait()


def one_running(h: Harness) -> None:
    """One running request, any number waiting behind."""
    h.running("R")
    h.others_wait()


def two_running(h: Harness) -> None:
    """Two running requests, either of which may be preempted for the other."""
    h.running("R")
    h.running("S")
    h.context.assume(h.config.max_num_seqs >= 2)


def two_waiting(h: Harness) -> None:
    """Two waiting requests: what the first takes, the second no longer finds."""
    h.waiting("V")
    h.waiting("W")


def two_running_one_waiting(h: Harness) -> None:
    """A waiting request behind two running ones, of which one, both or none may be a prefill.

    Nobody is preempted for the first of them: that is what ``two_running`` is about.
    """
    two_running(h)
    h.world.never_short.add("R")
    h.waiting("W")


def behind_a_victim(h: Harness) -> None:
    """The first of three may be preempted for the second: the third finds what it gave back."""
    victim, others = h.stand_in("R"), [h.running("S"), h.running("T")]
    h.world.never_short.add("T")
    h.context.assume(h.config.max_num_seqs >= 3)
    for other in others:
        h.context.assume(victim.priority > other.priority)
