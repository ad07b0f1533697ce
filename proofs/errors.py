"""Bad input and usage: one line for the user, one exit status for the program."""

from __future__ import annotations

EXIT_PROVED = 0
EXIT_VIOLATED = 1
EXIT_USAGE = 2
EXIT_UNDECIDED = 3


class UsageError(Exception):
    """Something the user can put right; the message says what and how."""

    def __init__(self, message: str, status: int = EXIT_USAGE) -> None:
        super().__init__(message)
        self.status = status
