"""The gate: which files it checks, what it compares them with, and what the worst answer is."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from proofs.cli import COMMANDS
from proofs.commands.gate import add_arguments, base_of, gate, schedulers
from proofs.errors import UsageError

ROOT = Path(__file__).resolve().parents[3]
INSIDE = "vllm/v1/core/sched/scheduler.py"


def _git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with a scheduler on main and a change of it on a branch."""
    file = tmp_path / INSIDE
    file.parent.mkdir(parents=True)
    file.write_text("# before\n", encoding="utf-8")
    _git(tmp_path, "init", "-q", "-b", "main")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-qm", "before")
    _git(tmp_path, "checkout", "-qb", "change")
    file.write_text("# after\n", encoding="utf-8")
    _git(tmp_path, "commit", "-qam", "after")
    return tmp_path


def _gate(statuses: dict[str, int], *given: str) -> tuple[int, list[list[str]]]:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    ran: list[list[str]] = []

    def command(arguments: Sequence[str]) -> int:
        ran.append(list(arguments))
        return statuses[arguments[0]]

    return gate(parser.parse_args(given), command), ran


@pytest.mark.parametrize(
    ("check", "diff", "worst"), [(0, 0, 0), (1, 0, 1), (0, 1, 0), (3, 1, 3), (0, 2, 2), (2, 0, 2)]
)
def test_check_decides_and_diff_explains(checkout: Path, check: int, diff: int, worst: int) -> None:
    file = str(checkout / INSIDE)
    status, ran = _gate({"check": check, "diff": diff}, file, "--base", "main")
    assert status == worst
    base = _git(checkout, "rev-parse", "main")
    assert ran == [["check", "--source", file], ["diff", f"{base}:{INSIDE}", file]]


def test_options_reach_the_check() -> None:
    given = ("a.py", "--baseline", "b.toml", "--timeout", "9", "--output", "sarif=c", "junit=d")
    _, ran = _gate({"check": 0}, *given)
    assert ran == [
        [
            *("check", "--source", "a.py", "--baseline", "b.toml", "--timeout", "9"),
            *("--output", "sarif=c", "junit=d"),
        ]
    ]


def test_a_new_file_is_compared_with_nothing(checkout: Path) -> None:
    new = checkout / INSIDE.replace("scheduler", "new_scheduler")
    new.write_text("", encoding="utf-8")
    assert base_of(new, "main") is None


def test_a_scheduler_and_its_sibling_are_one(checkout: Path) -> None:
    file = checkout / INSIDE
    sibling = file.with_name("async_scheduler.py")
    assert schedulers([str(sibling), str(file)]) == [file]


def test_the_last_commit_is_a_base(checkout: Path) -> None:
    last = _git(checkout, "rev-parse", "HEAD")
    assert base_of(checkout / INSIDE, "HEAD") == f"{last}:{INSIDE}"


def test_before_the_first_commit_every_file_is_new(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    assert base_of(tmp_path / "scheduler.py", "HEAD") is None


def test_outside_a_checkout_there_is_no_base(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lies in no git checkout"):
        base_of(tmp_path / "scheduler.py", "HEAD")


def test_in_a_hook_of_a_linked_worktree_the_file_is_found(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """There git sets ``GIT_DIR``, and any folder then seems to be the top of the checkout."""
    linked = tmp_path_factory.mktemp("linked") / "tree"
    _git(checkout, "worktree", "add", "-q", "-b", "other", str(linked))
    hook = checkout / ".git" / "hooks" / "pre-commit"
    found = "import sys; from pathlib import Path; from proofs.commands.gate import base_of; "
    found += f"print(base_of(Path({INSIDE!r}), 'HEAD'), file=open({str(linked / 'said')!r}, 'w'))"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -c "{found}"\n')
    hook.chmod(0o755)
    last = _git(linked, "rev-parse", "HEAD")
    (linked / INSIDE).write_text("# staged\n")
    _git(linked, "commit", "-qam", "staged")
    assert (linked / "said").read_text().strip() == f"{last}:{INSIDE}"


@pytest.mark.parametrize("reference", ["nowhere", "--output=x"])
def test_a_bad_reference_is_refused_in_one_line(checkout: Path, reference: str) -> None:
    with pytest.raises(UsageError) as refused:
        base_of(checkout / INSIDE, reference)
    assert "\n" not in str(refused.value)


def test_files_may_stand_behind_the_documents() -> None:
    _, ran = _gate({"check": 0}, "--output", "sarif=c", "a.py")
    assert ran == [["check", "--source", "a.py", "--output", "sarif=c"]]
    with pytest.raises(UsageError, match="name the changed"):
        _gate({"check": 0}, "--output", "sarif=c")


def test_several_schedulers_cannot_share_an_output() -> None:
    with pytest.raises(UsageError, match="one scheduler at a time"):
        _gate({"check": 0}, "a.py", "b.py", "--output", "sarif=c")


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("github-actions", "action.yml"),
        *(("github-workflows", str(f.relative_to(ROOT))) for f in ROOT.glob(".github/workflows/*")),
    ],
)
def test_what_github_reads_is_valid(schema: str, file: str) -> None:
    command = ["check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(ROOT / file)]
    done = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout


def test_the_action_pastes_no_input_into_a_script() -> None:
    action = YAML(typ="safe").load(ROOT / "action.yml")
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_the_hook_runs_a_command_that_exists() -> None:
    (hook,) = YAML(typ="safe").load(ROOT / ".pre-commit-hooks.yaml")
    script, command = hook["entry"].split()  # no "python -m": the checkout would come first
    assert hook["args"] == ["--base", "HEAD"]
    assert script in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert command in COMMANDS
    assert {"id", "name", "entry", "language", "files"} <= hook.keys()
