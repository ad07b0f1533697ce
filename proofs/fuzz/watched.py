"""An engine whose runner objects without stopping the step.

``RunnerEngine`` ends in an error, as the real runner would.  Here every objection is kept and the
step goes on, so that its records are complete and a replay without the runner finds every answer
it asks for.
"""

from __future__ import annotations

from typing import Any

from model.runner.errors import RunnerError
from model.runner.shim import RunnerEngine


class WatchedEngine(RunnerEngine):
    """One rank; the arguments are ``Engine``'s."""

    def __init__(self, *arguments: Any) -> None:
        self.objections: list[RunnerError] = []
        """What the runner could not execute, in order."""
        super().__init__(*arguments)

    def refuse(self, error: RunnerError) -> None:
        """Keep the objection."""
        self.objections.append(error)
