"""Results are written whole, into ordinary files only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from proofs.cli import main
from proofs.errors import UsageError
from proofs.report.files import write_whole
from proofs.report.outputs import parse

ROOT = Path(__file__).resolve().parents[3]
TRACE = ROOT / "docs" / "examples" / "53962" / "trace.json"


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink() and target.read_text() == "new"


def test_what_is_no_ordinary_file_is_refused_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(UsageError, match="no ordinary file"):
            write_whole(path, "text")
    assert pipe.is_fifo() and os.listdir(tmp_path) == ["pipe"]


def test_one_file_by_two_names_is_one_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with pytest.raises(UsageError, match="two outputs"):
        parse([f"json={path}", f"sarif={tmp_path / '..' / tmp_path.name / 'x'}"], "json")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full here")
def test_a_full_disk_is_one_line_and_status_2() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "proofs", "trace", "show", str(TRACE)],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "No space left" in done.stderr


@pytest.mark.parametrize(("columns", "widest"), [("60", 60), ("", 100), ("0", 100), ("wide", 100)])
def test_a_pipe_is_as_wide_as_columns_says(
    columns: str,
    widest: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["trace", "show", str(TRACE)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert widest - 15 < max(map(len, lines)) <= widest
