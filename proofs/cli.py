"""The command line: parses, dispatches, and turns errors into one line and an exit status.

Exit status: 0 proved (and every known bug still caught), 1 violated, 2 bad input or usage,
3 undecided (also when interrupted: an unfinished run proves nothing).
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import NoReturn, Protocol

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

PROG = "python -m proofs"


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
    if sys.stderr is None:  # closed: `print` would take stdout, which may carry a document
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (to the end of the process)
    try:
        if sys.stdout is None:
            raise UsageError("stdout is closed, so nothing can be told; send it to /dev/null")
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


def collect_rarely() -> None:
    """Garbage collection for explorations: what they make is kept while they last.

    Looking it through for cycles every 700 objects, as is usual, takes a seventh of the time.
    """
    gc.freeze()  # what was imported stays
    gc.set_threshold(20_000, 20, 50)


def _drop_output() -> None:
    """What is still buffered has nowhere to go; the interpreter must not try at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    name = given[0] if given else ""
    if name and not name.startswith("-") and name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMANDS)}"
        raise UsageError(f"unknown command {name!r}; {hint} (see {PROG} --help)")
    # The command asked for and no other: half a second of modules that nobody needs.
    command: Command | None = import_module(f"proofs.commands.{name}") if name in COMMANDS else None
    parsed = _parser(name, command).parse_args(given)
    assert command is not None, "a parser that returns was given a command"
    collect_rarely()
    return command.run(parsed)


def _parser(name: str, command: Command | None) -> Parser:
    """Every command by name and help, one of them with its arguments."""
    parser = Parser(
        prog=PROG,
        description="Formal verification of vLLM's scheduler.",
        epilog="Start with: python -m proofs check",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for each, line in COMMANDS.items():
        about = commands.add_parser(
            each,
            help=line,
            description=line[0].upper() + line[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if command is not None and each == name:
            about.epilog = command.EXAMPLES
            command.add_arguments(about)
    return parser
