"""A trace of the source front end as calls on an object, with the answers of its world.

An execution *from add_request* becomes the same calls; one that starts in a state its own search
did not reach is built on the object first, counter by counter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proofs.conform.lockstep import Call
from proofs.trace import Trace, TraceStep
from proofs.verdict import SYNC

PLACED = (
    "num_prompt_tokens",
    "max_tokens",
    "num_output_tokens",
    "num_computed_tokens",
    "num_output_placeholders",
    "len_spec_token_ids",
    "is_prefill_chunk",
    "num_in_flight_tokens",
    "num_stale_output_tokens",
    "priority",
    "arrival_time",
)


class NotExpressed(Exception):
    """The trace cannot be told to a scheduler object; the message says why."""


def starts_empty(trace: Trace) -> bool:
    """Whether the trace is an execution from the first request on."""
    return trace.scenario is not None and str(trace.scenario["scenario"]).startswith("from add")


def calls_of(trace: Trace) -> list[Call]:
    """The calls that repeat a trace.

    Raises:
        NotExpressed: it starts where no call leads.
    """
    if trace.scenario is None or "world" not in trace.scenario:
        raise NotExpressed("the trace does not say what the scheduler was told")
    if any(world.get("aborted") for world in trace.scenario["world"]):
        raise NotExpressed("a client aborts, which is not told to the object")
    if any(step.rank for step in trace.steps):
        raise NotExpressed("the trace is of several ranks; the object is one")
    answers, questions = dict(trace.scenario["answers"]), Questions(trace.scenario["answers"])
    calls = [] if starts_empty(trace) else list(_placed(answers))
    if "share rows" in answers:
        return [*calls, *_output_of_one(answers)]
    for step, world in zip(trace.steps, trace.scenario["world"], strict=True):
        for arrived in world["arrived"]:
            calls.append(["add", *arrived, len(calls)])
        calls.append(["schedule", _step_answers(step, questions, world)])
        if world["returned"]:
            drafts = dict.fromkeys(world["returned"], 0) if trace.mode == SYNC else {}
            samples = {name: [number, 0] for name, number in world["returned"].items() if number}
            calls.append(["book", samples, drafts | world["proposed"]])
    return calls


class Questions:
    """The answers in the order they were asked for: ``question``, ``question #2``, ..."""

    def __init__(self, answers: dict[str, int]) -> None:
        self.answers, self.asked = answers, dict[str, int]()

    def next(self, question: str, default: int) -> int:
        """The next answer."""
        self.asked[question] = count = self.asked.get(question, 0) + 1
        return self.answers.get(question if count == 1 else f"{question} #{count}", default)


def _step_answers(step: TraceStep, questions: Questions, world: dict[str, Any]) -> dict[str, Any]:
    answers: dict[str, dict[str, Any]] = {name: {"loaded": True} for name in world["loaded"]}
    for line in step.requests:
        name, told = line.request_id, answers.setdefault(line.request_id, {})
        hit = world["hits"].get(name, 0)
        told["hit"] = hit
        told["match"] = [hit, *world["matches"].get(name, (0, False))]
        told["slots"] = _pool(questions, name)
    return answers


def _pool(questions: Questions, name: str) -> list[bool]:
    """Whether the pool serves each time it is asked; all that was answered, a step at a time.

    A refused request is asked for again in the same step only after somebody was preempted: every
    refusal is followed by the next answer.
    """
    granted = []
    while True:
        answer = bool(questions.next(f"KV blocks for {name}", 1))
        granted.append(answer)
        if answer:
            return granted


def _placed(answers: dict[str, int]) -> Iterator[Call]:
    """The state a trace starts in, request by request."""
    names = dict.fromkeys(q.split()[0] for q in answers if q.endswith(" num_computed_tokens"))
    for name in names:
        running = f"{name} num_output_placeholders" in answers
        if not running and "share rows" not in answers:
            raise NotExpressed(f"{name} waits in a state that no call builds")
        told = {field: answers.get(f"{name} {field}", 0) for field in PLACED}
        yield ["place", name, told | {"is_running": int(running)}]


def _output_of_one(answers: dict[str, int]) -> Iterator[Call]:
    """A step of request R that was in flight comes back."""
    samples = bool(answers.get("share samples", 0))
    yield ["fly", "R", answers["share rows"], answers.get("share drafts", 0), samples]
    generated = answers.get("num_generated_tokens", 0)
    stop = int(any(q.startswith("stop token") and a for q, a in answers.items()))
    yield [
        "book",
        {"R": [generated, generated if stop else 0]} if generated else {},
        {"R": answers.get("num_proposed_drafts", 0)},
    ]
