"""The runs of the text under proof: which states, what happens, under which features.

Each builds an arbitrary state, calls the text's own methods once, and returns what must hold.
"""

from __future__ import annotations

from collections.abc import Collection

from proofs.source.entries import ABORTS
from proofs.source.runs.aborts import ABORT, aborting
from proofs.source.runs.arrangements import (
    after_running_pass,
    behind_a_holder,
    behind_a_victim,
    behind_two_new,
    beside_a_decode,
    nobody,
    one_running,
    pair,
    pair_in_one_queue,
    two_running,
    two_running_one_waiting,
    two_waiting,
)
from proofs.source.runs.bookings import (
    BOOKING,
    one_in_flight,
    stale_in_flight,
    three_in_flight,
    two_in_flight,
)
from proofs.source.runs.deciding import STEP, claims
from proofs.source.runs.due import Due
from proofs.source.runs.harness import HELD_BACK, HOLD_BACK, Harness
from proofs.source.runs.quiet_runs import (
    ARRIVAL,
    END_OF_LOAD,
    NOTHING,
    arriving,
    loading,
    nobody_ran,
)
from proofs.source.runs.shapes import Shape, Task
from proofs.source.runs.state import Features

CROWDS = (
    *("crowd, two waiting", "crowd, two running and one waiting", "crowd, behind a victim"),
    "crowd, behind two new",
)
"""More requests than the reduction needs, for texts it does not hold of: see ``README.md``."""


def two_steps(h: Harness) -> list[Due]:
    """Two steps in a row, as async scheduling runs them; what a check needs one of."""
    pair(h)
    h.arbitrary_state()
    h.moment()
    h.schedule()
    h.snapshot()
    return claims(h, None, STEP.call(h, None))


def one_step(async_scheduling: bool) -> list[Task]:
    """One running and one waiting request, one step."""
    return [Shape("step", pair, Features(async_scheduling), STEP).task]


def whole_loop(async_scheduling: bool, mentioned: Collection[str]) -> list[Task]:
    """Everything that moves a request's counters, under every feature of the scope."""
    return [shape.task for shape in shapes(async_scheduling, mentioned)]


def shapes(async_scheduling: bool, mentioned: Collection[str]) -> list[Shape]:
    """All that is run, one after the other.

    What breaks clauses comes early, and what takes long late: a broken clause voids what was done.

    ``mentioned``: the attributes the text reads; it cannot react to a feature it never asks about.
    """

    def on(**features: bool | None) -> Features:
        return Features(async_scheduling, **features)  # type: ignore[arg-type]

    connects, aligns = (
        feature in mentioned for feature in ("kv_transfer_config", "has_mamba_layers")
    )
    holds_back = HOLD_BACK in mentioned
    plain, either = on(), on(connector=None, priority=None)
    made = [Shape("booking", one_in_flight, on(priority=None), BOOKING)]
    if async_scheduling:
        made.append(Shape("booking after preemption", stale_in_flight, either, BOOKING))
    made.append(Shape("step", pair, plain, STEP))
    if connects:
        made += [
            Shape("running, KV connector", one_running, on(connector=True, priority=None), STEP),
            Shape("step, KV connector", after_running_pass, on(connector=True), STEP),
        ]
    if aligns:
        made += [
            Shape("running, Mamba alignment", one_running, on(mamba=True, priority=None), STEP),
            Shape("step, Mamba alignment", after_running_pass, on(mamba=True), STEP),
        ]
    if holds_back:
        made.append(Shape(f"step, {HELD_BACK}", pair_in_one_queue, on(holds_back=True), STEP))
    made += [
        Shape("step, priorities", after_running_pass, on(priority=True), STEP),
        Shape("preemption", two_running, plain, STEP),
        Shape("preemption, priorities", two_running, on(priority=True), STEP),
        Shape(CROWDS[0], two_waiting, plain, STEP),
        Shape(CROWDS[1], two_running_one_waiting, plain, STEP),
        Shape(CROWDS[2], behind_a_victim, on(priority=True), STEP),
        Shape(CROWDS[3], behind_two_new, plain, STEP),
    ]
    if holds_back:
        made.append(Shape(f"running, {HELD_BACK}", beside_a_decode, on(holds_back=True), STEP))
    made += [
        Shape("booking, two requests", two_in_flight, plain, BOOKING),
        Shape("booking, three requests", three_in_flight, plain, BOOKING),
    ]
    if connects or aligns:
        everything = on(connector=True, priority=None, mamba=True)
        name = "booking, KV connector and Mamba alignment"
        made.append(Shape(name, one_in_flight, everything, BOOKING))
    made += [
        Shape("arrival", arriving, either, ARRIVAL),
        Shape("booking, nobody", nobody_ran, either, NOTHING),
    ]
    if ABORTS in mentioned:
        made.append(Shape("abort", aborting, on(priority=None), ABORT))
        if connects:
            loads = on(connector=True, priority=None)
            made.append(Shape("abort, KV connector", aborting, loads, ABORT))
    if connects or aligns:
        made += [
            Shape("booking, a load is done", loading, on(connector=True), END_OF_LOAD),
            Shape("step, behind who holds KV", behind_a_holder, on(connector=True), STEP),
        ]
    made.append(Shape("step, nobody", nobody, either, STEP))
    return made
