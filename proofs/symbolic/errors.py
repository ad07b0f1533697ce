"""The ways an execution can leave the fragment the executor understands."""

from __future__ import annotations


class Unsupported(Exception):
    """A symbolic value was used in a way that has no exact symbolic meaning.

    It is an ordinary ``Exception`` so that the code under test unwinds normally,
    but it is recorded on the path *before* it is raised: swallowing it with
    ``except Exception`` still leaves the path undecided.
    """


class NondeterminismError(RuntimeError):
    """Re-running the same decisions led to a different branch condition."""


class Abandon(BaseException):
    """Internal: the current run is infeasible or cut; unwind to the explorer.

    A ``BaseException``, so that the code under test does not take it for one of
    its own failures.
    """
