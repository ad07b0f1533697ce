"""Replaying what ``check --vllm`` found in a release's text on the released scheduler object.

A trace of the source front end is a list of answers.  An execution *from add_request* becomes the
same calls on the object; one that starts in a state its own search did not reach is built on the
object first, counter by counter.  *Confirmed* means: the object gives the same rows and drafts in
every step and, where the broken promise names counters, ends with the same ones; or it raises at
the same line of the same file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from proofs.conform.engine import EngineProcess
from proofs.conform.findings import Finding
from proofs.conform.lockstep import Call, Seen
from proofs.trace import Trace, TraceStep
from proofs.verdict import SYNC
from spec.config import Config

# The sentences of ``proofs.source.life``, ``telling`` and ``scenarios``.
ARRIVAL = re.compile(
    r"(\w+) arrives: (\d+) prompt tokens?, max_tokens (\d+)(?:, priority (-?\d+))?"
)
HIT = re.compile(r"(\d+) tokens? of (\w+) in the prefix cache")
MATCH = re.compile(r"(\d+) tokens? of (\w+) at the KV connector, (loading|already).*")
LOADED = re.compile(r"KV of (\w+) has arrived")
RETURNED = re.compile(r"output of (\w+) booked: (\d+) tokens?, \d+ in all")
PROPOSED = re.compile(r"(\d+) drafts? proposed for (\w+)")
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
AMPLE = 8192
"""KV blocks nobody uses up."""
COUNTERS = ("num_computed_tokens", "num_output_placeholders")


class NotExpressed(Exception):
    """The trace cannot be told to a scheduler object; the message says why."""


def confirm_source(engine: EngineProcess, trace: Trace) -> Finding:
    """One counterexample of the source front end, on the released object.

    Raises:
        EngineDied: the engine's child ended.
    """
    sentence = trace.violation.sentence

    def told(confirmed: bool, why: str) -> Finding:
        return Finding(trace.invariant, trace.mode, sentence, confirmed, why)

    try:
        calls = calls_of(trace)
    except NotExpressed as reason:
        return told(False, str(reason))
    # The pool's answers are part of the trace: the object's own pool must not add any.
    seen = engine.play(_knobs(trace), calls)
    unlike = difference(trace, calls, seen)
    if unlike:
        return told(False, unlike)
    begins = "" if _from_empty(trace) else ", from the state the trace starts in"
    where = str(seen[-1].get("where", "")) if seen else ""
    return told(True, (where or "same rows, drafts and counters") + begins)


def _knobs(trace: Trace) -> dict[str, Any]:
    """The trace's knobs; one it leaves open (the source was checked for all of its values) as the
    engine has it by default, and a pool that refuses nothing but what the trace refuses."""
    return asdict(Config()) | trace.config | {"num_gpu_blocks": AMPLE}


def calls_of(trace: Trace) -> list[Call]:
    """The calls that repeat a trace.

    Raises:
        NotExpressed: it starts where no call leads.
    """
    if trace.scenario is None:
        raise NotExpressed("the trace has no answers in it")
    answers, questions = dict(trace.scenario["answers"]), Questions(trace.scenario["answers"])
    calls = [] if _from_empty(trace) else list(_placed(answers))
    if "share rows" in answers:
        return [*calls, *_output_of_one(answers)]
    for step in trace.steps:
        loaded = {m[1] for event in step.events if (m := LOADED.fullmatch(event))}
        for event in step.events:
            if match := ARRIVAL.fullmatch(event):
                name, prompt, most, priority = match.groups()
                calls.append(["add", name, int(prompt), int(most), int(priority or 0), len(calls)])
        calls.append(["schedule", _step_answers(step, questions, loaded)])
        if step.booked:
            samples = {m[1]: [int(m[2]), 0] for b in step.booked if (m := RETURNED.fullmatch(b))}
            drafts = dict.fromkeys(samples, 0) if trace.mode == SYNC else {}
            drafts |= {m[2]: int(m[1]) for b in step.booked if (m := PROPOSED.fullmatch(b))}
            calls.append(["book", {n: s for n, s in samples.items() if s[0]}, drafts])
    return calls


def difference(trace: Trace, calls: list[Call], seen: list[Seen]) -> str:
    """How the object's behaviour differs from the trace; empty if it does not."""
    steps = [answer for call, answer in zip(calls, seen, strict=False) if call[0] == "schedule"]
    raises = trace.invariant == "no-reachable-assert"
    for step, answer in zip(trace.steps, steps, strict=False):
        if "raised" in answer:
            break
        rows = dict(answer["rows"])
        drafts = {name: n for name, n in answer["drafts"].items() if n}
        given = [line for line in step.requests if line.outcome == "scheduled"]
        wanted = {line.request_id: line.num_scheduled_tokens for line in given}
        attached = {
            line.request_id: line.num_draft_tokens for line in given if line.num_draft_tokens
        }
        if (rows, drafts) != (wanted, attached):
            return f"step {step.step}: trace {wanted} {attached}, engine {rows} {drafts}"
    last = seen[-1] if seen else {}
    if raises or "raised" in last:
        return _raised_unlike(trace, last)
    if len(steps) < len(trace.steps):
        return "the engine made fewer steps"
    state = last["requests"].get(trace.violation.request, {})
    for name in COUNTERS:
        if name in trace.violation.terms and trace.violation.id == "placeholder-accounting":
            mine, theirs = trace.violation.terms[name], state.get(name)
            if mine != theirs:
                return f"{trace.violation.request}.{name}: trace {mine}, engine {theirs}"
    return ""


