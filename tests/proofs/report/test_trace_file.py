"""Saved traces: what was written is read back; what is no trace is refused in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_samples import HOSTILE, saved, sourced

from proofs.cli import main
from proofs.errors import UsageError
from proofs.report import trace_file
from proofs.trace import Trace


@pytest.mark.parametrize("trace", [saved("53962"), saved("54028"), sourced(), sourced(HOSTILE)])
def test_a_saved_trace_is_read_back_as_it_was(trace: Trace, tmp_path: Path) -> None:
    file = tmp_path / "a.trace.json"
    trace_file.save(trace, file)
    assert trace_file.load(file) == trace


def _damage(data: dict[str, Any], path: str, value: Any) -> str:
    *way, last = path.split(".")
    at: Any = data
    for key in way:
        at = at[int(key)] if key.isdigit() else at[key]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("schema", 2, "schema 2; this program reads 1"),
        ("schema", ..., "schema None"),
        ("schema", True, "schema True"),
        ("schema", 1.0, "schema 1.0"),
        ("format", "other", "does not say"),
        ("trace", None, "trace is not an object"),
        ("trace.steps", {}, "trace.steps is not a list"),
        ("trace.steps", [], "exactly one step breaks the promise, not 0"),
        ("trace.config.max_model_len", "3", "max_model_len is not a whole number"),
        ("trace.config.max_model_len", 10**400, "max_model_len is out of range"),
        ("trace.policy", ..., "trace.policy is missing"),
        ("trace.surprise", 1, "unknown field 'surprise'"),
        ("trace.steps.0.requests.0.num_tokens", True, "num_tokens is not a whole number"),
        ("trace.steps.0.requests.0.is_padded", 0, "is_padded is not true or false"),
        ("trace.steps.0.events", ["a", 1], "events[1] is not text"),
        ("trace.steps.2.violated.relation", "=<", "relation is not one of"),
        ("trace.steps.2.violated.terms", {"n": 1.5}, "terms.n is not a whole number"),
        ("trace.source", {"file": "a.py"}, "trace.source.line is not a whole number"),
        ("trace.branches", [{"file": "a.py", "line": 1}], "taken is not true or false"),
    ],
)
def test_a_damaged_trace_names_the_field(path: str, value: Any, told: str) -> None:
    text = _damage(json.loads(trace_file.dumps(saved("53962"))), path, value)
    with pytest.raises(UsageError) as refused:
        trace_file.loads(text, "a.json")
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def _truncated(folder: Path) -> Path:
    file = folder / "half.json"
    file.write_text(trace_file.dumps(saved("53962"))[:700], encoding="utf-8")
    return file


def _gigabyte(folder: Path) -> Path:
    file = folder / "huge.json"
    with file.open("wb") as hole:
        hole.truncate(2**30)
    return file


def _written(text: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        file = folder / "a.json"
        file.write_bytes(text)
        return file

    return write


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (_truncated, "or a truncated one"),
        (_gigabyte, "longer than 16 MB"),
        (_written(b""), "not a trace file"),
        (_written(b"\xff\xfe"), "not UTF-8 text"),
        (_written(b"[" * 100_000), "nested too deep"),
        (_written(b'{"format": NaN}'), "NaN is not a number"),
        (_written(b"[1]"), "no JSON object"),
        (_written(b'{"schema": 1, "obligations": []}'), "check --save-traces DIR"),
        (
            _written(b'{"format": "schedproof-trace", "schema": ' + b"9" * 5000 + b"}"),
            "not a trace",
        ),
        (lambda folder: folder, "cannot read"),
        (lambda folder: folder / "none.json", "cannot read"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    make: Callable[[Path], Path], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.html"
    given = ["trace", "show", str(make(tmp_path)), "--format", "html", "--output", str(output)]
    assert main(given) == 2
    captured = capsys.readouterr()
    assert told in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not output.exists()
