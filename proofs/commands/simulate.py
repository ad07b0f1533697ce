"""``simulate``: what the padding guard costs a data-parallel group, by load."""

from __future__ import annotations

import argparse

from proofs import simulate
from proofs.errors import UsageError

EXAMPLES = (
    "examples:\n"
    "  python -m proofs simulate\n"
    "  python -m proofs simulate --ranks 8 --steps 800 --qps 1,2,4 --output ranks8.svg\n"
    "  python -m proofs simulate --qps 0.5,1,2 --full-ms 20 --piecewise-ms 35"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Ranks, steps, seed and where the plot goes."""
    simulate.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the table and write the plot."""
    try:
        return simulate.run(arguments)
    except ValueError as error:
        raise UsageError(str(error)) from error
