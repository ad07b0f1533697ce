"""The gate as a pull request runs it: a repository, a branch, a changed scheduler, no stand-ins."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "source"))

from mini import GOOD_PAD, OVERFLOWING_PAD, line_of, text

from proofs.cli import main

INSIDE = "vllm/v1/core/sched/scheduler.py"
KNOWN = "assert rows < 2 + self.num_spec_tokens"
NEW = "assert len(self.waiting) < 2"
BASELINE = f"""
[[accepted]]
invariant = "no-reachable-assert"
source = "{INSIDE}"
site = "Scheduler.schedule: {KNOWN}"
reason = "known, and tolerated"
"""


class Repository:
    """A checkout with a scheduler on ``main``, on a branch that may change it."""

    def __init__(self, folder: Path, content: str) -> None:
        self.folder, self.file = folder, folder / INSIDE
        self.file.parent.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.change(content, "before")
        self.git("checkout", "-qb", "change")

    def git(self, *arguments: str) -> None:
        who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(self.folder), *who, *arguments], check=True)

    def change(self, content: str, why: str = "change") -> None:
        self.file.write_text(content, encoding="utf-8")
        self.git("add", ".")
        self.git("commit", "-qm", why)


@pytest.fixture
def enter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """A repository with this text on ``main``, and we in it."""

    def make(content: str) -> Repository:
        repository = Repository(tmp_path / "checkout", content)
        monkeypatch.chdir(repository.folder)
        return repository

    return make


def _gate(*options: str) -> int:
    return main(["gate", "--base", "main", *options, INSIDE])


def test_a_change_without_effect_passes(enter, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    enter(text(GOOD_PAD)).change("# said better\n" + text(GOOD_PAD))
    assert _gate() == 0
    said = capsys.readouterr().out
    assert "VERIFICATION SUCCESSFUL" in said and "no difference found" in said


def test_a_change_that_breaks_a_promise_fails_at_its_line(
    enter,  # type: ignore[no-untyped-def]
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    content = text(OVERFLOWING_PAD)
    enter(text(GOOD_PAD)).change(content)
    sarif = tmp_path / "out.sarif"
    assert _gate("--output", f"sarif={sarif}") == 1
    said = capsys.readouterr().out
    assert "1 row before, 1 + K rows after" in said
    results = json.loads(sarif.read_text())["runs"][0]["results"]
    found = next(r for r in results if r["ruleId"] == "within-model-len")
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == INSIDE
    line = line_of(content, "rows, padded = 1 + self.num_spec_tokens, True")
    assert place["region"]["startLine"] == line
    flow = found["codeFlows"][0]["threadFlows"][0]["locations"]
    uris = {f["location"]["physicalLocation"]["artifactLocation"]["uri"] for f in flow}
    assert uris == {INSIDE}


def test_a_baseline_accepts_the_known_assertion_and_not_a_new_one(
    enter,  # type: ignore[no-untyped-def]
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    baseline = tmp_path / "accepted.toml"
    baseline.write_text(BASELINE)
    repository = enter(text(admit=KNOWN))
    repository.change("# a line more\n" + text(admit=KNOWN))
    assert _gate("--baseline", str(baseline)) == 0
    assert "accepted: known, and tolerated" in capsys.readouterr().out
    repository.change(text(admit=KNOWN, schedule=NEW))
    assert _gate("--baseline", str(baseline)) == 1
    repository.change(text())
    assert _gate("--baseline", str(baseline)) == 1
    assert "stale entry of the baseline" in capsys.readouterr().out


def test_a_hostile_change_is_rejected(enter, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    enter(text()).change(text(imports="import os"))
    assert _gate() == 2
    told = capsys.readouterr()
    assert "rejected: scheduler.py:" in told.err and "Traceback" not in told.err


def test_a_change_the_profile_does_not_know_is_undecided(
    enter,  # type: ignore[no-untyped-def]
    capsys: pytest.CaptureFixture[str],
) -> None:
    enter(text()).change(text(schedule="self.kv_cache_manager.defragment()"))
    assert _gate() == 3
    assert "kv_cache_manager.defragment() | call | None" in capsys.readouterr().out
