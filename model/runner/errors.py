"""What a model runner cannot survive: one typed error per invariant it relies on."""

from __future__ import annotations

from typing import ClassVar


class RunnerError(Exception):
    """A step the runner cannot execute, or output it must not return.

    Args:
        request_id: whose rows are wrong.
        row: the request's row in the persistent batch; -1 if it has none.
        problem: what is wrong, with numbers.
    """

    invariant_id: ClassVar[str]
    """The invariant that rules this out, one of ``spec.invariants.IDS``."""

    def __init__(self, request_id: str, row: int, problem: str) -> None:
        super().__init__(f"{self.invariant_id}: request {request_id}, row {row}: {problem}")
        self.request_id = request_id
        self.row = row
        self.problem = problem


class NoRows(RunnerError):
    """A scheduled request with no or negative rows: ``np.repeat`` refuses it (#53962)."""

    invariant_id = "positive-schedule"


class PastModelLen(RunnerError):
    """Rows or sampled tokens past ``max_model_len`` (#53962, #53812)."""

    invariant_id = "within-model-len"


class RowsWithoutDrafts(RunnerError):
    """Rows and drafts out of step: the sampler would read a neighbour's logits (#54028, #54392)."""

    invariant_id = "rows-match-drafts"


class BufferOverrun(RunnerError):
    """More rows, inputs or requests than the runner's buffers were allocated for."""

    invariant_id = "within-budget"


class NoSlot(RunnerError):
    """A row without a KV slot: it would overwrite another request's KV."""

    invariant_id = "block-accounting"


class NotRunning(RunnerError):
    """Rows for a request that is not running."""

    invariant_id = "request-conservation"


class Miscounted(RunnerError):
    """The scheduler's counters disagree with the tokens, or a placeholder became a token."""

    invariant_id = "placeholder-accounting"


class NothingSampled(RunnerError):
    """A sampling row that sampled nothing: its request would never end."""

    invariant_id = "progress"


class MixedShapes(RunnerError):
    """One odd row in a decode step: the whole data-parallel group loses its graph (#55126)."""

    invariant_id = "uniform-decode"
