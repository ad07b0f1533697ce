"""The completion script knows every command, option and id, in a real shell."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from model.policies import POLICIES
from proofs.cli import COMMANDS, main
from proofs.commands.completion import script, words
from spec.invariants import IDS

ASK = """
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_schedproof
printf '%s\\n' "${COMPREPLY[@]}"
"""
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")


def _complete(*typed: str) -> list[str]:
    text = script("bash") + ASK
    done = subprocess.run(
        ["bash", "-c", text, "-", "schedproof", *typed],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stderr == ""
    return done.stdout.split()


@needs_bash
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ([""], list(COMMANDS)),
        (["check", "--policy", ""], list(POLICIES)),
        (["check", "--policy", "53962", "--only", "no-p"], [i for i in IDS if i[:4] == "no-p"]),
        (["check", "--quiet", "--save"], ["--save-traces"]),
        (["check", "--format", "s"], ["sarif"]),
        (["trace", ""], ["-h", "--help", "show", "record", "check", "emit-test"]),
        (["trace", "show", "--format", "i"], ["itf"]),
        (["completion", "z"], ["zsh"]),
        (["check", "--timeout", ""], []),
    ],
)
def test_what_is_offered(typed: list[str], offered: list[str]) -> None:
    assert _complete(*typed) == offered


def test_every_command_is_described() -> None:
    assert set(COMMANDS) <= words().keys()


def test_zsh_gets_the_same_through_its_emulation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "zsh"]) == 0
    assert capsys.readouterr().out.startswith("#compdef schedproof\n")


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish"]) == 2
    assert capsys.readouterr().err == (
        "proofs: no completion for 'fish'; there is one for bash and zsh\n"
    )
