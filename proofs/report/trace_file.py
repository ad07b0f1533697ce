"""Saving a trace and reading it back: versioned, bounded, and checked field by field."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, NoReturn

from proofs.documents import is_version, read_bounded
from proofs.errors import UsageError
from proofs.report.files import write_whole
from proofs.trace import RequestLine, Trace, TraceStep, Violation
from spec.claims import RELATIONS

FORMAT = "schedproof-trace"
SCHEMA = 1
LARGEST = 16 * 2**20
"""Bytes of the longest file that is read."""
WIDEST = 2**53
"""Largest number in a trace; beyond it JSON readers disagree."""


class Damaged(ValueError):
    """The data is no trace; the message names the field."""


def dumps(trace: Trace) -> str:
    """The trace as one JSON document, one trailing newline."""
    whole = {"format": FORMAT, "schema": SCHEMA, "trace": trace.to_json()}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def save(trace: Trace, path: Path) -> None:
    """Write a trace file, whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    write_whole(path, dumps(trace))


def load(path: Path) -> Trace:
    """Read a trace file.

    Raises:
        UsageError: it cannot be read, is too long, or holds no trace of this version.
    """
    return loads(_bounded(path), str(path))


def loads(text: str, name: str) -> Trace:
    """Read a trace from text.

    Raises:
        UsageError: no trace of this version.
    """
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise UsageError(f"{name} is not a trace file: nested too deep") from None
    except ValueError as error:
        raise UsageError(
            f"{name} is not a trace file, or a truncated one: {error}; "
            "save it again with check --save-traces"
        ) from None
    if not isinstance(data, dict):
        raise UsageError(f"{name} is not a trace file: no JSON object in it")
    if data.get("format") != FORMAT:
        hint = (
            "it is a result of check; save traces with check --save-traces DIR"
            if "obligations" in data
            else f'it does not say "format": "{FORMAT}"'
        )
        raise UsageError(f"{name} is not a trace file: {hint}")
    if not is_version(data.get("schema"), SCHEMA):
        raise UsageError(
            f"{name} is a trace of schema {str(data.get('schema'))[:20]}; this program reads "
            f"{SCHEMA}: use the version of schedproof that wrote it, or save it again"
        )
    try:
        return trace_from_json(data.get("trace"))
    except Damaged as damage:
        raise UsageError(f"{name} is a damaged trace file: {damage}") from None


def trace_from_json(data: Any) -> Trace:
    """The inverse of ``Trace.to_json``.

    Raises:
        Damaged: a field is missing, unknown, or of another type.
    """
    trace = Trace(
        **_record(
            Trace,
            data,
            "trace",
            steps=lambda value, at: tuple(_step(v, f"{at}[{i}]") for i, v in _list(value, at)),
            config=_object,
            source=lambda value, at: None if value is None else _place(value, at),
            branches=lambda value, at: tuple(_branch(v, f"{at}[{i}]") for i, v in _list(value, at)),
            scenario=lambda value, at: None if value is None else _object(value, at),
            notes=_words,
            excerpts=lambda value, at: tuple(
                _excerpt(v, f"{at}[{i}]") for i, v in _list(value, at)
            ),
        )
    )
    for name, value in trace.config.items():
        if not isinstance(value, bool):
            _number(value, f"trace.config.{name}")
    broken = sum(step.violated is not None for step in trace.steps)
    if broken != 1:
        raise Damaged(f"exactly one step breaks the promise, not {broken}")
    return trace


def printable(trace: Trace) -> Trace:
    """The trace with every string on one line and free of control characters.

    What a source or a file calls itself must not move a cursor or begin a line of its own.
    """
    plain: Trace = trace_from_json(_printable(json.loads(json.dumps(trace.to_json()))))
    return plain


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return "".join(c if c.isprintable() else "\ufffd" for c in value.expandtabs(4))
    if isinstance(value, list):
        return [_printable(item) for item in value]
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    return value


def _bounded(path: Path) -> str:
    try:
        return read_bounded(path, LARGEST, "a trace file").decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a trace file: not UTF-8 text") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


Read = Callable[[Any, str], Any]


def _record(kind: type, data: Any, at: str, **read: Read) -> dict[str, Any]:
    """The fields of a record; those without a reader are read by their annotation."""
    given = _object(data, at)
    known = {field.name: field for field in fields(kind)}
    unknown = sorted(given.keys() - known.keys())
    if unknown:
        raise Damaged(f"{at} has an unknown field {unknown[0][:40]!r}")
    values = {}
    for name, field in known.items():
        if name in given:
            reader = read.get(name) or PLAIN[str(field.type)]
            values[name] = reader(given[name], f"{at}.{name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise Damaged(f"{at}.{name} is missing")
    return values


def _step(data: Any, at: str) -> TraceStep:
    def line(value: Any, at: str) -> RequestLine:
        return RequestLine(**_record(RequestLine, value, at))

    return TraceStep(
        **_record(
            TraceStep,
            data,
            at,
            requests=lambda value, at: tuple(line(v, f"{at}[{i}]") for i, v in _list(value, at)),
            events=_words,
            booked=_words,
            violated=lambda value, at: None if value is None else _violation(value, at),
        )
    )


def _violation(data: Any, at: str) -> Violation:
    violation = Violation(**_record(Violation, data, at, terms=_object, left_names=_words))
    for name, value in violation.terms.items():
        _number(value, f"{at}.terms.{name}")
    if violation.relation not in RELATIONS:
        raise Damaged(f"{at}.relation is not one of {' '.join(RELATIONS)}")
    return violation


def _object(value: Any, at: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Damaged(f"{at} is not an object")
    return value


def _list(value: Any, at: str) -> enumerate[Any]:
    if not isinstance(value, list):
        raise Damaged(f"{at} is not a list")
    return enumerate(value)


def _number(value: Any, at: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Damaged(f"{at} is not a whole number")
    if abs(value) > WIDEST:
        raise Damaged(f"{at} is out of range")
    return value


def _word(value: Any, at: str) -> str:
    if not isinstance(value, str):
        raise Damaged(f"{at} is not text")
    return value


def _truth(value: Any, at: str) -> bool:
    if not isinstance(value, bool):
        raise Damaged(f"{at} is not true or false")
    return value


def _words(value: Any, at: str) -> tuple[str, ...]:
    return tuple(_word(v, f"{at}[{i}]") for i, v in _list(value, at))


def _place(value: Any, at: str) -> dict[str, Any]:
    place = _object(value, at)
    _word(place.get("file"), f"{at}.file")
    _number(place.get("line"), f"{at}.line")
    return place


def _branch(value: Any, at: str) -> dict[str, Any]:
    branch = _place(value, at)
    _truth(branch.get("taken"), f"{at}.taken")
    return branch


def _excerpt(value: Any, at: str) -> dict[str, Any]:
    excerpt = _object(value, at)
    _word(excerpt.get("file"), f"{at}.file")
    _number(excerpt.get("first"), f"{at}.first")
    _words(excerpt.get("lines"), f"{at}.lines")
    return excerpt


PLAIN: dict[str, Read] = {"str": _word, "int": _number, "bool": _truth}
