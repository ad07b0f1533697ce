"""``diff`` and ``releases`` as they are typed: what they print, and their exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "source"))

from mini import GOOD_PAD, OVERFLOWING_PAD, text

from proofs.cli import main
from proofs.commands import releases
from proofs.source.releases import Matrix
from proofs.source.verdicts import Finding, SourceReport
from proofs.verdict import PROVED, UNDECIDED, VIOLATED, Statistics


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text(text(GOOD_PAD))
    new.write_text(text(OVERFLOWING_PAD))
    return str(old), str(new)


def test_diff_says_equal(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", pair[0], pair[0]]) == 0
    said = capsys.readouterr().out
    assert "no difference found" in said and "scheduled alike (proved)" in said


def test_diff_says_what_changed(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *pair]) == 1
    said = capsys.readouterr().out
    assert "on a rank with nothing running: 1 row before, 1 + K rows after" in said
    assert "smallest example: max_model_len = 3, num_spec_tokens = 1" in said


def test_diff_as_json(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *pair, "--format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == 1 and data["old"] == pair[0]
    assert data["differences"][0]["before"]["requests"]


def test_diff_of_a_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@t"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True)

    file = tmp_path / "scheduler.py"
    file.write_text(text(GOOD_PAD))
    git("init", "-q")
    git("add", "scheduler.py")
    git("commit", "-q", "-m", "one")
    file.write_text(text(GOOD_PAD).replace("budget -= rows", "budget = budget - rows"))
    monkeypatch.chdir(tmp_path)
    assert main(["diff", "HEAD:scheduler.py", "scheduler.py"]) == 0
    assert "HEAD:scheduler.py -> scheduler.py" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("/nowhere.py", "no such file or directory"),
        ("0.7.3", "engine before 0.8"),
    ],
)
def test_diff_of_nothing_is_one_line(
    pair: tuple[str, str], given: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", pair[0], given]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_diff_refuses_a_hostile_text(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = tmp_path / "hostile.py"
    hostile.write_text("import os\nos.system('true')\n")
    assert main(["diff", pair[0], str(hostile)]) == 2
    assert "rejected: hostile.py:1" in capsys.readouterr().out


def _report(version: str, verdict: str) -> SourceReport:
    found = Finding("progress", "sync", verdict, "")
    return SourceReport(f"vLLM {version}", version, (found,), Statistics())


@pytest.mark.parametrize(
    ("verdicts", "failures", "status"),
    [
        ([PROVED], (), 0),
        ([PROVED, VIOLATED], (), 1),
        ([PROVED, UNDECIDED], (), 3),
        ([PROVED], (("0.34.0", "no such release", 2),), 3),
        ([], (("0.34.0", "no such release", 2),), 2),
    ],
)
def test_releases_answers_with_its_status(
    verdicts: list[str],
    failures: tuple[tuple[str, str, int], ...],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    reports = tuple(_report(f"0.{25 + n}.0", verdict) for n, verdict in enumerate(verdicts))
    made = Matrix(reports, failures)
    monkeypatch.setattr(releases, "releases_matrix", lambda *args, **options: made)
    assert main(["releases", "--versions", "0.25.0"]) == status
    said = capsys.readouterr()
    assert ("progress" in said.out) == bool(verdicts)
    assert ("no such release" in said.err) == bool(failures)


def test_releases_needs_a_process() -> None:
    assert main(["releases", "--jobs", "0"]) == 2


def test_a_check_out_of_time_is_a_document_of_undecided_obligations(
    pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["check", "--source", pair[0], "--timeout", "0.01", "--format", "json"]
    assert main(given) == 3
    data = json.loads(capsys.readouterr().out)
    assert data["verdict"] == UNDECIDED
    assert {o["verdict"] for o in data["obligations"]} == {UNDECIDED}
    assert {o["reason"] for o in data["obligations"]} == {"the check did not finish within 0.01 s"}


def test_what_was_not_checked_is_said(
    pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--source", pair[0], "--one-step"]) == 0
    assert "async scheduling was not checked" in capsys.readouterr().err


def test_every_assertion_is_an_obligation_in_the_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.py"
    file.write_text(text(schedule="assert len(self.waiting) < 2", admit="assert rows < 3"))
    saved = tmp_path / "traces"
    given = ["check", "--source", str(file), "--format", "json", "--save-traces", str(saved)]
    assert main([*given, "--only", "no-reachable-assert"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert {o["site"] for o in data["obligations"]} == {
        "Scheduler.schedule: assert len(self.waiting) < 2",
        "Scheduler.schedule: assert rows < 3",
    }
    assert {o["invariant"] for o in data["obligations"]} == {"no-reachable-assert"}
    assert len(list(saved.iterdir())) == 2


def test_the_command_to_see_it_again_has_every_option_that_matters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, rows = tmp_path / "s.py", tmp_path / "my rows"
    file.write_text(text(OVERFLOWING_PAD, schedule="self.kv_cache_manager.defragment()"))
    rows.write_text("kv_cache_manager.defragment() | call | None | | | moves blocks only")
    assert main(["check", "--source", str(file), "--profile", str(rows), "--one-step"]) == 1
    said = capsys.readouterr().out
    assert f"check --source {file} --profile '{rows}' --only within-model-len" in said
