"""A path once more, on numbers that take it: what Python makes of the text as it is written.

A proof runs a rewritten text on symbols.  That both do what Python does with the text is shown by
tests; here it is checked of the text at hand.  Every path has a witness, numbers that take it, and
on those the text as written must raise the same or end with the same values, number by number.
"""

from __future__ import annotations

from itertools import zip_longest

from proofs.source.errors import named
from proofs.source.loader import Loaded
from proofs.source.objects.host import RanOn, bounded
from proofs.source.proving.concrete import NotReplayed, Numbers
from proofs.source.runs.due import Due
from proofs.source.runs.harness import Harness
from proofs.source.runs.shapes import Task
from proofs.symbolic import Path


def disagreement(loaded: Loaded, task: Task, path: Path[list[Due]], kept: frozenset[str]) -> str:
    """What comes out otherwise when Python runs the text; empty where nothing does."""
    error: Exception | None = None
    due: list[Due] = []
    try:
        context = task.context(Numbers(path.model))
        with bounded(loaded.as_written.host):
            due = task.scenario(Harness(loaded.as_written, context, task.features, kept))
    except NotReplayed as doubt:
        return str(doubt)
    except RanOn:
        return "it runs on"
    except Exception as raised:
        error = raised
    if type(error) is not type(path.error):
        return f"it raises {_named(error)}, not {_named(path.error)}"
    for one, other in zip_longest(path.value or [], due):
        if one is None or other is None or one.title != other.title:
            return f"other promises are due: {one and one.title}, {other and other.title}"
        (names, symbols), (others, numbers) = one.parts(), other.parts()
        if names is not others and names != others:
            return f"other promises are due of {one.title}: {list(names)}, {list(others)}"
        for name, symbol, number in zip(names, symbols, numbers, strict=True):
            if symbol is number:
                continue
            value = path.at_witness(symbol)
            if value != number:
                return f"{one.title}, {name} is {number}, not {value}"
    return ""


def _named(error: BaseException | None) -> str:
    return "nothing" if error is None else named(error)
