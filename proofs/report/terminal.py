"""Printing for people: colour and wrapping on a terminal, plain text everywhere else."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from typing import TextIO

from rich.console import Console
from rich.text import Text

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
"""What a name in a report must not do to a terminal."""
STYLES = (
    (r"VERIFICATION SUCCESSFUL", "bold green"),
    (r"VERIFICATION FAILED", "bold red"),
    (r"^UNDECIDED", "bold yellow"),
    (r"\bBROKEN!?", "bold red"),
    (r"(?<=  )ok\b|\bok(?=/)|(?<=/)ok\b", "green"),
    (r"<-- breaks here", "bold red"),
    (r"^\s*broken\b[^:]*:", "red"),
    (r"\(padded\)", "yellow"),
    (r"(?<=see it again: ).*", "cyan"),
    (r"^-+$", "dim"),
)


def is_fancy(stream: TextIO) -> bool:
    """Whether to colour: a terminal that can, and nobody said ``NO_COLOR``."""
    return Console(file=stream).is_terminal and not (
        os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    )


def width_of(stream: TextIO) -> int | None:
    """Columns of a terminal, or ``COLUMNS``; None where nobody wraps (a file, a pipe)."""
    console = Console(file=stream)
    if console.is_terminal or re.fullmatch(r"[1-9][0-9]{0,5}", os.environ.get("COLUMNS", "")):
        return console.width
    return None


def wrap(text: str, width: int | None) -> str:
    """Long lines folded below their own beginning; words and tables' columns stay whole."""
    if width is None:
        return text
    lines: list[str] = []
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        lines += textwrap.wrap(
            line,
            max(width, 20),
            subsequent_indent=" " * min(indent + 4, width // 2),
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
        ) or [""]
    return "\n".join(lines) + "\n"


def show(text: str, stream: TextIO | None = None) -> None:
    """Print a text report."""
    stream = stream or sys.stdout
    text = wrap(CONTROL.sub("\ufffd", text), width_of(stream))
    if not is_fancy(stream):
        write(text, stream)
        return
    console = Console(file=stream, highlight=False)
    for line in styled(text):
        console.print(line, soft_wrap=True)


def write(text: str, stream: TextIO | None = None) -> None:
    """Print a document as it is; what the stream's encoding lacks is spelled out."""
    stream = stream or sys.stdout
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def styled(text: str) -> list[Text]:
    """The lines of a text report in colour."""
    lines = [Text(line) for line in text.splitlines()]
    for line in lines:
        for pattern, style in STYLES:
            line.highlight_regex(pattern, style)
    return lines
