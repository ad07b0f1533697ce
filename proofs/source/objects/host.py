"""The host: one loaded text, its profile, and the run that is in progress.

Objects handed to the text keep their link to the host under private names (two underscores),
which the gate keeps out of reach; the text cannot get at the prover through them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

from proofs.source.errors import Gap, Unprofiled
from proofs.source.profile import Profile, Row
from proofs.source.uses import Uses
from proofs.symbolic.counts import start_counting

if TYPE_CHECKING:
    from proofs.source.objects.owned import Owned
    from proofs.source.objects.world import World

MAX_TICKS = 20_000
"""Loop iterations and calls of one run; a step over two requests takes a few hundred."""


_PATH = re.compile(r"(import )?[\w.]+(\(\))?")
"""What a row can be about."""
_OPERATORS = str(Path(__file__).with_name("counting.py"))
RAN_ON = f"runs on: more than {MAX_TICKS} iterations or calls, or all of the stack or memory"


Overhear = Callable[[str, Any], Any]
"""Takes a path and what answers there; gives what stands for that."""


class RanOn(BaseException):
    """A run ticked more often than any scheduler of two requests does.

    A ``BaseException``, so that no handler in the text can go on.
    """

    def __init__(self, file: str, line: int) -> None:
        super().__init__(file, line)
        self.file, self.line = file, line


class Host:
    """What the stubs of one text share."""

    def __init__(self, profile: Profile, arities: dict[str, int]) -> None:
        self.profile = profile
        self.arities = arities
        """Method name → how many values the text unpacks its answer into."""
        self.files: set[str] = set()
        self.uses = Uses()
        """What the texts do with names and attributes."""
        self.constants: dict[str, dict[str, Any]] = {}
        """Path of a stub → what was found under its attributes, where that never changes."""
        self.answers: dict[str, tuple[Callable[[], Any], bool]] = {}
        """Path → who answers under it, and whether always the same; see `stubs`."""
        self.gaps: list[Gap] = []
        """What the profile did not know, in this run."""
        self.classes: dict[type, None] = {}
        """Every class the texts have made."""
        self.pure: frozenset[str] = frozenset()
        """Names of functions that compute from their arguments and nothing else."""
        self.standard: dict[tuple[str, str], Any] = {}
        """What the texts were given of the standard library, by module and name."""
        self.kept: list[tuple[str, Any]] = []
        """What a class or function was made with while the texts were loaded, by a name for it."""
        self.own: Owned
        """What the texts own beside their scheduler objects, once they are loaded."""
        self.world: World | None = None
        self.row_lines: dict[str, int] | None = None
        """Request id → line that scheduled it; filled on integers only."""
        self.overhear: Overhear | None = None
        """Where somebody notes the calls of what the text finds under a path."""
        self.ran_on: RanOn | None = None
        """The run in progress has run on, whatever the text makes of it."""
        self._ticks = 0

    def listen(self, overhear: Overhear) -> None:
        """From now on somebody notes what the text calls."""
        self.overhear = overhear
        self.answers.clear()

    # -- the life of a run ---------------------------------------------------------------------

    def begin(self, world: World) -> None:
        """A run starts in this world; nothing is left of the one before."""
        self.own.restore()
        start_counting(False)
        self.world = world
        self.gaps, self.ran_on = [], None
        self._ticks = 0

    @property
    def here(self) -> World:
        """The world of the run in progress; at load time there is none."""
        if self.world is None:
            self.unprofiled("the world while the file is being loaded")
        return self.world

    # -- positions -----------------------------------------------------------------------------

    def frames(self, error: BaseException) -> list[tuple[str, int]]:
        """(file, line) of each frame in an exception's traceback, innermost last.

        What stands for an operator of the text's is no frame in Python.
        """
        found, traceback = [], error.__traceback__
        while traceback is not None:
            found.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
            traceback = traceback.tb_next
        while found and found[-1][0] == _OPERATORS:
            found.pop()
        return found

    def position(self) -> tuple[str, int]:
        """The innermost line of the text that is being executed."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename not in self.files:
            frame = frame.f_back
        return ("?", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)

    # -- limits --------------------------------------------------------------------------------

    def tick(self) -> bool:
        """One more iteration or call; true, so that it can stand in a comprehension's filter."""
        self._ticks += 1
        if self._ticks > MAX_TICKS:
            file, line = self.position()
            self.ran_on = self.ran_on or RanOn(file, line)
            raise self.ran_on
        return True

    def keep(self, name: str, value: Any) -> None:
        """Something outlives the runs where `Owned` would not find it."""
        if self.world is None:
            self.kept.append((name, value))

    def new_rows(self) -> dict[Any, Any]:
        """What an empty dictionary display in the text makes."""
        return {} if self.row_lines is None else _NotingDict(self)

    # -- what the profile does not know --------------------------------------------------------

    def unprofiled(self, attribute: str, row: str | None = None) -> NoReturn:
        """The text asked for something without a row: this path is undecided.

        Args:
            row: the row that would settle it; empty: none would; None: as the attribute's use says.
        """
        if row is None:
            row = self.uses.row(attribute) if _PATH.fullmatch(attribute) else ""
        if not row:
            self.undecided(f"the profile does not know {attribute}")
        self._gap(Gap(attribute, *self.position(), row))

    def undecided(self, reason: str) -> NoReturn:
        """The text depends on what no row could say: this path is undecided."""
        self._gap(Gap(reason, *self.position(), ""))

    def _gap(self, gap: Gap) -> NoReturn:
        self.gaps.append(gap)
        if self.world is not None:
            self.world.context.unsupported(str(gap))
        raise Unprofiled(gap)

    def unknown_state(self, attribute: str, place: tuple[str, int], row: str) -> NoReturn:
        """The text carries something from step to step that the profile does not know.

        Args:
            row: the row that would settle it.
        """
        gap = Gap(f"{attribute} (changed from step to step)", *place, row)
        self.gaps.append(gap)
        self.here.context.unsupported(str(gap))

    def row(self, path: str) -> Row | None:
        """The row of an attribute, or of the function of that name."""
        return self.profile.row(path) or self.profile.row(path + "()")


@contextmanager
def bounded(host: Host) -> Iterator[None]:
    """A run of a text that uses up the stack or the memory has run on; one that has is over."""
    try:
        yield
    except (RecursionError, MemoryError) as error:
        mine = [at for at in host.frames(error) if at[0] in host.files]
        raise RanOn(*(mine[-1] if mine else ("harness", 0))) from None
    finally:
        if host.ran_on is not None:  # perhaps the text caught it
            raise host.ran_on


class _NotingDict(dict[Any, Any]):
    """Notes the line of the text that stored each key."""

    def __init__(self, host: Host) -> None:
        super().__init__()
        self.__host = host
        self.__lines: dict[Any, int] = {}

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.__lines[key] = self.__host.position()[1]

    def lines__(self) -> dict[Any, int]:
        """Key → line of the text."""
        return self.__lines


def is_plain_dict(value: object) -> TypeGuard[dict[Any, Any]]:
    """Whether reading a dictionary runs nothing of the text."""
    return type(value) in (dict, _NotingDict)


def noted_lines(rows: Any) -> dict[Any, int]:
    """The lines a dictionary made by the text noted; empty if it noted none."""
    return rows.lines__() if isinstance(rows, _NotingDict) else {}


def unpacked(values: Iterable[Any], arity: int) -> tuple[Any, ...]:
    """An answer cut or filled (with 0) to the number of values the text unpacks."""
    known = tuple(values)
    return (known + (0,) * arity)[:arity]
