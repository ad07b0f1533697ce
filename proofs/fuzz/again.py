"""Showing a failure again: the replay's trace, or what the runner says if only it objects."""

from __future__ import annotations

from model.policies import POLICIES
from proofs.fuzz.execution import BY_CATALOGUE, Breach, Execution, Failure
from proofs.replay import LacksAnswers, NotReproduced, replay
from proofs.report.trace_text import render
from proofs.scenario import AnswersExhausted, Arrival, RecordedWorld, Scenario


def show(failure: Failure) -> str:
    """The failure as text, from a new run of its scenario.

    Raises:
        NotReproduced: the promise is kept now.
        LacksAnswers: the scenario is not whole, which says nothing about the promise.
    """
    if failure.seen_by == BY_CATALOGUE:
        return render(replay(failure.scenario, failure.invariant))
    breach = run_again(failure.scenario, failure.invariant)
    if breach is None:
        raise NotReproduced(f"the runner executes every step: {failure.invariant} is kept")
    return (
        f"{breach.sentence}\n"
        "Only the runner objects; the catalogue's claims hold. One of the two is wrong."
    )


def run_again(scenario: Scenario, invariant: str) -> Breach | None:
    """Play a scenario with the runner attached, up to the first breach of ``invariant``.

    Raises:
        LacksAnswers: the scenario is not whole.
    """
    worlds = [RecordedWorld(answers) for answers in scenario.answers]
    execution = Execution(scenario.config, POLICIES[scenario.policy], worlds, only=(invariant,))
    names: dict[Arrival, str] = {}
    for number in range(scenario.num_steps):
        for arrival in scenario.arrivals:
            if arrival.step == number:
                execution.arrive(
                    arrival.num_prompt_tokens, arrival.max_tokens, arrival.priority, arrival.rank
                )
                names[execution.arrivals[-1]] = arrival.request_id
        leaving = {name for when, name in scenario.aborts if when == number}
        for index in reversed(range(len(execution.live))):
            if names[execution.live[index][0]] in leaving:
                execution.abort(index)
        try:
            breach = execution.advance()
        except AnswersExhausted as error:
            problem = f"step {number} asks for an answer it does not have: {error}"
            raise LacksAnswers(problem) from None
        if breach is not None:
            return breach
    return None
