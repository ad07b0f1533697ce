"""What every rendering of a trace says, worked out once; the renderings only lay it out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from model.policies import POLICIES
from proofs.known import BROKEN, expected
from proofs.trace import RequestLine, Trace, TraceStep, Violation
from proofs.verdict import VIOLATED
from spec.config import FLAGS, KNOBS
from spec.invariants import CATALOGUE
from spec.records import SCHEDULED
from spec.waivers import WAIVERS

COLUMNS = ("request", "N", "C", "H", "S", "rows n", "drafts", "outcome")
LEGEND = (
    "Before each step a request has N tokens (prompt and output), of which C are computed (counted "
    "when scheduled, rejected drafts taken back later), H rows in flight that will sample, and S "
    "drafts waiting; the step gives it n rows, some of them for drafts"
)
NO_ASSERT = "no-reachable-assert"
PADDED = " (padded)"
KEEP = "\u00a0"
"""A space that no line is broken at."""
RAISED = "raised"
"""The outcome of a request the scheduler died on."""
PULL = "https://github.com/vllm-project/vllm/pull/"


def statement(invariant: str) -> str:
    """What the invariant promises."""
    return next((entry.statement for entry in CATALOGUE if entry.id == invariant), invariant)


def why(invariant: str) -> str:
    """Why it is promised; empty for an id the catalogue does not have."""
    return next((entry.why for entry in CATALOGUE if entry.id == invariant), "")


def sources(invariant: str) -> tuple[str, ...]:
    """The pull requests and files the promise comes from."""
    return next((entry.sources for entry in CATALOGUE if entry.id == invariant), ())


def link(source: str) -> str:
    """The address of ``#53962``; empty for a source that is not a pull request."""
    number = source.removeprefix("#")
    return f"{PULL}{number}" if source.startswith("#") and number.isdigit() else ""


def subject(trace: Trace) -> str:
    """What the policy field names: a policy of the model, or the scenario a source ran."""
    return "policy" if trace.policy in POLICIES else "scenario"


def policy_line(trace: Trace) -> str:
    """The policy with its title and where it was merged."""
    known = POLICIES.get(trace.policy)
    if known is None:
        return trace.policy
    number = f"#{known.name} " if known.name.isdigit() else ""
    return f"{number}{known.title} ({known.status})"


def policy_label(name: str) -> str:
    """``#53962``; the policy that never pads is called by what it does."""
    return f"#{name}" if name.isdigit() else "no padding" if name == "none" else name


def knobs(trace: Trace) -> list[tuple[str, str, int]]:
    """The knobs the trace sets: symbol, name, value."""
    known = trace.config
    return [(k.symbol, k.name, int(known[k.name])) for k in KNOBS if k.name in known]


def flags_on(trace: Trace) -> list[str]:
    """The flags that are on, apart from the one that ``trace.mode`` tells."""
    return [name for name in FLAGS if trace.config.get(name) and name != "async_scheduling"]


def config_line(trace: Trace) -> str:
    """The knobs by name and symbol, then the flags that are on."""
    numbers = [f"{name}{KEEP}{symbol}={value}" for symbol, name, value in knobs(trace)]
    return ", ".join([*numbers, *(f"{flag}{KEEP}on" for flag in flags_on(trace))])


def broken_where(trace: Trace) -> str:
    """``step 2, rank 0, request B``."""
    step, violation = broken_step(trace), trace.violation
    about = f", request {violation.request}" if violation.request else ""
    return f"step {step.step}, rank {step.rank}{about}"


def adds(step: TraceStep) -> bool:
    """Whether the decision in words says more than the table of requests does."""
    tabled = tuple(line.request_id for line in step.requests)
    said = step.decision.split("; ")
    return not all(part.startswith(tabled) for part in said) if tabled else True


@dataclass(frozen=True, slots=True)
class Sides:
    """The broken inequality taken apart."""

    left: tuple[tuple[str, int], ...]
    relation: str
    right: tuple[tuple[str, int], ...]


def sides(violation: Violation) -> Sides:
    """Named summands left and right of the relation that was promised."""
    terms = violation.terms.items()
    left = tuple((name, value) for name, value in terms if name in violation.left_names)
    right = tuple((name, value) for name, value in terms if name not in violation.left_names)
    return Sides(left, violation.relation, right or ((str(violation.right), violation.right),))


def promised(violation: Violation) -> str:
    """The promise in names: ``num_computed_tokens + ... <= max_model_len``."""
    both = sides(violation)
    left, right = (" + ".join(name for name, _ in side) for side in (both.left, both.right))
    return (
        f"{left} {both.relation} {right}" if left else f"{violation.left} {both.relation} {right}"
    )


def cells(line: RequestLine) -> tuple[str, ...]:
    """One request in one step, under ``COLUMNS``."""
    numbers = (
        line.num_tokens,
        line.num_computed_tokens,
        line.num_output_placeholders,
        line.num_spec_tokens,
    )
    rows = f"{line.num_scheduled_tokens}{PADDED if line.is_padded else ''}"
    drafts = str(line.num_draft_tokens)
    if line.outcome == RAISED:
        rows, drafts = "-", "-"
    outcome = f"{line.outcome}: {line.reason}" if line.reason else line.outcome
    return (line.request_id, *map(str, numbers), rows, drafts, outcome)


