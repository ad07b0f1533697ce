"""What goes wrong without an assumption: the execution that breaks a promise once it is dropped.

An assumption nobody needs would be noise, and one that hides a bug would be worse.  For each that
can be dropped, the smallest execution of the recommended policy that then breaks something.
"""

from __future__ import annotations

from model.policies import RECOMMENDED
from proofs.replay import NotReproduced, replay
from proofs.search import Search, search
from proofs.symbolic import Limits
from proofs.trace import Trace
from proofs.verdict import MODES
from spec import assumptions as world

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
}
"""Assumption → an invariant that needs it, and the configuration features under which it shows."""


def without(assumption: str, limits: Limits) -> Trace | None:
    """The smallest replayed execution of the recommended policy that breaks an invariant when
    ``assumption`` is not made; None if none is found, or the assumption cannot be dropped because
    it says what an execution *is* (order of output, the end of a crashed engine)."""
    if assumption not in CORNERS:
        return None
    invariant, features = CORNERS[assumption]
    for mode in MODES:
        found = search(
            Search(
                RECOMMENDED,
                mode,
                {invariant: (features,)},
                limits,
                depths=((1, 1), (2, 1), (2, 2)),
                without=frozenset({assumption}),
                lengths=(6,),
            )
        )
        if invariant in found.scenarios:
            try:
                return replay(found.scenarios[invariant], invariant)
            except NotReproduced:
                continue
    return None
