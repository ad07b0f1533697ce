"""The pieces one by one: profile, merging, inputs, fetching."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from mini import text, texts

from proofs.source import fetch, releases
from proofs.source.check import check_source
from proofs.source.errors import SourceError
from proofs.source.inputs import read_source
from proofs.source.library import vocabulary
from proofs.source.objects import merging, world
from proofs.source.profile import Row, parse, profile_for
from proofs.source.profile_table import TABLE
from proofs.source.releases import Matrix, check_release, releases_matrix
from proofs.source.runs.goals import flight_goals
from proofs.source.sandbox import Job
from proofs.source.syntax.computing import only_computes
from proofs.source.syntax.merger import Merger
from proofs.symbolic import Exploration, evaluate
from proofs.verdict import MODES

# -- the profile -----------------------------------------------------------------------------------


def test_every_world_row_has_its_answer_and_every_answer_its_row() -> None:
    rows = {r.attribute.removesuffix("()") for r in parse(TABLE) if r.kind == "world"}
    assert rows == set(world._ANSWERS)


def test_every_python_row_has_its_meaning_and_the_other_way_round() -> None:
    assert {r.attribute for r in parse(TABLE) if r.kind == "python"} == set(vocabulary.LANGUAGE)


def test_every_literal_can_be_read() -> None:
    for row in parse(TABLE):
        if row.kind in ("const", "call"):
            assert row.literal is not row


def test_whoever_asks_gets_a_literal_of_its_own() -> None:
    row = Row("a()", "call", "[([], {1: [2]}, {3}), None]", "", "", "")
    first, again = row.literal, row.literal
    assert first == again == [([], {1: [2]}, {3}), None] and row.kind_of_literal is list
    first[0][0].append(1)
    first[0][1][1].append(3)
    first[0][2].add(4)
    first.append(5)
    assert row.literal == again == [([], {1: [2]}, {3}), None]


def test_no_attribute_has_two_rows() -> None:
    names = [row.attribute for row in parse(TABLE)]
    assert len(names) == len(set(names))


def test_since_and_until_select() -> None:
    row = Row("a", "const", "1", "0.27", "0.30", "")
    covered = [v for v in ("0.26.0", "0.27.0", "0.30.2", "0.31.0") if row.covers(v)]
    assert covered == ["0.27.0", "0.30.2"] and row.covers(None)


def test_a_broken_row_is_named() -> None:
    with pytest.raises(SourceError, match="profile line 1 is not"):
        parse("request.x = 3")
    assert profile_for(None, "request.x | const | 3 | | | for the test").row("request.x")


# -- merging ---------------------------------------------------------------------------------------

import ast  # noqa: E402

EXPRESSIONS = (
    "a and b",
    "a or b",
    "a < b < c",
    "0 < a <= b < c",
    "a if b > c else c",
    "not (a and b < c)",
    "(a > 0 and b > 0) or c > 0",
    "a - b if a > b and not c == 0 else b",
    "min((x for x in (a, b, c) if x > 0), default=9)",
)


def _compiled(expression: str, merged: bool) -> object:
    tree = ast.parse(f"lambda a, b, c: {expression}", mode="eval")
    if merged:
        tree = ast.fix_missing_locations(Merger(()).visit(tree))
    return eval(compile(tree, "test", "eval"), dict(merging.FUNCTIONS))


@pytest.mark.parametrize("expression", EXPRESSIONS)
@given(numbers=st.tuples(*[st.integers(-3, 3)] * 3))
def test_merged_is_what_python_computes(expression: str, numbers: tuple[int, int, int]) -> None:
    plain, merged = _compiled(expression, False), _compiled(expression, True)
    assert merged(*numbers) == plain(*numbers)  # type: ignore[operator]


@pytest.mark.parametrize("expression", EXPRESSIONS[2:])
def test_merged_is_right_symbolically_and_takes_fewer_paths(expression: str) -> None:
    counts = []
    for merged in (True, False):
        function = _compiled(expression, merged)

        def run(context, function=function):  # type: ignore[no-untyped-def]
            names = [context.int(name, -3, 3) for name in "abc"]
            return function(*names)

        with Exploration(run) as exploration:
            paths = 0
            for path in exploration:
                paths += 1
                numbers = [path.model.get(name, 0) for name in "abc"]
                plain = _compiled(expression, False)(*numbers)  # type: ignore[operator]
                assert evaluate(path.value, path.model) == plain
        counts.append(paths)
    assert counts[0] <= counts[1]


def test_what_acts_is_not_merged() -> None:
    for acting in ("f(a)", "a[0]", "a // b", "[x for x in a]", "a in b"):
        assert not only_computes(ast.parse(acting, mode="eval").body)


# -- inputs ----------------------------------------------------------------------------------------


def test_a_checkout_directory(tmp_path: Path) -> None:
    folder = tmp_path / fetch.FOLDER
    folder.mkdir(parents=True)
    (folder / "scheduler.py").write_text(text())
    (folder / "utils.py").write_text("def check_stop(*a):\n    return False\n")
    source = read_source(str(tmp_path))
    assert [t.name for t in source.texts] == ["utils.py", "scheduler.py"]


def test_a_scheduler_elsewhere_in_a_fork(tmp_path: Path) -> None:
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin" / "my_scheduler.py").write_text(text())
    assert read_source(str(tmp_path)).texts[0].name == "my_scheduler.py"


def test_a_file_is_shown_under_its_path_in_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "repository" / fetch.FOLDER
    folder.mkdir(parents=True)
    (folder / "scheduler.py").write_text(text())
    (tmp_path / "repository" / ".git").write_text("gitdir: elsewhere\n")  # as in a worktree
    inside = f"{fetch.FOLDER}scheduler.py"
    for start, named in (
        (tmp_path, f"repository/{inside}"),
        (tmp_path, "repository"),
        (folder, "scheduler.py"),
        (folder, str(folder / "scheduler.py")),
    ):
        monkeypatch.chdir(start)
        source = read_source(named)
        assert source.path_of("scheduler.py") == inside
        assert source.path_of("vllm-0.30.0/scheduler.py") == "vllm-0.30.0/scheduler.py"
    (tmp_path / "repository" / ".git").unlink()
    monkeypatch.chdir(tmp_path)
    assert read_source("repository").path_of("scheduler.py") == f"repository/{inside}"


@pytest.mark.parametrize("given", ["no/such/file.py", "", "a:"])
def test_nothing_there(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError):
        read_source(given)


def test_not_text(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceError, match="UTF-8"):
        read_source(str(tmp_path / "s.py"))


def test_a_git_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    git("init", "-q")
    (tmp_path / "scheduler.py").write_text("old\n")
    git("add", "scheduler.py")
    git("commit", "-qm", "one")
    (tmp_path / "scheduler.py").write_text("new\n")
    monkeypatch.chdir(tmp_path)
    old = read_source("HEAD:scheduler.py")
    assert old.texts[0].content == "old\n" and old.path_of("scheduler.py") == "scheduler.py"
    assert read_source("scheduler.py").texts[0].content == "new\n"
    with pytest.raises(SourceError, match="git knows no such file"):
        read_source("HEAD:other.py")
    with pytest.raises(SourceError):
        read_source("--upload-pack=x:scheduler.py")


# -- fetching --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "says"),
    [("latest", "is not a vLLM version"), ("0.7.3", "before 0.8"), ("1; rm", "not a vLLM")],
)
def test_bad_versions(version: str, says: str) -> None:
    with pytest.raises(SourceError, match=says) as error:
        fetch.fetch_release(version)
    assert error.value.status == 2


def test_no_network_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(SourceError) as error:
        fetch.fetch_release("0.33.0")
    assert error.value.status == 3 and "\n" not in str(error.value)
    assert not list(tmp_path.rglob("scheduler.py"))


def test_a_wheel_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    wheel = tmp_path / "vllm-9.9.9.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("vllm/__init__.py", "")
    with pytest.raises(SourceError, match="has no"):
        fetch.keep(wheel, "9.9.9", tmp_path / "cache" / "9.9.9")
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(fetch.FOLDER + "scheduler.py", text())
    folder = tmp_path / "cache" / "9.9.9"
    fetch.keep(wheel, "9.9.9", folder)
    fetch.keep(wheel, "9.9.9", folder)
    assert [p.name for p in folder.iterdir()] == ["scheduler.py"]
    assert [p.name for p in folder.parent.iterdir()] == ["9.9.9"]
    wheel.write_bytes(b"no zip")
    with pytest.raises(SourceError, match="not a wheel"):
        fetch.keep(wheel, "9.9.8", tmp_path / "cache" / "9.9.8")


def test_a_matrix_says_which_release_failed() -> None:
    matrix = releases_matrix(["0.1.0"], jobs=1)
    assert matrix.reports == () and matrix.failures[0][0] == "0.1.0"
    assert isinstance(matrix, Matrix) and matrix.cell("0.1.0", "progress") == "-"


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_releases_are_checked_in_a_row_and_told_in_the_order_given(
    jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def job(version: str, whole_loop: bool, modes: tuple[str, ...], reach_paths: int) -> Job:
        if version == "0.4.0":
            raise SourceError("no such release", 3)
        return Job(texts() if version != "0.3.0" else (), version, None, whole_loop, modes)

    done: list[str] = []
    monkeypatch.setattr(releases, "_job", job)
    matrix = releases_matrix(
        ["0.1.0", "0.4.0", "0.3.0", "0.2.0"], jobs, whole_loop=False, progress=done.append
    )
    assert [report.target for report in matrix.reports] == ["0.1.0", "0.2.0"]
    assert sorted(done) == ["0.1.0", "0.2.0"]
    assert [version for version, _, _ in matrix.failures] == ["0.4.0", "0.3.0"]
    alone = check_source(texts(), "0.1.0", modes=MODES)
    for report in matrix.reports:
        told = [(f.invariant, f.mode, f.verdict) for f in report.findings]
        assert told == [(f.invariant, f.mode, f.verdict) for f in alone.findings]


def test_check_release_fetches_first() -> None:
    with pytest.raises(SourceError):
        check_release("0.1.0")


@pytest.mark.parametrize(("added", "right"), [(3, True), (0, False), (-2, False)])
def test_rows_in_flight_are_counted_as_they_leave_and_return(added: int, right: bool) -> None:
    harness: Any = SimpleNamespace(is_async=True, tracks_flight=True)
    harness.before = {"R": SimpleNamespace(num_in_flight_tokens=2)}
    request: Any = SimpleNamespace(request_id="R", num_in_flight_tokens=5)
    (goal,) = flight_goals(harness, request, added)
    assert bool(goal.formula) is right
    harness.tracks_flight = False
    assert flight_goals(harness, request, added) == []
