"""A path once more, on numbers that take it: what Python makes of the text as it is written.

A proof runs a rewritten text on symbols.  That both do what Python does with the text is shown by
tests; here it is checked of the text at hand.  Every path has a witness, numbers that take it, and
on those the text as written must raise the same or come to the same goals, number by number.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from proofs.source.concrete import NotReplayed, Numbers
from proofs.source.errors import said
from proofs.source.goals import Goal
from proofs.source.harness import Harness
from proofs.source.host import RanOn
from proofs.source.loader import Loaded
from proofs.source.scenarios import Task
from proofs.symbolic import Path

Told = Iterator[tuple[str, Any]]


def disagreement(loaded: Loaded, task: Task, path: Path[list[Goal]], kept: frozenset[str]) -> str:
    """What comes out otherwise when Python runs the text; empty where nothing does."""
    error: Exception | None = None
    goals: list[Goal] = []
    try:
        context = task.context(Numbers(path.model))
        goals = task.scenario(Harness(loaded.as_written, context, task.features, kept))
    except NotReplayed as doubt:
        return str(doubt)
    except RanOn:
        return "it runs on"
    except Exception as raised:
        error = raised
    if type(error) is not type(path.error):
        return f"it raises {said(error)!r}, not {said(path.error)!r}"
    for one, other in zip_longest(_told(path.value or []), _told(goals)):
        if one is None or other is None or one[0] != other[0]:
            return f"other promises are due: {one and one[0]}, {other and other[0]}"
        if path.at_witness(one[1]) != other[1]:
            return f"{one[0]} is {other[1]}, not {path.at_witness(one[1])}"
    return ""


def _told(goals: list[Goal]) -> Told:
    """Everything a goal says, by name."""
    for goal in goals:
        name = f"{goal.name} of {goal.request}"
        yield name, goal.formula
        for tag, granted in goal.granted.items():
            yield f"{name}, {tag}", granted
        if goal.claim is not None:
            yield f"{name}, due", goal.claim.when
            for term, number in (*goal.claim.left.items(), *goal.claim.right.items()):
                yield f"{name}, {term}", number
