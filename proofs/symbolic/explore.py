"""`Exploration`: every feasible path of a Python function, once each.

The function is run again and again.  A run follows its recorded decisions first;
past them, a branch goes the way the path's current model goes, without a query,
and the other side is left open.  When the run ends, the deepest open side is put
to the solver: one query, whose model seeds the next run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from time import perf_counter
from types import TracebackType
from typing import Generic, TypeVar

from proofs.symbolic import merging, speech
from proofs.symbolic.active import ACTIVE, PACKAGE
from proofs.symbolic.bools import SymBool
from proofs.symbolic.context import Context
from proofs.symbolic.errors import Abandon, Unsupported
from proofs.symbolic.ground import Ground
from proofs.symbolic.ints import SymInt
from proofs.symbolic.path import Path
from proofs.symbolic.seq import SymSeq
from proofs.symbolic.trail import Limits, Where
from proofs.symbolic.veiled import Veiled

T = TypeVar("T")


@dataclass
class Statistics:
    """What an exploration cost."""

    paths: int = 0
    queries: int = 0
    solver_seconds: float = 0.0
    wall_seconds: float = 0.0

    @property
    def python_share(self) -> float:
        """The share of time not spent in Z3."""
        return 1 - self.solver_seconds / self.wall_seconds if self.wall_seconds else 0.0


class Exploration(Generic[T]):
    """Iterate over it once, for the feasible `Path` objects of ``run``::

        with Exploration(run, limits=Limits(seconds=60)) as exploration:
            for path in exploration:
                answer = path.holds(path.value >= 0)
        assert exploration.complete, exploration.reasons

    ``complete`` turns true only when every path was visited or shown infeasible.
    A complete exploration without paths means that the assumptions contradict.

    ``ground``: what is known from earlier explorations, for those that are always made in the same
    order.  By default a fresh one, so that an exploration comes out the same whatever was explored
    before.
    """

    def __init__(
        self,
        run: Callable[[Context], T],
        limits: Limits | None = None,
        ground: Ground | None = None,
    ) -> None:
        self._run = run
        self._context = Context(limits or Limits(), ground)
        self._iterator = self._paths()
        self._finished = False
        self._statistics = Statistics()
        self._started: float | None = None

    def __enter__(self) -> Exploration[T]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._iterator.close()

    def __iter__(self) -> Iterator[Path[T]]:
        return self._iterator

    @property
    def complete(self) -> bool:
        """Whether every feasible path was yielded; paths may still be unsupported."""
        return self._finished and not self._context.cuts

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the exploration is not complete."""
        unfinished = () if self._finished else ("the exploration was not run to its end",)
        return (*self._context.cuts, *unfinished)

    @property
    def used_assumptions(self) -> frozenset[str]:
        """The tracked assumptions that made some branch infeasible."""
        return frozenset(self._context.cores | self._context.knowledge.credited)

    @property
    def statistics(self) -> Statistics:
        """The cost so far."""
        solver, figures = self._context.solver, self._statistics
        figures.queries, figures.solver_seconds = solver.queries, solver.seconds
        if self._started is not None:
            figures.wall_seconds = perf_counter() - self._started
        return figures

    def _paths(self) -> Generator[Path[T]]:
        self._started = perf_counter()
        context = self._context
        context.start_clock()
        try:
            more = True
            while more:
                path = self._run_once()
                if path is not None:
                    self._statistics.paths += 1
                    try:
                        yield path
                    finally:
                        path.close()
                if self._statistics.paths >= context.limits.paths and context.has_open():
                    context.cut(f"stopped after {context.limits.paths} paths")
                    break
                more = context.backtrack()
            self._finished = True
        finally:
            self._statistics.wall_seconds = perf_counter() - self._started
            self._started = None
            context.rest()

    def _run_once(self) -> Path[T] | None:
        """One run; ``None`` if it turned out infeasible or was cut."""
        if ACTIVE.get() is not None:
            raise RuntimeError("an exploration cannot advance inside a run of another")
        context, value = self._context, None
        error: BaseException | None = None
        context.begin()
        token = ACTIVE.set(context)
        try:
            value = self._run(context)
        except Abandon:
            pass
        except RecursionError:  # perhaps ours: terms nest deeper than numbers
            context.note("the recursion limit was reached")
        except (Exception, SystemExit, GeneratorExit) as raised:
            error = raised  # to ask for the end is no way to end a proof
        finally:
            ACTIVE.reset(token)
        context.finish()
        if context.abandoned:
            return None
        if isinstance(error, Unsupported):
            error = None
        elif error is not None and _is_ours(error):
            raise error
        return Path(context, value, error, _position(error))


def _is_ours(error: BaseException) -> bool:
    """Whether an exception shows a defect of this package, not of the code under test.

    Our operators deliberately raise only what the real ones would.
    """
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    file = "" if traceback is None else traceback.tb_frame.f_code.co_filename
    if not file.startswith(PACKAGE) or file == speech.__file__:  # Python refuses to format it
        return False
    if isinstance(error, AttributeError):
        kinds = (SymInt, SymBool, SymSeq)
        return type(error.obj) not in kinds and not isinstance(error.obj, Veiled)
    if isinstance(error, ValueError):  # the smallest or largest of nothing
        return file != merging.__file__
    return not isinstance(error, (ZeroDivisionError, IndexError, TypeError))


def _position(error: BaseException | None) -> Where | None:
    """Where an exception was raised: the innermost line outside this package."""
    where = None
    traceback = error.__traceback__ if error is not None else None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith(PACKAGE):
            where = Where(file, traceback.tb_lineno)
        traceback = traceback.tb_next
    return where
