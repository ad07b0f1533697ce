"""Where ``check`` writes what: formats, several outputs, traces, GitHub, and bad places."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from proofs.cli import main
from proofs.commands import check as command
from proofs.errors import UsageError
from proofs.report import outputs, terminal, trace_file

CHEAP = ["check", "--policy", "55126", "--only", "no-reachable-assert", "--jobs", "1"]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run that writes all there is to write."""
    folder = tmp_path_factory.mktemp("run")
    pairs = [f"{name}={folder / name}" for name in outputs.FORMATS]
    summary = folder / "summary.md"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_ACTIONS", "true")
        patch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        told, said = io.StringIO(), io.StringIO()
        patch.setattr("sys.stdout", told)
        patch.setattr("sys.stderr", said)
        arguments = [*CHEAP, "--output", *pairs, "--save-traces", str(folder / "traces"), "--quiet"]
        assert main(arguments) == 1
    (folder / "told").write_text(told.getvalue(), encoding="utf-8")
    (folder / "said").write_text(said.getvalue(), encoding="utf-8")
    return folder


def test_one_run_writes_every_format(everything: Path) -> None:
    assert json.loads((everything / "json").read_text(encoding="utf-8"))["verdict"] == "violated"
    assert json.loads((everything / "sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert (everything / "junit").read_text(encoding="utf-8").startswith("<?xml")
    assert "VERIFICATION FAILED" in (everything / "text").read_text(encoding="utf-8")
    assert "\x1b" not in (everything / "text").read_text(encoding="utf-8")
    assert "❌" in (everything / "markdown").read_text(encoding="utf-8")


def test_saved_traces_are_named_after_what_they_break_and_shown_again(
    everything: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = sorted(file.name for file in (everything / "traces").iterdir())
    assert names == [
        "55126-no-reachable-assert-async.trace.json",
        "55126-no-reachable-assert-sync.trace.json",
    ]
    saved = everything / "traces" / names[1]
    assert trace_file.load(saved).invariant == "no-reachable-assert"
    assert main(["trace", "show", str(saved)]) == 0
    assert "see it again: python -m proofs check --policy 55126" in capsys.readouterr().out
    page = everything / "page.html"
    assert main(["trace", "show", str(saved), "--format", "html", "--output", str(page)]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_github_gets_annotations_and_a_summary(everything: Path) -> None:
    said = (everything / "said").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in said] == ["::error file=model/policies.py"] * 2
    summary = (everything / "summary.md").read_text(encoding="utf-8")
    assert "| no-reachable-assert | BROKEN |" in summary


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["serif=a.sarif"], "did you mean sarif?"),
        (["yaml=a"], "unknown format in --output yaml=a: legal: text, json"),
        (["json="], "names no file"),
        (["none/a.json"], "no folder none; create it"),
        (["."], "it is a folder"),
        (["a.txt", "json=a.txt"], "two outputs go to a.txt"),
    ],
)
def test_a_bad_output_is_refused_before_anything_is_solved(
    given: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "_outcome", lambda *_: pytest.fail("solved first"))
    assert main([*CHEAP, "--output", *given]) == 2
    captured = capsys.readouterr()
    assert told in captured.err
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_traces_cannot_be_saved_into_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    assert main([*CHEAP, "--save-traces", str(file)]) == 2
    assert "cannot make the folder" in capsys.readouterr().err


def test_a_folder_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageError, match="no permission"):
        outputs.writable(tmp_path / "a")


def test_a_failing_write_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("proofs.report.files.os.replace", full)
    with pytest.raises(UsageError, match="No space left"):
        outputs.write_whole(tmp_path / "a.json", "{}")
    assert list(tmp_path.iterdir()) == []


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


TEXT = "  no-reachable-assert      BROKEN\n  broken for request A: " + "word " * 40 + "\n"


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "70")
    return Screen()


def test_a_terminal_gets_colour_and_its_width(screen: Screen) -> None:
    terminal.show(TEXT, screen)
    assert "\x1b[1;31mBROKEN" in screen.getvalue()
    plain = screen.getvalue().replace("\x1b[0m", "").replace("\x1b[31m", "")
    assert max(map(len, plain.replace("\x1b[1;31m", "").splitlines())) <= 70


def test_no_color_and_dumb_terminals_get_none(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.show(TEXT, screen)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    terminal.show(TEXT, screen)
    assert "\x1b" not in screen.getvalue()


def test_a_pipe_gets_the_text_as_it_is() -> None:
    pipe = io.StringIO()
    terminal.show(TEXT, pipe)
    assert pipe.getvalue() == TEXT


def test_a_narrow_encoding_is_no_reason_to_fail() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    terminal.write("θ = 1 \ud800\n", stream)
    stream.flush()
    assert raw.getvalue() == b"\\u03b8 = 1 \\ud800\n"


def test_quiet_says_the_verdict_and_nothing_else(everything: Path) -> None:
    (line,) = (everything / "told").read_text(encoding="utf-8").splitlines()
    assert line.startswith("VERIFICATION FAILED: policy 55126: 2 violated (")
