"""What goes wrong without an assumption or a waiver: the execution that then breaks a promise.

An assumption nobody needs would be noise, and one that hides a bug would be worse.  For each that
can be dropped, the smallest execution of the recommended policy that then breaks something.
"""

from __future__ import annotations

from dataclasses import replace
from time import time

from model.policies import RECOMMENDED
from proofs.replay import NotReproduced, replay
from proofs.scenario import Arrival, Scenario
from proofs.search import Search, search
from proofs.symbolic import Limits
from proofs.trace import Trace
from proofs.verdict import MODES
from spec import assumptions as world
from spec.config import Config

PLAIN: frozenset[str] = frozenset()

CORNERS: dict[str, tuple[str, frozenset[str]]] = {
    world.BUDGET_COVERS_BATCH.id: ("progress", frozenset({"tight-budget"})),
    world.INPUTS_COVER_ROWS.id: ("progress", frozenset({"slots", "mamba"})),
    world.WHOLE_PROMPTS_FIT.id: ("progress", frozenset({"unchunked"})),
    world.PROMPT_FITS.id: ("within-model-len", PLAIN),
    world.HIT_LEAVES_ONE.id: ("no-reachable-assert", PLAIN),
    world.LOAD_WITHIN_REQUEST.id: ("no-reachable-assert", frozenset({"load"})),
    world.DRAFTS_AT_MOST_K.id: ("uniform-decode", PLAIN),
    world.RUNNER_SAMPLES.id: ("progress", PLAIN),
    world.PLACEHOLDERS_REJECTED.id: ("placeholder-accounting", PLAIN),
    "length-boundary": ("uniform-decode", PLAIN),
    "fewer-drafts": ("uniform-decode", PLAIN),
    "small-budget": ("uniform-decode", frozenset({"tight-budget"})),
    "small-threshold": ("uniform-decode", frozenset({"threshold"})),
    "mamba-clip": ("uniform-decode", frozenset({"mamba"})),
}
"""Assumption or waiver → an invariant that needs it, and the features under which it shows."""


WITNESSES: dict[str, tuple[str, Scenario]] = {
    "withdrawn-prefill": (
        "uniform-decode",
        Scenario(
            config=Config(
                max_model_len=10,
                num_spec_tokens=1,
                max_num_scheduled_tokens=4,
                max_num_batched_tokens=4,
                max_num_seqs=2,
                long_prefill_token_threshold=3,
                block_size=1,
                num_gpu_blocks=11,
                async_scheduling=False,
                priority_scheduling=True,
            ),
            policy=RECOMMENDED.name,
            num_steps=3,
            arrivals=(Arrival(0, "P", 9, 1, priority=1), Arrival(1, "S", 2, 4, priority=0)),
            answers=(
                (
                    *(("prefix_hit", 0), ("connector_match", 0, False), ("draft", 0)),
                    *(("prefix_hit", 1), ("connector_match", 0, False), ("draft", 0)),
                    *(("sample", 1, 0, 0), ("draft", 1), ("sample", 1, 0, 0), ("draft", 1)),
                ),
            ),
        ),
    ),
}
"""Executions too long for a search in passing; like all others they are replayed, not believed."""


def without(assumption: str, limits: Limits) -> Trace | None:
    """The smallest replayed execution of the recommended policy that breaks an invariant when an
    assumption is not made or a waiver not granted; None if none is found, or the assumption cannot
    be dropped because it says what an execution *is* (order of output, the end of a crashed
    engine)."""
    if assumption in WITNESSES:
        invariant, scenario = WITNESSES[assumption]
        return replace(replay(scenario, invariant, {assumption}), without=assumption)
    if assumption not in CORNERS:
        return None
    invariant, features = CORNERS[assumption]
    for mode in MODES:
        found = search(
            Search(
                RECOMMENDED,
                mode,
                {invariant: (features,)},
                time() + limits.seconds,
                depths=((1, 1), (2, 1), (2, 2)),
                without=frozenset({assumption}),
                lengths=(6,),
            )
        )
        if invariant in found.scenarios:
            try:
                trace = replay(found.scenarios[invariant], invariant, {assumption})
                return replace(trace, without=assumption)
            except NotReproduced:
                continue
    return None
