"""Which class of a text is its scheduler: vLLM's own names, a renamed class, or a subclass."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from proofs.source.errors import CANNOT_TELL, SourceError
from proofs.verdict import ASYNC, SYNC

USUAL = {SYNC: "Scheduler", ASYNC: "AsyncScheduler"}
ENTRY, BOOKS, ABORTS = "schedule", "update_from_output", "finish_requests"


def schedulers(
    classes: Mapping[str, type], trees: Mapping[str, ast.Module], own: Collection[str]
) -> dict[str, type]:
    """Scheduling mode → the class that schedules so.

    A subclass of vLLM's ``AsyncScheduler`` is the asynchronous one.

    Args:
        classes: every class of the texts, by name.
        trees: the texts.
        own: the files that are to be checked; the others only define what these derive from.

    Raises:
        SourceError: there is none, or there are several.
    """
    here = [n.name for f in trees if f in own for n in trees[f].body if isinstance(n, ast.ClassDef)]
    mine = {name: classes[name] for name in dict.fromkeys(here) if name in classes}
    usual = {mode: mine[name] for mode, name in USUAL.items() if name in mine}
    if SYNC in usual and _has(usual[SYNC], ENTRY):
        return usual
    able = {n: c for n, c in mine.items() if _has(c, ENTRY) and _has(c, BOOKS)}
    if not able:
        raise _none(", ".join(own), mine)
    base = classes.get(USUAL[ASYNC])
    overlapping = {n: c for n, c in able.items() if base is not None and base in c.__mro__}
    plain = {n: c for n, c in able.items() if n not in overlapping}
    found: dict[str, type] = {}
    for mode, several in ((SYNC, plain), (ASYNC, overlapping)):
        leaves = {
            n: c
            for n, c in several.items()
            if not any(c in other.__mro__ for other in several.values() if other is not c)
        }
        if len(leaves) > 1:
            raise SourceError(
                f"{', '.join(own)}: several schedulers ({', '.join(leaves)}); "
                "check them one file at a time"
            )
        if leaves:
            (found[mode],) = leaves.values()
    return found


def _has(made: type, name: str) -> bool:
    """Whether a class has a method; what derives from an unknown one is not asked."""
    return any(name in vars(kind) for kind in made.__mro__)


def needs_base(trees: Mapping[str, ast.Module], own: Collection[str]) -> None:
    """Whatever the texts derive their scheduler from must be there.

    Raises:
        SourceError: it is not.
    """
    base = _imported_base(trees, own)
    if base:
        raise SourceError(
            f"{', '.join(own)}: derives from {base}, which it imports; "
            "name its release with --base, for example --base 0.33.0",
            CANNOT_TELL,
        )


def _none(file: str, mine: Mapping[str, type]) -> SourceError:
    if USUAL[SYNC] in mine:
        return SourceError(
            f"{file}: Scheduler has no method schedule: renamed, or an engine before 0.8?",
            CANNOT_TELL,
        )
    known = ", ".join(sorted(mine)) or "no class"
    return SourceError(f"{file}: no class Scheduler in it (it defines {known})")


def _imported_base(trees: Mapping[str, ast.Module], own: Collection[str]) -> str:
    """A class that an own class derives from and that no text defines."""
    defined = {n.name for t in trees.values() for n in t.body if isinstance(n, ast.ClassDef)}
    for file in own:
        imported = {
            alias.asname or alias.name: alias.name
            for node in trees[file].body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in trees[file].body:
            for base in node.bases if isinstance(node, ast.ClassDef) else ():
                name = imported.get(base.id, "") if isinstance(base, ast.Name) else ""
                if name in USUAL.values() and name not in defined:
                    return name
    return ""
