"""A path once more, on numbers that take it: what Python makes of the text as it is written.

A proof runs a rewritten text on symbols.  That both do what Python does with the text is shown by
tests; here it is checked of the text at hand.  Every path has a witness, numbers that take it, and
on those the text as written must raise the same or come to the same goals, number by number.
"""

from __future__ import annotations

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
    for one, other in zip_longest(path.value or [], goals):
        if one is None or other is None or _names(one) != _names(other):
            return f"other promises are due: {one and _named(one)}, {other and _named(other)}"
        numbers = [path.at_witness(value) for value in _values(one)]
        if numbers != _values(other):
            told = zip(_names(one), numbers, _values(other), strict=True)
            name, was, now = next(each for each in told if each[1] != each[2])
            which = "" if name == _named(one) else f"{_named(one)}, "
            return f"{which}{name} is {now}, not {was}"
    return ""


def _named(goal: Goal) -> str:
    return f"{goal.name} of {goal.request}"


def _names(goal: Goal) -> tuple[str, ...]:
    """What a goal says, by name; that it holds comes first."""
    claim = goal.claim
    said = () if claim is None else ("due", *claim.left, *claim.right)
    return (_named(goal), *goal.granted, *said)


def _values(goal: Goal) -> list[Any]:
    """The same in numbers."""
    values, claim = [goal.formula, *goal.granted.values()], goal.claim
    if claim is not None:
        values += (claim.when, *claim.left.values(), *claim.right.values())
    return values