def moments(trace: Trace) -> Iterator[tuple[int, list[TraceStep]]]:
    """The steps by number; data-parallel ranks move in lockstep."""
    together: dict[int, list[TraceStep]] = {}
    for step in trace.steps:
        together.setdefault(step.step, []).append(step)
    yield from sorted(together.items())


def broken_step(trace: Trace) -> TraceStep:
    """The step in which the promise breaks."""
    return next(step for step in trace.steps if step.violated is not None)


def row_count(trace: Trace) -> str:
    """Where the row count of the broken request comes from, in numbers; empty if it is not plain.

    A threshold below 1 + K is named wherever its number is the one that was refused; a formula, for
    policies of the model, only where it gives the count of the replay.
    """
    about = trace.violation.request
    threshold = int(trace.config.get("long_prefill_token_threshold", 0))
    padded = 1 + int(trace.config.get("num_spec_tokens", 0))
    if (
        trace.invariant == NO_ASSERT
        and trace.violation.left == threshold
        and 0 < threshold < padded
    ):
        return (
            f"long_prefill_token_threshold θ = {threshold} cuts the rows of {about} after they "
            f"were padded to 1 + K = {padded}"
        )
    line = next((r for r in broken_step(trace).requests if r.request_id == about), None)
    if line is None or line.outcome != SCHEDULED or trace.policy not in POLICIES:
        return ""
    if "num_scheduled_tokens" not in trace.violation.terms:  # broken by something else
        return ""
    n, c = line.num_scheduled_tokens, line.num_computed_tokens
    known = line.num_tokens, line.num_spec_tokens, line.num_output_placeholders
    longest = int(trace.config.get("max_model_len", 0))
    sampled = int(trace.config.get("num_sampled_tokens_per_step", 1))
    if line.is_padded or line.reason not in ("running", "admitted"):
        return ""
    if line.reason == "admitted" and n == line.num_tokens - c:
        return (
            f"n of {about} = N - C = {line.num_tokens} - {c} = {n}: all its rows, none for drafts"
        )
    if n == sum(known) - c:
        told = " + ".join(map(str, known))
        return f"n of {about} = N + S + H - C = {told} - {c} = {n}: all it can use"
    if n == longest - c - sampled:
        room = f"L - C - s = {longest} - {c} - {sampled} = {n}"
        return f"n of {about} = {room}: the room left up to max_model_len"
    return ""


def also_in(trace: Trace) -> list[tuple[str, str]]:
    """Policies known to break the same promise in the same mode: name, where it was merged.

    Read from the table of known bugs, every cell of which ``check`` proves or refutes anew.  None
    for an execution that is ruled out: the table is about those that are not; and none for an
    assertion of a source, which need not be the one the model makes.
    """
    about_another_assertion = trace.invariant == NO_ASSERT and trace.policy not in POLICIES
    if trace.without or about_another_assertion:
        return []
    return [
        (name, POLICIES[name].status)
        for name in BROKEN
        if name in POLICIES and expected(name, trace.invariant, trace.mode) == VIOLATED
    ]


def free_of(trace: Trace) -> list[tuple[str, str]]:
    """Policies known to keep the promise in this mode."""
    broken = {name for name, _ in also_in(trace)}
    return [(name, p.status) for name, p in POLICIES.items() if name not in broken]


def ruled_out(trace: Trace) -> str:
    """Why this execution is not counted as a violation; empty if it is one."""
    if any(waiver.id == trace.without for waiver in WAIVERS):
        return f"allowed by the waiver {trace.without}; shown as if it were not granted"
    if trace.without:
        return f"possible only where the assumption {trace.without} does not hold"
    return ""


def command(trace: Trace) -> str:
    """What to run to see it again."""
    if trace.without:
        return f"python -m proofs explain {shlex.quote(trace.without)}"
    if trace.target:
        what = trace.target
    elif trace.source is not None:
        what = f"--source {shlex.quote(str(trace.source['file']))}"
    else:
        what = f"--policy {shlex.quote(trace.policy)}"
    return f"python -m proofs check {what} --only {shlex.quote(trace.invariant)}"


def where(trace: Trace) -> str:
    """``file:line`` of the source behind the violation; empty for a policy of the model."""
    return "" if trace.source is None else f"{trace.source['file']}:{trace.source['line']}"


def branch_lines(trace: Trace) -> list[str]:
    """The branch decisions of the source that led there, in the order they were taken."""
    return [
        f"{b['file']}:{b['line']} {'taken' if b['taken'] else 'not taken'}" for b in trace.branches
    ]


def excerpt_line(trace: Trace, file: str, line: int) -> str:
    """One line of the embedded source text, stripped; empty if it is not in the trace."""
    for excerpt in trace.excerpts:
        index = line - int(excerpt["first"])
        if excerpt["file"] == file and 0 <= index < len(excerpt["lines"]):
            return str(excerpt["lines"][index]).strip()
    return ""
