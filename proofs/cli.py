"""The command line: parses, dispatches, and turns errors into one line and an exit status.

Exit status: 0 proved (and every known bug still caught), 1 violated, 2 bad input or usage,
3 undecided (also when interrupted: an unfinished run proves nothing).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn, Protocol

from proofs.errors import EXIT_UNDECIDED, EXIT_USAGE, UsageError

COMMANDS: dict[str, str] = {
    "check": "prove the invariants for a policy, a release or a scheduler source",
    "diff": "compare two releases or sources: what changed, and that the rest did not",
    "releases": "check published releases; print release against invariant",
    "list": "list every invariant, waiver, assumption, policy and knob",
    "explain": "explain one of them",
    "fuzz": "look for a violation by random executions, with the runner attached",
    "simulate": "simulate what padding costs a data-parallel group, by load",
    "trace": "show a saved counterexample; record a real engine and check the recording",
    "gate": "check a changed scheduler file, and compare it with its merge base",
    "completion": "print a completion script for bash or zsh",
    "conform": "hold the model against the released scheduler, executed in lockstep",
    "table": "print the table of policies against invariants (for the README)",
    "bench": "measure what checking costs",
}
"""Command → one line of help; each is a module of ``proofs.commands``."""


class Command(Protocol):
    """What a module of ``proofs.commands`` offers."""

    EXAMPLES: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """Usage errors are one line that says what to do."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; never lets a traceback out."""
    try:
        status = _dispatch(arguments)
        sys.stdout.flush()  # here, where a full disk can still be reported
        return status
    except UsageError as error:
        print(f"proofs: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("proofs: interrupted; an unfinished run proves nothing", file=sys.stderr)
        return EXIT_UNDECIDED
    except BrokenPipeError:
        # The reader of our output went away (``| head``): there is nobody to report to.
        _drop_output()
        return EXIT_USAGE
    except OSError as error:
        _drop_output()
        what = f"{error.filename}: " if error.filename else ""
        print(f"proofs: {what}{error.strerror}; what was printed is not whole", file=sys.stderr)
        return EXIT_USAGE
    except ModuleNotFoundError:
        raise  # what is not installed is bad input: `__main__` says what to do
    except Exception as error:  # a defect, of ours or of an edited model: no verdict
        what = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"proofs: nothing is decided; this should not happen: {what}", file=sys.stderr)
        return EXIT_UNDECIDED


def _drop_output() -> None:
    """What is still buffered has nowhere to go; the interpreter must not try at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: Sequence[str] | None) -> int:
    parser = Parser(
        prog="python -m proofs",
        description="Formal verification of vLLM's scheduler.",
        epilog="Start with: python -m proofs check",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    modules: dict[str, Any] = {}
    for name, line in COMMANDS.items():
        module: Command = import_module(f"proofs.commands.{name}")
        modules[name] = module
        module.add_arguments(
            commands.add_parser(
                name,
                help=line,
                description=line[0].upper() + line[1:] + ".",
                epilog=module.EXAMPLES,
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
        )
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given and not given[0].startswith("-") and given[0] not in COMMANDS:
        near = get_close_matches(given[0], COMMANDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMANDS)}"
        raise UsageError(f"unknown command {given[0]!r}; {hint} (see {parser.prog} --help)")
    parsed = parser.parse_args(given)
    status: int = modules[parsed.command].run(parsed)
    return status
