"""A recording is data: whatever is wrong with it is one line that names the line, and status 2."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proofs.cli import main
from proofs.recorder.lines import STATE

Edit = Callable[[list[str]], list[str]]


def edited(name: str, **changes: Any) -> Edit:
    """Change fields of the first line of a kind."""

    def edit(lines: list[str]) -> list[str]:
        at = next(i for i, line in enumerate(lines) if f'"kind":"{name}"' in line)
        line = json.loads(lines[at]) | changes
        return [*lines[:at], json.dumps(line), *lines[at + 1 :]]

    return edit


CASES: dict[str, tuple[Edit, str]] = {
    "empty": (lambda lines: [], "is empty: not a recording"),
    "foreign": (lambda lines: ['{"obligations": []}'], "line 1: not a recording: it does not say"),
    "no JSON": (lambda lines: ["import os", *lines], "line 1: cannot be read as JSON"),
    "a list": (lambda lines: [lines[0], "[1]", *lines[2:]], "line 2: not a JSON object"),
    "newer": (edited("header", schema=2), "line 1: a recording of schema 2"),
    "true": (edited("header", schema=True), "line 1: a recording of schema True"),
    "rounded": (edited("header", schema=1.0), "line 1: a recording of schema 1.0"),
    "hole": (lambda lines: [*lines[:5], *lines[6:]], "line 6: a hole: record 6 follows record 4"),
    "twice": (lambda lines: [*lines[:5], *lines[4:]], "line 6: a hole: record 4 follows record 4"),
    "no end": (lambda lines: lines[:-1], "without its end record"),
    "after the end": (lambda lines: [*lines, lines[1]], "something follows the end"),
    "bad line": (lambda lines: [*lines[:7], "{", *lines[8:]], "line 8: cannot be read as JSON"),
    "knob": (
        edited("header", config={"max_model_len": 1}),
        "line 1: config: max_model_len = 1 is illegal",
    ),
    "code": (edited("header", engine="__import__('os').abort()"), "line 1: engine is no version"),
    "escape": (edited("header", scheduler="\x1b[2J"), "line 1: scheduler is not a word"),
    "not a number": (
        lambda lines: [lines[0], lines[1].replace('"n":1', '"n":NaN'), *lines[2:]],
        "line 2: cannot be read as JSON",
    ),
    "huge": (edited("schedule", rows=[[0, 10**30, 0]]), "rows is not a list of whole numbers"),
    "short row": (edited("schedule", rows=[[0, 1]]), "rows has a row of 2 numbers, not 3"),
    "no field": (edited("book", samples=None), "samples is not a list"),
    "unknown kind": (edited("add", kind="eval"), "of kind 'eval'"),
    "negative rank": (edited("header", rank=-5), "line 1: rank -5 is below zero"),
    "other mode": (
        edited("header", scheduler="AsyncScheduler"),
        "line 1: AsyncScheduler with async_scheduling False",
    ),
    "drafts twice": (edited("draft", drafts=[[0, 1], [0, 1]]), "drafts names request 0 twice"),
    "drafts of nobody": (edited("draft", drafts=[[99, 1]]), "request 99 has not arrived"),
    "rows twice": (edited("schedule", rows=[[0, 1, 0], [0, 1, 0]]), "rows names request 0 twice"),
    "too many blocks": (edited("book", taken=99), "99 blocks are taken, more than requests hold"),
    "unheard of": (edited("schedule", running=[99]), "request 99 has not arrived"),
    "unheard of rows": (edited("schedule", rows=[[99, 1, 0]]), "request 99 has not arrived"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_line_and_status_2(
    record: Any, tmp_path: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    edit, expected = CASES[case]
    lines = record(steps=10).read_text(encoding="utf-8").splitlines()
    path = tmp_path / "bad.jsonl"
    path.write_text("".join(f"{line}\n" for line in edit(lines)), encoding="utf-8")
    assert main(["trace", "check", str(path)]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert len(error.splitlines()) == 1


def test_a_line_cut_off_is_named(
    record: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = record(steps=10).read_text(encoding="utf-8")
    path = tmp_path / "cut.jsonl"
    path.write_text(text[: len(text) // 2], encoding="utf-8")
    number = text[: len(text) // 2].count("\n") + 1
    assert main(["trace", "check", str(path)]) == 2
    error = capsys.readouterr().err
    assert f"line {number}: cannot be read as JSON (the file is cut off here)" in error
    assert main(["trace", "check", "--partial", str(path)]) == 0


def test_no_file_and_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "check", str(tmp_path / "none.jsonl")]) == 2
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    assert main(["trace", "check", str(tmp_path / "bytes")]) == 2
    assert "cannot read" in (error := capsys.readouterr().err)
    assert "not UTF-8" in error


def test_a_clean_recording_and_a_broken_one(
    record: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = record(steps=200)
    assert main(["trace", "check", str(path)]) == 0
    assert capsys.readouterr().out.rstrip().endswith("RECORDING CLEAN")
    path.unlink()
    path = record(steps=200, version="0.29.0", exempt_only_request=False)
    assert main(["trace", "check", str(path)]) == 1
    assert "breaks uniform-decode for r" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"beyond": ["LoRA"]}, "in use, and not in the model: LoRA"),
        ({"engine": "0.99.0"}, "no model stands for vLLM 0.99.0"),
        ({"scheduler": "Fork"}, "Fork is not in the model"),
    ],
)
def test_what_the_model_leaves_out_is_said(
    record: Any,
    tmp_path: Path,
    changes: dict[str, Any],
    why: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = record(steps=20).read_text(encoding="utf-8").splitlines()
    path = tmp_path / "other.jsonl"
    path.write_text("\n".join(edited("header", **changes)(lines)) + "\n", encoding="utf-8")
    assert main(["trace", "check", str(path)]) == 3
    said = capsys.readouterr().out
    assert f"model: not compared: {why}" in said
    assert said.rstrip().endswith("RECORDING CLEAN, model not compared")


@pytest.mark.parametrize(
    ("counter", "value", "expected"),
    [
        ("num_output_tokens", -1, "num_output_tokens -1 is below zero"),
        ("num_spec_tokens", -1, "num_spec_tokens -1 is below zero"),
        ("num_in_flight_tokens", -1, "num_in_flight_tokens -1 is below zero"),
        ("num_stale_output_tokens", -1, "num_stale_output_tokens -1 is below zero"),
        ("num_preemptions", -1, "num_preemptions -1 is below zero"),
        ("is_prefill_chunk", 2, "is_prefill_chunk 2 is neither 0 nor 1"),
        ("kv_capacity", -1, "kv_capacity -1 is below zero"),
        ("kv_capacity", 5, "kv_capacity 5 is no whole number of blocks of 4"),
    ],
)
def test_a_counter_no_recorder_writes_is_bad_input(
    record: Any,
    tmp_path: Path,
    counter: str,
    value: int,
    expected: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = record(steps=10).read_text(encoding="utf-8").splitlines()
    at = next(i for i, line in enumerate(lines) if '"kind":"book"' in line)
    line = json.loads(lines[at])
    line["state"][0][STATE.index(counter)] = value
    path = tmp_path / "bad.jsonl"
    text = "\n".join([*lines[:at], json.dumps(line), *lines[at + 1 :]])
    path.write_text(text + "\n", encoding="utf-8")
    assert main(["trace", "check", str(path)]) == 2
    assert f"line {at + 1}: state of request {line['state'][0][0]}: {expected}" in (
        capsys.readouterr().err
    )


def test_a_counter_the_release_lacks_is_not_told(
    record: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = record(steps=10).read_text(encoding="utf-8").splitlines()
    path = tmp_path / "old.jsonl"
    path.write_text("\n".join(edited("header", engine="0.25.0")(lines)) + "\n", encoding="utf-8")
    assert main(["trace", "check", str(path)]) == 2
    assert "vLLM 0.25.0 has no num_in_flight_tokens" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("field", "invariant"),
    [
        (3, "placeholder-accounting"),
        (2, "progress"),
        (10, "block-accounting"),
    ],
)
def test_a_counter_changed_in_the_file_is_seen(
    record: Any,
    tmp_path: Path,
    field: int,
    invariant: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The promises are read off the recording itself, not off the model beside it."""
    lines = record(steps=60).read_text(encoding="utf-8").splitlines()
    kind = "schedule" if field == 10 else "book"
    read = [json.loads(text) for text in lines]
    at, state = next(
        (i, state)
        for i, line in enumerate(read)
        if line["kind"] == kind and i > 20
        for state in line["state"]
        if state[1] == 2 and state[2] > 0 and not state[8]
    )
    line = read[at]
    old = [s for told in read[:at] for s in told.get("state", ()) if s[0] == state[0]]
    state[field] = {3: state[3] + 1, 2: old[-1][2], 10: 0}[field]
    line.pop("taken", None)  # else the line contradicts itself
    path = tmp_path / "changed.jsonl"
    text = "\n".join([*lines[:at], json.dumps(line), *lines[at + 1 :]])
    path.write_text(text + "\n", encoding="utf-8")
    assert main(["trace", "check", str(path)]) == 1
    assert f"breaks {invariant} for r{state[0]}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "counter", [name for name in STATE if name not in ("request", "kv_capacity")]
)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_no_counter_of_a_live_request_can_be_changed(
    record: Any,
    tmp_path: Path,
    counter: str,
    asynchronous: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By its form, by a promise or by the model: one more or one less does not pass."""
    path = record(steps=60, async_scheduling=asynchronous)
    lines = path.read_text(encoding="utf-8").splitlines()
    live = [
        (at, index)
        for at, line in enumerate(map(json.loads, lines))
        for index, state in enumerate(line.get("state", ()))
        if line["kind"] in ("schedule", "book") and state[1] <= 3
    ]
    for at, index in live[:: len(live) // 5]:
        for more in (-1, 1):
            line = json.loads(lines[at])
            line["state"][index][STATE.index(counter)] += more
            text = "\n".join([*lines[:at], json.dumps(line), *lines[at + 1 :]])
            path.write_text(text + "\n", encoding="utf-8")
            assert main(["trace", "check", str(path)]) in (1, 2), (at, index, more)
            capsys.readouterr()
