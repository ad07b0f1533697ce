"""Policies whose rows of the table read alike: a decision tells them apart.

What a policy breaks does not say all that it does.  One that lost its own change, and so decides
as the one it came from, would have the very row it should have.
"""

from __future__ import annotations

from model.planning import waiting_rows
from model.policies import PaddingPolicy
from model.request import RequestStatus
from proofs.clauses import SERVES, resting_clauses
from proofs.harness import Harness
from proofs.symbolic import Context, Exploration, Limits, Refuted
from proofs.verdict import ASYNC
from spec.logic import all_of, min


def told_apart(one: PaddingPolicy, other: PaddingPolicy, mode: str, limits: Limits) -> bool | None:
    """Whether some waiting request gets other rows from one policy; None: time ran out."""

    def alike(context: Context) -> bool:
        h = Harness(context, one, mode == ASYNC, SERVES)
        request = h.request(RequestStatus.PREEMPTED)
        h.suppose(resting_clauses(h.config, request))
        step = h.step(h.integer("slots taken", 0)).step
        budget = min(step.token_budget, step.input_budget - h.config.draft_slots)
        context.assume(all_of(budget > 0, request.num_computed_tokens < request.num_tokens))
        (rows, padded), (other_rows, other_padded) = (
            waiting_rows(
                h.config,
                policy,
                request,
                request.num_computed_tokens,
                step.running_scheduled,
                step.prefill_scheduled,
                step.threshold,
                budget,
            )
            for policy in (one, other)
        )
        return all_of(rows == other_rows, padded == other_padded)

    with Exploration(alike, limits) as paths:
        for path in paths:
            if path.value is not None and isinstance(path.holds(path.value), Refuted):
                return True
        return False if paths.complete else None
