"""Schedulers derived from another text: a subclass in a file of its own, a renamed class."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import GOOD_PAD, line_of, text, texts

from proofs.source.check import check_source
from proofs.source.errors import SourceError
from proofs.source.inputs import read_source
from proofs.source.loader import Text
from proofs.source.sandbox import Job, check_in_sandbox
from proofs.source.verdicts import SourceReport
from proofs.verdict import PROVED, SYNC, UNDECIDED, VIOLATED

IMPORT = "from vllm.v1.core.sched.scheduler import Scheduler\n"
FORK = IMPORT + (
    "\n\nclass ThriftyScheduler(Scheduler):\n"
    "    def __init__(self, *args, **kwargs):\n"
    "        super().__init__(*args, **kwargs)\n"
    "        {init}\n\n"
    "    def cap(self, rows):\n"
    "        rows = super().cap(rows)\n"
    "        {cap}\n"
    "        return rows\n"
)
BASE = (Text("base/scheduler.py", text(GOOD_PAD)),)


def _fork(init: str = "pass", cap: str = "pass") -> tuple[Text, ...]:
    return (Text("thrifty.py", FORK.format(init=init, cap=cap)),)


def _check(fork: tuple[Text, ...], **options: object) -> SourceReport:
    return check_source(fork, "thrifty", modes=[SYNC], base=BASE, **options)  # type: ignore[arg-type]


def test_a_subclass_that_changes_nothing_is_proved_as_its_base_is() -> None:
    assert {f.verdict for f in _check(_fork()).findings} == {PROVED}


def test_what_a_subclass_breaks_is_found_in_it() -> None:
    report = _check(_fork(cap="assert rows != 2, 'two rows'"))
    found = report.finding("no-reachable-assert", SYNC)
    assert found is not None and found.verdict == VIOLATED and found.trace is not None
    content = FORK.format(init="pass", cap="assert rows != 2, 'two rows'")
    assert found.trace.source == {"file": "thrifty.py", "line": line_of(content, "two rows")}


def test_a_line_of_the_base_is_named_by_its_own_file() -> None:
    broken = (Text("base/scheduler.py", text(admit="assert rows != 2, 'two rows'")),)
    report = check_source(_fork(), "thrifty", modes=[SYNC], base=broken)
    found = report.finding("no-reachable-assert", SYNC)
    assert found is not None and found.trace is not None and found.trace.source is not None
    assert found.trace.source["file"] == "base/scheduler.py"


def test_without_its_base_the_report_says_which_option_names_it() -> None:
    with pytest.raises(SourceError, match=r"derives from Scheduler.*--base 0\.33\.0") as error:
        check_source(_fork(), "thrifty", modes=[SYNC])
    assert error.value.status == 3


def test_what_the_profile_does_not_know_of_a_fork_is_undecided_and_a_row_settles_it() -> None:
    fork = _fork(init="self.thrift = self.vllm_config.additional_config.thrift")
    report = _check(fork)
    assert report.verdict == UNDECIDED
    (gap,) = report.findings[0].gaps
    assert (gap.attribute, gap.file) == ("vllm_config.additional_config", "thrifty.py")
    rows = (
        "vllm_config.additional_config | object | extra | | | ours\nextra.thrift | const | 1 | | |"
    )
    assert _check(fork, profile=rows).verdict == PROVED


def test_a_renamed_class_is_found_by_what_it_can_do() -> None:
    renamed = text().replace("class Scheduler(", "class OurScheduler(")
    report = check_source((Text("ours.py", renamed),), "ours", modes=[SYNC])
    assert report.verdict == PROVED


def test_several_schedulers_in_one_file_are_not_chosen_from() -> None:
    two = FORK.format(init="pass", cap="pass") + "\n\nclass Other(Scheduler):\n    pass\n"
    with pytest.raises(SourceError, match=r"several schedulers \(ThriftyScheduler, Other\)"):
        _check((Text("thrifty.py", two),))


def test_a_subclass_of_a_subclass_is_the_one_that_is_meant() -> None:
    both = FORK.format(init="pass", cap="pass")
    both += "\n\nclass Thriftier(ThriftyScheduler):\n    def cap(self, rows):\n"
    both += "        assert rows != 2, 'thriftier'\n        return super().cap(rows)\n"
    found = _check((Text("thrifty.py", both),)).finding("no-reachable-assert", SYNC)
    assert found is not None and found.verdict == VIOLATED


def test_a_record_may_be_extended() -> None:
    fork = FORK.format(init="pass", cap="pass").replace(
        IMPORT,
        IMPORT
        + "from dataclasses import dataclass, field\n"
        + "from vllm.v1.core.sched.output import SchedulerOutput\n"
        + "\n\n@dataclass\nclass Ours(SchedulerOutput):\n"
        + "    more: list = field(default_factory=list)\n",
    )
    assert _check((Text("thrifty.py", fork),)).verdict == PROVED


def test_files_beside_it_that_define_its_bases_are_read_first(tmp_path: Path) -> None:
    (tmp_path / "mixin.py").write_text("class Mixin:\n    pass\n")
    (tmp_path / "other.py").write_text("import os\n")
    fork = "from fork.sched.mixin import Mixin\nfrom fork.sched.other import thing\n" + FORK.format(
        init="pass", cap="pass"
    ).replace("(Scheduler)", "(Mixin, Scheduler)")
    (tmp_path / "thrifty.py").write_text(fork)
    source = read_source(str(tmp_path / "thrifty.py"))
    assert [t.name for t in source.texts] == ["mixin.py", "thrifty.py"]
    assert _check(source.texts).verdict == PROVED


def test_the_sandbox_takes_a_base_too() -> None:
    report = check_in_sandbox(Job(_fork(), "thrifty", modes=(SYNC,), base=BASE))
    assert report.verdict == PROVED
    assert texts()[0].content == BASE[0].content


def test_an_import_that_reaches_nothing_is_no_reason_to_refuse_a_file() -> None:
    harmless = "import inspect\n" + FORK.format(init="pass", cap="pass")
    assert _check((Text("thrifty.py", harmless),)).verdict == PROVED
    used = "import inspect\n" + FORK.format(init="inspect.signature(self.cap)", cap="pass")
    report = _check((Text("thrifty.py", used),))
    assert report.verdict == UNDECIDED
    (gap,) = report.findings[0].gaps
    assert gap.attribute == "import inspect.signature" and gap.line == line_of(used, "signature")


HELPERS = (
    "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from fork.thing import Thing\n\n\n"
    "def half(rows):\n    return {half}\n"
)


@pytest.mark.parametrize(("half", "verdict"), [("rows", PROVED), ("rows - 1", VIOLATED)])
def test_functions_of_a_file_beside_it_are_run(tmp_path: Path, half: str, verdict: str) -> None:
    folder = tmp_path / "sched"
    folder.mkdir()
    (folder / "utils.py").write_text(HELPERS.format(half=half))
    (folder / "thrifty.py").write_text(
        "from fork.sched.utils import half\n"
        + FORK.format(init="pass", cap="rows = half(rows) if rows > 1 else rows")
    )
    source = read_source(str(folder / "thrifty.py"))
    assert [(t.name, t.helper) for t in source.texts] == [("utils.py", True), ("thrifty.py", False)]
    assert _check(source.texts).verdict == verdict


@pytest.mark.parametrize(
    "content", ["import os\ndef half(rows):\n    return rows\n", "x = 1 // 0\n", "x = Unknown()\n"]
)
def test_a_helper_that_cannot_be_loaded_is_unknown_and_no_more(content: str) -> None:
    helper = Text("utils.py", "from fork.a import Unknown\n" + content, helper=True)
    unused = Text(
        "thrifty.py", "from fork.sched.utils import half\n" + FORK.format(init="pass", cap="pass")
    )
    assert _check((helper, unused)).verdict == PROVED
    used = Text(
        "thrifty.py",
        "from fork.sched.utils import half\n" + FORK.format(init="pass", cap="rows = half(rows)"),
    )
    report = _check((helper, used))
    assert report.verdict == UNDECIDED and report.findings[0].gaps[0].attribute == "import half"


def test_an_output_class_of_its_own_comes_back_to_it() -> None:
    fork = FORK.format(init="pass", cap="pass").replace(
        IMPORT,
        IMPORT
        + "from vllm.v1.core.sched.output import SchedulerOutput\n"
        + "\n\nclass Ours(SchedulerOutput):\n    pass\n",
    )
    fork += (
        "\n    def update_from_output(self, scheduler_output, model_runner_output):\n"
        "        assert isinstance(scheduler_output, Ours)\n"
        "        super().update_from_output(scheduler_output, model_runner_output)\n"
    )
    found = _check((Text("thrifty.py", fork),), whole_loop_too=True)
    assert found.verdict == PROVED, found


def test_a_conditional_index_is_two_paths_and_not_one_symbolic_index() -> None:
    last = (
        "i = len(self.running) - 1 if self.running and self.running[-1].is_prefill_chunk else 0\n"
    )
    last += "        first = self.running[i] if self.running else None\n"
    report = check_source(texts(schedule=last), "mini", modes=[SYNC])
    assert report.verdict == PROVED, report
