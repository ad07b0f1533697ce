"""Replaying what ``check --vllm`` found in a release's text on the released scheduler object.

*Confirmed* means: the object, asked the same, looks at every request of the trace with the same
counters, gives it the same rows and drafts, and breaks the same promise about the same request in
the same step on the same numbers, judged by what the object itself was seen to do; or it raises at
the same line of the same file, about the same request, on the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from proofs.conform.engine import EngineProcess
from proofs.conform.findings import Finding
from proofs.conform.lockstep import Seen
from proofs.conform.observed import Observed, Step
from proofs.conform.retold import NotExpressed, calls_of, starts_empty
from proofs.replay import RAISED
from proofs.source.proving.raised import FLIPPED, compared
from proofs.trace import RequestLine, Trace, Violation
from spec.config import KNOBS, Config

AMPLE = 8192
"""KV blocks nobody uses up."""
SEEN = {
    "num_tokens": "N",
    "num_computed_tokens": "C",
    "num_output_placeholders": "H",
    "num_spec_tokens": "S",
    "num_scheduled_tokens": "rows",
    "num_draft_tokens": "drafts",
}
"""What is compared of a request in a step."""
ASSERT = "no-reachable-assert"
FREE = {knob.name for knob in KNOBS} - {"block_size"}
"""Knobs a search chooses; the size of a block and the flags name what is searched."""
NOT_A_KNOB = "exempt_only_request"
"""A rule of the text, not something that is set."""


def confirm_source(engine: EngineProcess, trace: Trace) -> Finding:
    """One counterexample of the source front end, on the released object.

    Raises:
        EngineDied: the engine's child ended.
    """

    def told(confirmed: bool, why: str) -> Finding:
        return Finding(trace.invariant, trace.mode, trace.violation.sentence, confirmed, why)

    try:
        calls = calls_of(trace)
    except NotExpressed as reason:
        return told(False, str(reason))
    observed = Observed.of(calls, engine.play(_knobs(trace), calls, watched=True))
    unlike = next(differences(trace, observed), "")
    if unlike:
        return told(False, unlike)
    begins = "" if starts_empty(trace) else ", from the state the trace starts in"
    return told(True, str(observed.raised.get("where", trace.violation.sentence)) + begins)


def _knobs(trace: Trace) -> dict[str, Any]:
    """The trace's knobs; one it leaves open (the source was checked for all of its values) as the
    engine has it by default, and a pool that refuses nothing but what the trace refuses."""
    return asdict(Config()) | trace.config | {"num_gpu_blocks": AMPLE}


def differences(trace: Trace, observed: Observed) -> Iterator[str]:
    """Everything that keeps a trace from being confirmed."""
    broken, where = trace.violation, [step.violated is not None for step in trace.steps].index(True)
    if broken.id != trace.invariant:
        yield f"a trace of {trace.invariant} that breaks {broken.id}"
    answers = trace.scenario["answers"] if trace.scenario else {}
    for name, value in trace.config.items():
        if name in FREE and answers.get(name, value) != value:
            yield f"{name}: the trace says {value}, and was found for {answers[name]}"
        if name != NOT_A_KNOB and observed.config.get(name) != value:
            yield f"{name}: trace {value}, engine {observed.config.get(name)}"
    for step, saw in zip(trace.steps, observed.steps, strict=False):
        yield from _unlike_step(f"step {step.step}", step.requests, saw)
    if len(observed.steps) < len(trace.steps):
        yield f"the engine made {len(observed.steps)} steps, not {len(trace.steps)}"
    elif trace.invariant == ASSERT:
        if where != len(observed.steps) - 1:
            yield "trace raises before its last step, the engine in it"
        yield from _unlike_exception(trace, observed)
    elif observed.raised:
        yield f"the engine raises {observed.raised['raised']} at {observed.raised['where']}"
    else:
        yield from _unlike_promise(broken, observed.steps[where])


def _unlike_step(at: str, given: tuple[RequestLine, ...], saw: Step) -> Iterator[str]:
    for line in given:
        mine = saw.line(line.request_id)
        if mine is None:
            yield f"{at}: the engine has no request {line.request_id}"
            continue
        if line.outcome == RAISED:  # a trace tells of no rows then
            mine = replace(mine, num_scheduled_tokens=0, num_draft_tokens=0)
        for name, symbol in SEEN.items():
            trace, engine = getattr(line, name), getattr(mine, name)
            if trace != engine:
                yield f"{at}: {symbol} of {line.request_id}: trace {trace}, engine {engine}"
    for name in saw.rows.keys() - {line.request_id for line in given}:
        yield f"{at}: the engine gives rows to {name}, which the trace does not tell of"


def _unlike_promise(broken: Violation, saw: Step) -> Iterator[str]:
    """Whether the object breaks the promise there, about that request, on those numbers."""
    found = saw.broken(broken.id)
    if broken in found:
        return
    alike = [other.sentence for other in found if other.request == broken.request]
    if alike:
        yield f"broken on other numbers: trace {broken.sentence}, engine {alike[0]}"
    elif any(request == broken.request for request, _ in saw.claims(broken.id)):
        yield f"the engine keeps the promise: trace {broken.sentence}"
    else:
        about = f" about {broken.request}" if broken.request else ""
        yield f"what the engine shows does not say whether {broken.id} holds{about}"


def _unlike_exception(trace: Trace, observed: Observed) -> Iterator[str]:
    last, broken = observed.raised, trace.violation
    if not last:
        yield f"trace {broken.sentence}; the engine does not raise"
        return
    place = f"{trace.source['file']}:{trace.source['line']}" if trace.source else ""
    where = str(last["where"])
    # The object may be below the method the trace names: the innermost line decides.
    if not place or not where.startswith(place.rpartition("/")[2] + " "):
        yield f"trace raises at {place or 'no line'}, the engine at {where}"
    if broken.request and broken.request != last["about"]:
        yield f"trace raises about {broken.request}, the engine about {last['about'] or 'nobody'}"
    what = f"{last['raised']} in "
    if broken.left_names == ("exceptions",):
        if not broken.sentence.startswith(what):
            yield f"trace {broken.sentence}, engine {what}{where}"
    elif not any(_is_alike(broken, other) for other in _failures(last, what, broken.request)):
        told = ", ".join(
            f"{name} = {value}" for sides in last["compared"] for name, value in sides[::2]
        )
        yield f"trace {broken.sentence}, engine {told or 'shows no numbers'}"


def _failures(last: Seen, what: str, request: str) -> Iterator[Violation]:
    """How a front end tells of the comparisons in the assertion, each the one that failed."""
    for left, relation, right in last["compared"]:
        for promised in filter(None, (relation, FLIPPED.get(relation))):
            yield compared(tuple(left), promised, tuple(right), what, request)


def _is_alike(broken: Violation, other: Violation) -> bool:
    """The same but for the name of the method in the sentence."""
    return broken.sentence.startswith(other.sentence) and broken == replace(
        other, sentence=broken.sentence
    )
