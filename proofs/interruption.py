"""SIGTERM, with which CI runners stop a job, means what Ctrl-C means: one line, exit status 3."""

from __future__ import annotations

import signal


def heed_termination() -> None:
    """In the process that reports: let SIGTERM raise ``KeyboardInterrupt``."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def just_end() -> None:
    """In a worker process: let SIGTERM end it, there is nobody to tell."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
