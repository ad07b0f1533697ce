"""Where a violation is: its line of the checked source, or of the policy's definition."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from model import policies
from proofs.verdict import Obligation

POLICIES_FILE = "model/policies.py"


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, counted from 1."""

    file: str
    line: int


def place_of(obligation: Obligation) -> Place | None:
    """The line a report points at; None if there is none to point at."""
    trace = obligation.trace
    if trace is not None and trace.source is not None:
        return Place(str(trace.source["file"]), int(trace.source["line"]))
    line = _definitions().get(obligation.policy)
    return None if line is None else Place(POLICIES_FILE, line)


@cache
def _definitions() -> dict[str, int]:
    """Policy → the line of the model that defines it."""
    names = {id(policy): name for name, policy in policies.POLICIES.items()}
    by_variable = {
        variable: names[id(value)]
        for variable, value in vars(policies).items()
        if id(value) in names
    }
    tree = ast.parse(Path(policies.__file__).read_text(encoding="utf-8"))
    found: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = by_variable.get(node.targets[0].id)
            if name is not None:
                found.setdefault(name, node.lineno)
    return found
