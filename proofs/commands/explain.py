"""``explain``: one invariant, waiver, assumption, policy or knob at length."""

from __future__ import annotations

import argparse

from proofs.catalog import explain
from proofs.report import terminal

EXAMPLES = (
    "examples:\n"
    "  python -m proofs explain uniform-decode\n"
    "  python -m proofs explain 55126\n"
    "  python -m proofs explain max_model_len"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Takes one id."""
    parser.add_argument("id", help="an id as printed by 'list'")


def run(arguments: argparse.Namespace) -> int:
    """Print the page of one id."""
    terminal.show(f"{explain(arguments.id)}\n")
    return 0
