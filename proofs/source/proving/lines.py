"""Which lines of the text a run on integers executed, and which branch decided the rows."""

from __future__ import annotations

import ast
import sys
from functools import cache, cached_property
from types import FrameType
from typing import Any

from proofs.source.entries import ENTRY
from proofs.source.loader import Loaded
from proofs.source.walking import walk

BRANCHES = 12
"""Branch decisions a trace shows, counted back from the decisive line."""


@cache
def layout(tree: ast.Module) -> Layout:
    """The layout of a file, computed once."""
    return Layout(tree)


class Tracer:
    """Watches one run: a context manager around it.

    Every executed line of the text is noted with the values of the whole-number variables of its
    frame, so that afterwards the line that gave a variable its value can be named.
    """

    def __init__(self, loaded: Loaded) -> None:
        self._layouts = {file: layout(tree) for file, tree in loaded.trees.items()}
        self._host, self._files = loaded.host, loaded.host.files
        self._executed: list[tuple[str, int, int]] = []
        """(file, line, frame number), in order."""
        self._previous: dict[int, int] = {}
        """Frame number → index of the line it executed last."""
        self._changes: dict[tuple[int, str], list[tuple[int, Any]]] = {}
        self._frames: dict[int, int] = {}
        self._deciding: set[int] = set()
        """Numbers of the frames of ``schedule``."""
        self._count = 0
        self._last: dict[int, dict[str, Any]] = {}

    def __enter__(self) -> Tracer:
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(self._before)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        number = self._number(frame)
        self._note(frame, number)
        if event == "line":
            self._previous[number] = len(self._executed)
            self._executed.append((frame.f_code.co_filename, frame.f_lineno, number))
        elif event == "return":
            self._frames.pop(id(frame), None)
        return self._line

    def _number(self, frame: FrameType) -> int:
        known = self._frames.get(id(frame))
        if known is None:
            self._count += 1
            known = self._frames[id(frame)] = self._count
            if frame.f_code.co_name == ENTRY:
                self._deciding.add(known)
        return known

    def _note(self, frame: FrameType, number: int) -> None:
        """Variables that changed since the frame's last line, with that line's position."""
        values = {k: v for k, v in frame.f_locals.items() if type(v) is int}
        old = self._last.get(number, {})
        at = self._previous.get(number)
        for name, value in values.items():
            if old.get(name) != value and at is not None:
                self._changes.setdefault((number, name), []).append((at, value))
        self._last[number] = values

    # -- asking --------------------------------------------------------------------------------

    def raised_at(self, error: BaseException) -> tuple[str, int] | None:
        """The line of the text that raised, if the text did."""
        frames = self._host.frames(error)
        return frames[-1] if frames and frames[-1][0] in self._files else None

    def behind(self, stored: int | None) -> tuple[str, int]:
        """The line that gave the rows stored at a line their value.

        Without rows: the last ``break`` or ``continue`` of ``schedule``, which left it out.
        """
        if not self._executed:
            return "", 0
        for index in range(len(self._executed) - 1, -1, -1):
            file, line, number = self._executed[index]
            known = self._layouts[file]
            if stored is None:
                if line in known.exits and number in self._deciding:
                    return file, line
                continue
            if known.first(line) != known.first(stored):
                continue
            name = known.stored.get(known.first(stored), "")
            changes = self._changes.get((number, name), [])
            at = max((at for at, _ in changes if at < index), default=index)
            file, line, _ = self._executed[at]
            return file, self._layouts[file].first(line)
        file, line, _ = self._executed[-1]
        return file, self._layouts[file].first(line)

    def told(self) -> list[tuple[str, str, int]]:
        """Each executed line: what it says, its file and its number."""
        return [(self._layouts[f].says.get(line, ""), f, line) for f, line, _ in self._executed]

    def branches(self, file: str, line: int) -> list[dict[str, Any]]:
        """The last branches taken on the way to a line: ``{file, line, taken}``."""
        found: list[dict[str, Any]] = []
        end = max(
            (
                index
                for index, (at_file, at, _) in enumerate(self._executed)
                if at_file == file and self._layouts[file].first(at) == line
            ),
            default=len(self._executed) - 1,
        )
        for index in range(end):
            at_file, at, number = self._executed[index]
            node = self._layouts[at_file].branch.get(at)
            then = self._executed[index + 1]
            if (
                node is None
                or then[2] != number
                or self._layouts[at_file].branch.get(then[1]) is node
            ):
                continue
            inside = node.body[0].lineno <= then[1] <= (node.body[-1].end_lineno or 0)
            found.append({"file": at_file, "line": node.lineno, "taken": inside})
        return found[-BRANCHES:]


class Layout:
    """Where the statements of one file begin, and which of them branch or leave a loop."""

    def __init__(self, tree: ast.Module) -> None:
        self.statement: dict[int, int] = {}
        """Line → first line of the simple statement it belongs to."""
        self.branch: dict[int, ast.If] = {}
        """Line of a condition → its ``if``."""
        self.stored: dict[int, str] = {}
        """First line of ``target = variable`` → the variable."""
        self.exits: set[int] = set()
        """Lines of ``break`` and ``continue``."""
        for node in walk(tree):
            if isinstance(node, ast.If):
                for line in range(node.lineno, (node.test.end_lineno or node.lineno) + 1):
                    self.branch[line] = node
            elif isinstance(node, ast.Break | ast.Continue):
                self.exits.add(node.lineno)
            if isinstance(node, ast.stmt) and not hasattr(node, "body"):
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    self.statement[line] = min(node.lineno, self.statement.get(line, node.lineno))
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                    self.stored[node.lineno] = node.value.id

        self._tree = tree

    @cached_property
    def says(self) -> dict[int, str]:
        """First line of a statement, or of a condition → what stands there."""
        told: dict[int, str] = {}
        for node in walk(self._tree):
            if isinstance(node, ast.stmt) and not hasattr(node, "body"):
                told[node.lineno] = ast.unparse(node)
            elif isinstance(node, ast.If | ast.While):
                told[node.lineno] = ast.unparse(node.test)
        return told

    def first(self, line: int) -> int:
        """The first line of the statement a line belongs to."""
        return self.statement.get(line, line)


def parting(one: Tracer, two: Tracer) -> list[tuple[str, int]]:
    """Where the runs of two texts part: of each the first line that the other does not execute.

    If it executes all of those, where it goes on otherwise.
    """
    told = [one.told(), two.told()]
    said = [{words for words, _, _ in lines} for lines in told]
    pairs = zip(*told, strict=False)
    common = next((at for at, (a, b) in enumerate(pairs) if a[0] != b[0]), min(map(len, told)) - 1)
    places = []
    for lines, other in zip(told, reversed(said), strict=True):
        own = (line for line in lines if line[0] and line[0] not in other)
        _, file, number = next(own, lines[common] if lines else ("", "", 0))
        places.append((file, number))
    return places
