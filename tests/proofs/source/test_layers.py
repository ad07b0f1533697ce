"""The folders of the front end use each other in one direction; its README names every module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import proofs.source

ROOT = Path(proofs.source.__file__).parent
PREFIX = "proofs.source."
LAYERS = ("objects", "syntax", "library", "loader", "runs", "proving", "compare")
"""From the bottom; what lies in no folder and is not named here is above or below all."""


def _layer(module: str) -> str:
    return module.removeprefix(PREFIX).split(".")[0]


def _used(tree: ast.Module) -> Iterator[str]:
    """What a module imports when it is run."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_folder_uses_one_above_it() -> None:
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        own = _layer(PREFIX + ".".join(path.relative_to(ROOT).with_suffix("").parts))
        for used in _used(ast.parse(path.read_text(encoding="utf-8"))):
            if not used.startswith(PREFIX):
                continue
            other = _layer(used)
            known = own in LAYERS and other in LAYERS
            if known and LAYERS.index(other) > LAYERS.index(own):
                wrong.append(f"{path.relative_to(ROOT)} uses {used}")
    assert not wrong, f"these look upwards: {wrong}"


def test_the_readme_names_every_module_and_no_other() -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("## What is run")[0]
    named = {part for part in table.split("`") if part.endswith(".py") and "/" not in part}
    there = {path.name for path in ROOT.rglob("*.py")} - {"__init__.py"}
    assert named == there, f"missing: {there - named}; gone: {named - there}"
