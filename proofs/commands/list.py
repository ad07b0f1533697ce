"""``list``: every id the other commands take."""

from __future__ import annotations

import argparse

from proofs.catalog import list_all
from proofs.report import terminal

EXAMPLES = "example:\n  python -m proofs list"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments."""


def run(arguments: argparse.Namespace) -> int:
    """Print the catalogue."""
    terminal.show(f"{list_all()}\n")
    return 0
