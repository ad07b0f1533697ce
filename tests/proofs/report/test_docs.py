"""The committed examples are what the program writes today."""

from __future__ import annotations

from pathlib import Path

import pytest
import regenerate
from report_samples import DOCS


@pytest.mark.parametrize("example", regenerate.KNOWN, ids=lambda e: e.name)
def test_the_examples_are_up_to_date(example: regenerate.Example) -> None:
    written = regenerate.documents(example, regenerate.saved(example))
    folder = DOCS / "examples" / example.name
    assert {file.name for file in folder.iterdir()} == set(written)
    for name, text in written.items():
        assert _read(folder / name) == text, f"{name}: run python docs/regenerate.py"


@pytest.mark.parametrize("example", regenerate.ON_RELEASES, ids=lambda e: e.name)
def test_the_releases_have_the_same_bugs(example: regenerate.OnRelease) -> None:
    written = regenerate.documents_of_release(example)
    folder = DOCS / "examples" / example.name
    assert {file.name for file in folder.iterdir()} == set(written)
    for name, text in written.items():
        assert _read(folder / name) == text, f"{name}: run python docs/regenerate.py"


def test_the_readme_explains_the_trace_the_program_prints() -> None:
    trace = _read(DOCS / "examples" / "53962" / "trace.txt")
    assert f"```text\n{trace}```\n" in _read(DOCS.parent / "README.md")


def test_the_examples_are_of_the_bugs_they_are_named_after() -> None:
    sentences = {e.name: regenerate.saved(e).violation.sentence for e in regenerate.KNOWN}
    assert sentences["53962"] == "num_scheduled_tokens = -1 < 1"
    assert sentences["55126"] == "num_scheduled_tokens = 1 != 2 = 1 + 1"
    assert "padded rows must keep the uniform width" in sentences["54028"]


def test_the_pictures_are_there_and_load_nothing() -> None:
    for name in ("check.svg", "counterexample.svg"):
        text = _read(DOCS / "pictures" / name)
        assert "VERIFICATION" in text.replace("&#160;", " ")
        assert "url(" not in text.replace("url(#", "")
    for name in ("trace-light", "trace-dark", "trace-phone"):
        assert (DOCS / "pictures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_simulations_page_is_up_to_date() -> None:
    for path, text in regenerate.simulation().items():
        assert _read(path) == text, "run python docs/regenerate.py --simulation"


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")
