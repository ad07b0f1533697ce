"""Whatever a user names is read only if it is an ordinary file: nothing hangs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proofs.cli import main
from proofs.documents import is_version, open_ordinary, read_bounded
from proofs.errors import UsageError

SCHEDULER = "scheduler.py"
"""Replaced by the name of a file that exists."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["trace", "show", "PIPE"],
        ["trace", "check", "PIPE"],
        ["trace", "emit-test", "PIPE"],
        ["fuzz", "--replay", "PIPE"],
        ["check", "--policy", "54028", "--baseline", "PIPE"],
        ["check", "--source", "PIPE"],
        ["check", "--source", SCHEDULER, "--profile", "PIPE"],
        ["diff", SCHEDULER, "PIPE"],
        ["diff", SCHEDULER, SCHEDULER, "--profile", "PIPE"],
        ["gate", "PIPE"],
        ["gate", SCHEDULER, "--baseline", "PIPE"],
    ],
)
def test_a_pipe_without_a_writer_is_refused_in_one_line(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe, scheduler = tmp_path / "pipe", tmp_path / SCHEDULER
    os.mkfifo(pipe)
    scheduler.write_text("")
    names = {"PIPE": str(pipe), SCHEDULER: str(scheduler)}
    assert main([names.get(word, word) for word in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no ordinary file" in captured.err and captured.err.count("\n") == 1


def test_a_pipe_beside_a_scheduler_is_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "my_scheduler.py")
    assert main(["check", "--source", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_links_are_followed_and_folders_are_not_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    with open_ordinary(tmp_path / "link") as file:
        assert file.read() == b"text"
    for path in (tmp_path, Path("/dev/null")):
        with pytest.raises(OSError, match="no ordinary file"):
            open_ordinary(path)


def test_a_long_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(2**20 + 1))
    with pytest.raises(UsageError, match="file is longer than 1 MB: not a trace"):
        read_bounded(path, 2**20, "a trace")


@pytest.mark.parametrize("given", [True, 1.0, "1", None, [1], 2, 0])
def test_only_the_whole_number_is_the_version(given: object) -> None:
    assert is_version(1, 1)
    assert not is_version(given, 1)