class Questions:
    """The answers in the order they were asked for: ``question``, ``question #2``, ..."""

    def __init__(self, answers: dict[str, int]) -> None:
        self.answers, self.asked = answers, dict[str, int]()

    def next(self, question: str, default: int) -> int:
        """The next answer."""
        self.asked[question] = count = self.asked.get(question, 0) + 1
        return self.answers.get(question if count == 1 else f"{question} #{count}", default)


def _step_answers(step: TraceStep, questions: Questions, loaded: set[str]) -> dict[str, Any]:
    answers: dict[str, dict[str, Any]] = {}
    for name in loaded:
        answers.setdefault(name, {})["loaded"] = True
    hits = {m[2]: int(m[1]) for event in step.events if (m := HIT.fullmatch(event))}
    matches = {m[2]: m for event in step.events if (m := MATCH.fullmatch(event))}
    for line in step.requests:
        name, told = line.request_id, answers.setdefault(line.request_id, {})
        hit = hits.get(name, 0)
        match = matches.get(name)
        told["hit"] = hit
        told["match"] = [hit, int(match[1]), match[3] == "loading"] if match else [hit, 0, False]
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
    yield ["fly", "R", answers["share rows"], answers.get("share drafts", 0)]
    generated = answers.get("num_generated_tokens", 0)
    stop = int(any(q.startswith("stop token") and a for q, a in answers.items()))
    yield [
        "book",
        {"R": [generated, generated if stop else 0]} if generated else {},
        {"R": answers.get("num_proposed_drafts", 0)},
    ]


def _raised_unlike(trace: Trace, last: Seen) -> str:
    if "raised" not in last:
        return f"trace {trace.violation.sentence}; the engine does not raise"
    if trace.invariant != "no-reachable-assert":
        return f"the engine raises {last['raised']} at {last.get('where', '')}"
    place = f"{trace.source['file']}:{trace.source['line']}" if trace.source else ""
    where = str(last.get("where", ""))
    # The object may be below the method the trace names: the innermost line decides.
    if not where.startswith(place.rpartition("/")[2] + " "):
        return f"trace raises at {place}, the engine at {where}"
    return ""


def _from_empty(trace: Trace) -> bool:
    return trace.scenario is not None and str(trace.scenario["scenario"]).startswith("from add")
