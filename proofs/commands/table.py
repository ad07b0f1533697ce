"""``table``: the table of policies against invariants, as the README shows it."""

from __future__ import annotations

import argparse
import time

from model.policies import POLICIES
from proofs import campaign
from proofs.report.verdicts_text import policy_cells
from spec.invariants import IDS

EXAMPLES = "example:\n  python -m proofs table"
SECONDS = 600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments."""


def run(arguments: argparse.Namespace) -> int:
    """Compute every cell and print Markdown."""
    outcome = campaign.run(
        "table",
        list(POLICIES.values()),
        IDS,
        time.time() + SECONDS,
        campaign.default_jobs(),
        lambda *_: None,
    )
    print(markdown(policy_cells(outcome.obligations)))
    return 0


def markdown(cells: list[list[str]]) -> str:
    """Rows as a Markdown table; the first row is the heading."""
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    lines.insert(1, "|" + "---|" * len(cells[0]))
    return "\n".join(lines)
