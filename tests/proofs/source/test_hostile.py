"""A hostile file reads, writes and starts nothing, ends in time, and is reported as rejected."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from borrowed import BORROWED
from hostile import AT_RUN_TIME, AT_THE_GATE, SPEAKING, WITHOUT_EFFECT, WITHOUT_END
from mini import text, texts
from ordinary import placed

from proofs.cli import main
from proofs.source.check import check_source
from proofs.source.errors import Rejected, SourceError
from proofs.source.gate import parse
from proofs.source.inputs import read_source
from proofs.source.loader import Text
from proofs.source.sandbox import Job, Limit, check_in_sandbox
from proofs.verdict import ASYNC, MODES, PROVED, SYNC, UNDECIDED, VIOLATED

LIMIT = Limit(cpu_seconds=2, wall_seconds=30, memory_bytes=1 << 30)


def _parts(parts: dict[str, str], canary: Path) -> dict[str, str]:
    return {name: part.replace("{canary}", str(canary)) for name, part in parts.items()}


def test_there_are_enough_of_them() -> None:
    assert len(AT_THE_GATE) + len(AT_RUN_TIME) >= 30


@pytest.mark.parametrize("name", AT_THE_GATE)
def test_refused_before_anything_runs(name: str, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    report = check_source(texts(**_parts(AT_THE_GATE[name], canary)), name, modes=[SYNC])
    assert report.rejected.startswith("rejected: scheduler.py:"), report
    assert report.findings == () and report.exit_status == 2
    assert not canary.exists()


def test_the_report_names_the_line() -> None:
    content = text(imports="import os")
    line = content.splitlines().index("import os") + 1
    with pytest.raises(Rejected) as refused:
        parse(content, "scheduler.py")
    assert (refused.value.line, refused.value.why) == (line, "imports os")


@pytest.mark.parametrize("name", AT_RUN_TIME)
def test_stopped_while_it_runs(name: str) -> None:
    report = check_in_sandbox(Job(texts(**AT_RUN_TIME[name]), name, modes=(SYNC,)), LIMIT)
    assert report.rejected.startswith("rejected: "), report
    assert not any(finding.verdict == PROVED for finding in report.findings)


@pytest.mark.parametrize("name", WITHOUT_END)
def test_a_check_that_runs_into_a_limit_is_undecided_not_rejected(name: str) -> None:
    report = check_in_sandbox(Job(texts(**WITHOUT_END[name]), name, modes=(SYNC,)), LIMIT)
    assert report.rejected == "" and report.exit_status == 3
    assert report.statistics.seconds > 1, "the time it took is told all the same"
    assert {(f.verdict, f.reason) for f in report.findings} == {
        (UNDECIDED, "the check used more than 2 s of processor time")
    }


def test_a_mode_that_runs_into_a_limit_leaves_the_other_its_verdicts() -> None:
    slow = "if self.scheduler_config.async_scheduling:\n            x = 7 ** (7 ** 12)"
    both = text(schedule=slow) + "\n\nclass AsyncScheduler(Scheduler):\n    pass\n"
    report = check_in_sandbox(Job((Text("scheduler.py", both),), "slow"), LIMIT)
    verdicts = {mode: {f.verdict for f in report.findings if f.mode == mode} for mode in MODES}
    assert verdicts == {SYNC: {PROVED}, ASYNC: {UNDECIDED}}


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_nothing_is_proved_by_cheating(name: str) -> None:
    try:
        report = check_source(texts(**WITHOUT_EFFECT[name]), name, modes=[SYNC])
    except SourceError as error:
        assert "does not load" in str(error)
        return
    assert not any(finding.verdict == PROVED for finding in report.findings), report


@pytest.mark.parametrize("name", BORROWED)
def test_nothing_is_proved_by_what_is_lent(name: str) -> None:
    try:
        report = check_source(texts(**placed(BORROWED[name])), name, modes=[SYNC])
    except SourceError as error:
        assert "does not load" in str(error)
        return
    assert not any(finding.verdict in (PROVED, VIOLATED) for finding in report.findings), report


@pytest.mark.parametrize("raised", ["raise E()", "assert rows < 3, E()", "raise ValueError(E())"])
@pytest.mark.parametrize("name", SPEAKING)
def test_an_exception_is_not_asked_what_it_says(name: str, raised: str) -> None:
    content = texts(imports=f"class E(Exception):\n    {SPEAKING[name]}\n", admit=raised)
    found = check_source(content, name, modes=[SYNC]).finding("no-reachable-assert", SYNC)
    assert found is not None and found.verdict == VIOLATED
    assert found.trace is not None and found.trace.violation.sentence


def test_an_oversized_file_is_refused() -> None:
    report = check_source((Text("scheduler.py", "#" * 3_000_000),), "big", modes=[SYNC])
    assert "larger than" in report.rejected


def test_the_child_may_not_reach_outside() -> None:
    """The lock-down holds even for code that got past gate and stubs."""
    tried = (
        "open('/etc/hostname')",
        "__import__('socket').create_connection(('127.0.0.1', 9))",
        "__import__('os').system('true')",
        "__import__('subprocess').run(['true'])",
        "__import__('os').listdir('/')",
        "__import__('tempfile').mkstemp()",
    )
    script = (
        "import os, socket, subprocess, sys, tempfile\n"
        "from proofs.source.child import lock_down\n"
        "from proofs.source.sandbox import Limit\n"
        "noted = []\n"
        "lock_down(Limit(), noted)\n"
        f"for attempt in {tried!r}:\n"
        "    try:\n"
        "        eval(attempt)\n"
        "    except RuntimeError:\n"
        "        continue\n"
        "    sys.exit(1)\n"
        f"sys.exit(0 if len(noted) >= {len(tried)} else 2)\n"
    )
    child = os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", script])
    assert child == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("def f(:", "1: does not parse: invalid syntax"),
        ("x = 1\n<<<<<<< HEAD\ny = 2\n=======\ny = 3\n>>>>>>> theirs\n", "2: does not parse: "),
        ("def f():\n    x = 1\n  y = 2\n", "3: does not parse: unindent does not match"),
        ("x = = 3\n", "1: does not parse: invalid syntax"),
        ("x = 1\nreturn x\n", "2: does not compile: 'return' outside function"),
    ],
)
def test_a_file_that_is_no_python_is_told_so(
    content: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.py"
    file.write_text(content)
    assert main(["check", "--source", str(file)]) == 2
    told = "".join(capsys.readouterr())
    assert f"rejected: bad.py:{said}" in told and "reach outside" not in told


def test_a_harmless_file_passes_the_sandbox() -> None:
    report = check_in_sandbox(Job(texts(), "mini", modes=(SYNC,)))
    assert report.verdict == PROVED and report.exit_status == 0


@pytest.mark.parametrize("init", ["größe = 1", "x = '\\N{GREEK SMALL LETTER THETA}'"])
def test_names_of_any_script_pass_the_sandbox(init: str) -> None:
    report = check_in_sandbox(Job(texts(init=init), "mini", modes=(SYNC,)))
    assert report.verdict == PROVED and report.exit_status == 0, report


def test_a_byte_order_mark_is_no_syntax(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.py"
    file.write_text(text(), encoding="utf-8-sig")
    source = read_source(str(file))
    assert source.texts[0].content == text()


def test_a_violation_crosses_the_pipe() -> None:
    from mini import OVERFLOWING_PAD

    report = check_in_sandbox(Job(texts(OVERFLOWING_PAD), "mini", modes=(SYNC,)))
    found = report.finding("within-model-len", SYNC)
    assert found is not None and found.verdict == VIOLATED and found.trace is not None
    assert found.trace.violation.sentence.endswith("= max_model_len")
