"""A trace in the Informal Trace Format that Apalache, Quint and their editor extension read.

The format is Apalache's ADR-015: an object of ``#meta``, ``params``, ``vars`` and ``states``.
Every state is one step of all ranks; a variable maps (rank, request) to the request's counter as
the step found it, or to what it decided.  ``#meta.varTypes`` lets Apalache read the file back.
"""

from __future__ import annotations

import json
from typing import Any

from proofs.report.trace_view import command, moments, promised, statement
from proofs.trace import RequestLine, Trace, TraceStep

FORMAT = "https://apalache-mc.org/docs/adr/015adr-trace.html"
COUNTERS = {
    "num_tokens": "num_tokens",
    "num_computed_tokens": "num_computed_tokens",
    "num_output_placeholders": "num_output_placeholders",
    "len_spec_token_ids": "num_spec_tokens",
    "num_scheduled_tokens": "num_scheduled_tokens",
    "num_draft_tokens": "num_draft_tokens",
}
"""Variable → field of a request's line; the knob K is called ``num_spec_tokens`` already."""
FLAG = "is_padded"
WORD = "outcome"
BY_REQUEST = "<<Int, Str>> -> {}"


def document(trace: Trace) -> dict[str, Any]:
    """The trace as plain data of the format."""
    params = sorted(trace.config)
    types = {name: BY_REQUEST.format("Int") for name in COUNTERS}
    types |= {FLAG: BY_REQUEST.format("Bool"), WORD: BY_REQUEST.format("Str")}
    types |= {"step": "Int", "violated": "Bool"}
    types |= {name: "Bool" if isinstance(trace.config[name], bool) else "Int" for name in params}
    states = [_state(number, steps) for number, steps in moments(trace)]
    states[0] |= {name: _value(trace.config[name]) for name in params}
    violation = trace.violation
    return {
        "#meta": {
            "format": "ITF",
            "format-description": FORMAT,
            "source": trace.policy if trace.source is None else str(trace.source["file"]),
            "description": f"{trace.invariant}: {statement(trace.invariant)}",
            "status": "violation",
            "varTypes": types,
            "promised": promised(violation),
            "broken": violation.sentence,
            "command": command(trace),
        },
        "params": params,
        "vars": ["step", *COUNTERS, FLAG, WORD, "violated"],
        "states": states,
    }


def render(trace: Trace) -> str:
    """The document as text, one trailing newline."""
    return json.dumps(document(trace), indent=1, ensure_ascii=False) + "\n"


def _state(number: int, steps: list[TraceStep]) -> dict[str, Any]:
    lines = [(step.rank, line) for step in steps for line in step.requests]
    said = [f"rank {step.rank}: {step.decision}" for step in steps]
    named = COUNTERS | {FLAG: FLAG, WORD: WORD}
    maps = {variable: _map(lines, field) for variable, field in named.items()}
    return {
        "#meta": {"index": number, "decision": "; ".join(said)},
        "step": _value(number),
        **maps,
        "violated": any(step.violated is not None for step in steps),
    }


def _map(lines: list[tuple[int, RequestLine]], field: str) -> dict[str, Any]:
    return {
        "#map": [
            [{"#tup": [_value(rank), line.request_id]}, _value(getattr(line, field))]
            for rank, line in lines
        ]
    }


def _value(value: Any) -> Any:
    if isinstance(value, bool | str):
        return value
    return {"#bigint": str(int(value))}
