"""The Hypothesis state machine: clients, caches, connectors, drafter and runner against a policy.

The machine draws the same inputs as the random driver and feeds the same watched execution; what
Hypothesis adds is its search and its shrinking.  Needs the ``test`` extra.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import ClassVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from model.policies import PaddingPolicy
from proofs.fuzz.driver import MOST_REQUESTS, Setup, abort, arrive, begin, draw_setup
from proofs.fuzz.execution import Execution, Failure
from proofs.fuzz.profiles import Profile
from spec.invariants import IDS


class Broken(AssertionError):
    """A promise is broken; carries the execution."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.invariant}: {failure.sentence}")
        self.failure = failure


class DrawnByHypothesis:
    """A source of choices: Hypothesis decides, and later shrinks towards the low end."""

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self.draw = draw

    def integer(self, low: int, high: int) -> int:
        return self.draw(_between(low, high))


@cache
def _between(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


@st.composite
def setups(draw: st.DrawFn) -> Setup:
    """A legal configuration and a number of ranks."""
    return draw_setup(DrawnByHypothesis(draw))


class SchedulerMachine(RuleBasedStateMachine):
    """One to three ranks under one policy; ``machine_for`` fixes which."""

    policy: ClassVar[PaddingPolicy]
    only: ClassVar[frozenset[str]]
    execution: Execution

    @initialize(setup=setups(), data=st.data())
    def configure(self, setup: Setup, data: st.DataObject) -> None:
        """The ranks and their worlds, which ask ``data`` whenever the scheduler asks them."""
        self.draw = DrawnByHypothesis(data.draw)
        self.execution = begin(self.draw, setup, self.policy, self.only)

    @precondition(lambda self: len(self.execution.arrivals) < MOST_REQUESTS)
    @rule()
    def a_request_arrives(self) -> None:
        arrive(self.draw, self.execution)

    @rule()
    def every_rank_steps(self) -> None:
        self._advance()

    @precondition(lambda self: len(self.execution.arrivals) < MOST_REQUESTS)
    @rule()
    def a_request_arrives_and_every_rank_steps(self) -> None:
        """Both at once, so that an execution with one of the two rules left out goes on."""
        arrive(self.draw, self.execution)
        self._advance()

    @precondition(lambda self: len(self.execution.live) > 1)
    @rule()
    def a_client_goes_away(self) -> None:
        abort(self.draw, self.execution)

    def _advance(self) -> None:
        breach = self.execution.advance()
        if breach is not None:
            raise Broken(self.execution.failure(breach))


def hunt(
    policy: PaddingPolicy,
    profile: Profile,
    only: frozenset[str] = frozenset(IDS),
    shrink: bool = True,
) -> Failure | None:
    """The smallest failing execution Hypothesis finds, if it finds one.

    Without ``shrink``, the first one it comes across.
    """
    machine = type(f"Machine{policy.name}", (SchedulerMachine,), {"policy": policy, "only": only})
    try:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=profile.examples,
                stateful_step_count=profile.steps,
                derandomize=True,
                database=None,
                deadline=None,
                print_blob=False,
                report_multiple_bugs=False,
                phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
                suppress_health_check=list(HealthCheck),
            ),
        )
    except Broken as broken:
        return broken.failure
    return None
