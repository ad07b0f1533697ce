"""Reading a recording: as data, line by line, each line checked before anything is made of it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from proofs.documents import is_version, open_ordinary
from proofs.errors import UsageError
from proofs.recorder import lines
from proofs.recorder.lines import ARRIVAL, ASKED, STATE, STATUSES, Line
from proofs.recording.consistent import Consistency, Inconsistent
from spec.config import Config, ConfigError

LONGEST = 16 * 2**20
"""Characters of the longest line that is read."""
WIDEST = 2**53
"""Largest number in a recording."""
MOST_SHOWN = 40


class Damaged(ValueError):
    """What is wrong with a line."""


def read(path: Path, partial: bool = False) -> Iterator[Line]:
    """The lines of a recording, the header first.

    Args:
        path: the file.
        partial: take a recording without its last line, as a killed engine leaves it.

    Raises:
        UsageError: no recording of this version, a line that cannot be read, a hole, or no end;
            the message names the line by its number in the file.
    """
    try:
        with io.TextIOWrapper(open_ordinary(path), encoding="utf-8", newline="\n") as file:
            yield from _lines(iter(lambda: file.readline(LONGEST + 1), ""), path, partial)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a recording: not UTF-8 text") from None


def _lines(texts: Iterator[str], path: Path, partial: bool) -> Iterator[Line]:
    number, last, kind = 0, -1, ""
    consistency: Consistency | None = None
    for number, text in enumerate(texts, 1):
        if kind == lines.END:
            raise UsageError(f"{path}, line {number}: something follows the end of the recording")
        whole = text.endswith("\n")
        if not whole and partial and number > 1:
            return
        try:
            line = _line(text, first=number == 1)
            consistency = consistency or Consistency(line)
            consistency.take(line)
        except (Damaged, Inconsistent) as damage:
            cut = "" if whole else " (the file is cut off here)"
            raise UsageError(f"{path}, line {number}: {damage}{cut}") from None
        kind = line["kind"]
        # A monitor's trace has its header, and then begins with a snapshot of a later moment.
        jumped = number == 2 and kind == lines.SNAPSHOT
        if line["n"] != last + 1 and not jumped:
            raise UsageError(
                f"{path}, line {number}: a hole: record {line['n']} follows record {last}"
            )
        last = line["n"]
        yield line
    if number == 0:
        raise UsageError(f"{path} is empty: not a recording")
    if kind != lines.END and not partial:
        raise UsageError(
            f"{path} ends after line {number} without its end record: the engine was killed or the "
            "file is cut off; --partial checks what is there"
        )


def _line(text: str, first: bool) -> Line:
    if len(text) > LONGEST:
        raise Damaged(f"longer than {LONGEST // 2**20} MB")
    try:
        line = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Damaged("cannot be read as JSON") from None
    if not isinstance(line, dict):
        raise Damaged("not a JSON object")
    if first:
        _header(line)
    kind = line.get("kind")
    if kind not in READERS or (kind == lines.HEADER) != first:
        raise Damaged(f"of kind {str(kind)[:MOST_SHOWN]!r}")
    _whole(line.get("n"), "n")
    for name, check in READERS[kind].items():
        if name not in line:
            raise Damaged(f"{kind} has no {name!r}")
        check(line[name], name)
    for name, check in QUEUES.items():
        if name in line:
            check(line[name], name)
    return line


def _header(line: Line) -> None:
    if line.get("format") != lines.FORMAT:
        raise Damaged(f'not a recording: it does not say "format": "{lines.FORMAT}"')
    if not is_version(line.get("schema"), lines.SCHEMA):
        raise Damaged(
            f"a recording of schema {str(line.get('schema'))[:20]}; this program reads "
            f"{lines.SCHEMA}"
        )


Check = Callable[[Any, str], None]


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _whole(value: Any, name: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > WIDEST:
        raise Damaged(f"{name} is not a whole number")


def _numbers(value: Any, name: str) -> None:
    if not isinstance(value, list):
        raise Damaged(f"{name} is not a list")
    for item in value:
        if type(item) is not int or abs(item) > WIDEST:
            raise Damaged(f"{name} is not a list of whole numbers")


def _rows(width: int) -> Check:
    def check(value: Any, name: str) -> None:
        if not isinstance(value, list):
            raise Damaged(f"{name} is not a list")
        for row in value:
            _numbers(row, name)
            if len(row) != width:
                raise Damaged(f"{name} has a row of {len(row)} numbers, not {width}")

    return check


def _states(value: Any, name: str) -> None:
    _rows(len(STATE))(value, name)
    for row in value:
        if not 0 <= row[1] < len(STATUSES):
            raise Damaged(f"{name} has status {row[1]}")


def _asked(value: Any, name: str) -> None:
    if not isinstance(value, list):
        raise Damaged(f"{name} is not a list")
    for ask in value:
        what = ask[0] if isinstance(ask, list) and ask else None
        if not isinstance(what, str) or what not in ASKED:
            raise Damaged(f"{name} has a question that is none of {', '.join(ASKED)}")
        _numbers(ask[1:], name)
        if len(ask) != 2 + ASKED[what]:
            raise Damaged(f"{name} has a {what} of {len(ask)} fields, not {2 + ASKED[what]}")


def _in_flight(value: Any, name: str) -> None:
    if not isinstance(value, list):
        raise Damaged(f"{name} is not a list")
    for step in value:
        if not isinstance(step, list) or len(step) != 2 or not isinstance(step[1], list):
            raise Damaged(f"{name} has no steps in it")
        _whole(step[0], name)
        for share in step[1]:
            if not isinstance(share, list) or len(share) != 5:
                raise Damaged(f"{name} has a share that is none")
            _numbers(share[:3], name)
            if any(not isinstance(truth, bool) for truth in share[3:]):
                raise Damaged(f"{name} has a share that is none")


def _word(value: Any, name: str) -> None:
    if not isinstance(value, str) or len(value) > 1000 or not value.isprintable():
        raise Damaged(f"{name} is not a word")


def _words(value: Any, name: str) -> None:
    if not isinstance(value, list):
        raise Damaged(f"{name} is not a list")
    for item in value:
        _word(item, name)


def _truth(value: Any, name: str) -> None:
    if not isinstance(value, bool):
        raise Damaged(f"{name} is not true or false")


def _knobs(value: Any, name: str) -> None:
    if not isinstance(value, dict):
        raise Damaged(f"{name} is not an object")
    try:
        Config.checked(**value)
    except ConfigError as error:
        raise Damaged(f"{name}: {error}") from None


def _version(value: Any, name: str) -> None:
    _word(value, name)
    parts = value.split(".")
    if len(parts) < 2 or not all(part.isdecimal() and len(part) < 6 for part in parts[:2]):
        raise Damaged(f"{name} is no version")


QUEUES: dict[str, Check] = {
    "running": _numbers,
    "waiting": _numbers,
    "held": _numbers,
    "free": _whole,
    "taken": _whole,
    "held_back": _truth,
}
READERS: dict[str, dict[str, Check]] = {
    lines.HEADER: {
        "engine": _version,
        "scheduler": _word,
        "rank": _whole,
        "prefix_caching": _truth,
        "config": _knobs,
        "beyond": _words,
    },
    lines.SNAPSHOT: {
        "why": _word,
        "requests": _rows(len(ARRIVAL)),
        "state": _states,
        "in_flight": _in_flight,
        "running": _numbers,
        "waiting": _numbers,
        "held": _numbers,
    },
    lines.ADD: {"request": lambda value, name: _rows(len(ARRIVAL))([value], name)},
    lines.SCHEDULE: {
        "rows": _rows(3),
        "asked": _asked,
        "preempted": _numbers,
        "state": _states,
        "running": _numbers,
    },
    lines.BOOK: {"step": _whole, "samples": _rows(2), "state": _states, "running": _numbers},
    lines.DRAFT: {"drafts": _rows(2)},
    lines.FINISH: {"state": _states},
    lines.RAISED: {
        "during": _word,
        "error": _word,
        "file": _word,
        "line": _whole,
        "asked": _asked,
    },
    lines.END: {},
}
