"""What can go wrong before there is a verdict, each with its exit status and one line to say."""

from __future__ import annotations

import builtins
from dataclasses import dataclass

BAD_INPUT = 2
"""Exit status: the input is missing, unreadable, or not a scheduler."""
CANNOT_TELL = 3
"""Exit status: the input may be fine, but nothing can be said about it here and now."""


def clean(text: str, limit: int = 200) -> str:
    """Text from a source, made safe to print: one line, no control characters, not long."""
    safe = "".join(c if c.isprintable() else " " for c in text)
    return safe if len(safe) <= limit else safe[: limit - 3] + "..."


def said(error: BaseException | None) -> str:
    """What an exception of a text says; nothing where asking it would run the text's own code."""
    usual = getattr(builtins, type(error).__name__, None) is type(error)
    if error is None or not usual or any(type(a) not in _PLAIN for a in error.args):
        return ""
    return clean(str(error))


def named(error: BaseException | None) -> str:
    """An exception of a text: its class, and what it says."""
    return f"{type(error).__name__}: {said(error)}"


_PLAIN = (str, int, float, bool, type(None))


class SourceError(Exception):
    """The source cannot be checked; the message is one line: what is missing and what to do."""

    def __init__(self, message: str, status: int = BAD_INPUT) -> None:
        super().__init__(message)
        self.status = status


class Rejected(SourceError):
    """The gate refuses to run a text; nothing of it was executed."""

    def __init__(self, file: str, line: int, why: str) -> None:
        super().__init__(f"rejected: {file}:{line}: {why}")
        self.file, self.line, self.why = file, line, why


NO_ROW = "no row for --profile settles this; a text that does without it is decided"


@dataclass(frozen=True, slots=True)
class Gap:
    """A place where the environment profile does not say what the source would see.

    Where no row could say it, ``settle`` is empty and ``attribute`` is the reason.
    """

    attribute: str
    file: str
    line: int
    settle: str
    """The line of the profile that would settle it."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        if not self.settle:
            return f"{place}: {self.attribute} ({NO_ROW})"
        return (
            f"{place}: the profile does not know {self.attribute}; "
            f"a row for --profile that settles it: {self.settle}"
        )


class Unprofiled(Exception):
    """The source asked for something the profile does not know (raised outside a run)."""

    def __init__(self, gap: Gap) -> None:
        super().__init__(str(gap))
        self.gap = gap
