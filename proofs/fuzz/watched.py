"""An engine whose runner objects without stopping the step.

``RunnerEngine`` ends in an error, as the real runner would.  Here the objection is kept and the
step goes on, so that its records are complete and a replay without the runner finds every answer
it asks for.
"""

from __future__ import annotations

from model.runner.errors import RunnerError
from model.runner.shim import RunnerEngine


class WatchedEngine(RunnerEngine):
    """One rank; the arguments are ``Engine``'s."""

    objection: RunnerError | None = None
    """The first thing the runner could not execute."""

    def refuse(self, error: RunnerError) -> None:
        """Keep the first objection."""
        self.objection = self.objection or error
