"""The bodies under proof: the model's own functions on one arbitrary request.

Each function builds an arbitrary state that satisfies the inductive clauses, runs the model's code
on it once, and lists what must hold afterwards.  ``any number of requests`` is the arbitrary
request; ``any number of steps`` is the arbitrary state; ``any number of ranks`` is the free flag
``group_has_prefill``, which says whether some other rank computes prompt in this step.
"""

from __future__ import annotations

from collections.abc import Callable

from proofs.bodies.booking import abortion, booking
from proofs.bodies.deciding import arrival, first_decision, preemption, running, waiting
from proofs.bodies.engine_runs import engine_runs
from proofs.bodies.passes import passes
from proofs.bodies.places import places
from proofs.goal import Goal
from proofs.harness import Harness
from spec import assumptions as world
from spec.config import Config
from spec.logic import not_
from spec.promises import no_reachable_assert

FEATURES: dict[str, Callable[[Config], bool]] = {
    "threshold": lambda c: c.long_prefill_token_threshold > 0,
    "diffusion": lambda c: c.num_sampled_tokens_per_step == 0,
    "mamba": lambda c: c.mamba_align,
    "tight-budget": lambda c: not_(world.BUDGET_COVERS_BATCH.condition(c)),
    "unchunked": lambda c: not_(c.enable_chunked_prefill),
}
"""Corners of the configuration space, in the order a search tries to do without them."""

BODIES: dict[str, Callable[[Harness], None]] = {
    "arrival": arrival,
    "first-decision": first_decision,
    "running-pass": running,
    "waiting-pass": waiting,
    "preemption": preemption,
    "output": booking,
    "abort": abortion,
    "places": places,
    "whole-passes": passes,
    "engine-runs": engine_runs,
}


def run_body(name: str, harness: Harness) -> list[Goal]:
    """One path of one body: the goals at its end.  An exception is the explorer's to report."""
    BODIES[name](harness)
    survived = Goal("no-reachable-assert", "no_reachable_assert", no_reachable_assert(False).holds)
    return [*harness.goals, survived]
