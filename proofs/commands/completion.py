"""``completion``: a script that lets a shell complete commands, options and ids."""

from __future__ import annotations

import argparse
from importlib import import_module
from shlex import quote

from model.policies import POLICIES
from proofs.errors import UsageError
from spec.invariants import IDS

EXAMPLES = (
    "examples:\n"
    '  eval "$(python -m proofs completion bash)"      for this shell\n'
    "  python -m proofs completion zsh > ~/.zfunc/_schedproof\n"
    "\n"
    "It completes the command schedproof; without it: alias schedproof='python -m proofs'"
)
SHELLS = ("bash", "zsh")
IDS_OF = {"--policy": tuple(POLICIES), "--only": IDS}
"""Option → the names it takes."""
FILE = ":file"
"""Stands for the names of files."""

Words = dict[str, tuple[str, ...]]
"""Where one is (``check``, ``trace show``, ``check --format``) → what may come next."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Takes the shell."""
    parser.add_argument("shell", metavar="SHELL", help=" or ".join(SHELLS))


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    if arguments.shell not in SHELLS:
        told = " and ".join(SHELLS)
        raise UsageError(f"no completion for {arguments.shell!r}; there is one for {told}")
    print(script(arguments.shell), end="")
    return 0


def words() -> Words:
    """Everything that can be completed, read off the parsers themselves."""
    from proofs.cli import COMMANDS

    found: Words = {"": tuple(COMMANDS)}
    for name in COMMANDS:
        parser = argparse.ArgumentParser(prog=name)
        import_module(f"proofs.commands.{name}").add_arguments(parser)
        _collect(name, parser, found)
    return found


def _collect(at: str, parser: argparse.ArgumentParser, found: Words) -> None:
    next_words: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            next_words += action.choices
            for name, inner in action.choices.items():
                _collect(f"{at} {name}", inner, found)
        elif action.option_strings:
            next_words += action.option_strings
            if action.nargs != 0:
                for option in action.option_strings:
                    found[f"{at} {option}"] = _values(option, action)
        elif action.dest == "shell":
            next_words += SHELLS
        elif action.choices:
            next_words += map(str, action.choices)
        elif action.metavar == "FILE":
            next_words.append(FILE)
    found[at] = tuple(next_words)


def _values(option: str, action: argparse.Action) -> tuple[str, ...]:
    if action.choices is not None:
        return tuple(map(str, action.choices))
    if option in IDS_OF:
        return IDS_OF[option]
    return (FILE,) if action.metavar in ("FILE", "DIR", "PATH") else ()


def script(shell: str) -> str:
    """The script; zsh runs the one for bash through its own emulation."""
    cases = "\n".join(
        f"    {quote(at)}) words={quote(' '.join(w for w in known if w != FILE))};"
        f" files={int(FILE in known)};;"
        for at, known in words().items()
    )
    first = "#compdef schedproof\nautoload -U +X bashcompinit && bashcompinit\n"
    return (first if shell == "zsh" else "") + BASH.replace("@CASES@", cases)


BASH = """\
_schedproof_words() {
  case "$1" in
@CASES@
    *) return 1;;
  esac
}
_schedproof() {
  local current="${COMP_WORDS[COMP_CWORD]}" last="${COMP_WORDS[COMP_CWORD-1]}"
  local at= word words= files=0 i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    if [[ "$word" != -* ]] && _schedproof_words "${at:+$at }$word"; then
      at="${at:+$at }$word"
    fi
  done
  if [[ "$last" != -* ]] || ! _schedproof_words "$at $last"; then
    _schedproof_words "$at"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ "$files" = 1 ]; then COMPREPLY+=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _schedproof schedproof
"""
