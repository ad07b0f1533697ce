"""Writing a regression test for the engine's own test tree: self-contained, nothing of ours in it.

``regression.py.txt`` is the test with its blanks; the blanks are filled, and of its assertions only
the one about the broken invariant is kept.
"""

from __future__ import annotations

import ast
import pprint
from dataclasses import asdict
from pathlib import Path

from proofs.errors import UsageError
from proofs.recording.script import Script
from spec.invariants import CATALOGUE

TEMPLATE = Path(__file__).with_name("regression.py.txt")
WIDTH = 88
"""The engine's own line length."""


def emit(script: Script) -> str:
    """The test, as a module.

    Raises:
        UsageError: no assertion is written for the broken invariant.
    """
    source = TEMPLATE.read_text(encoding="utf-8")
    check = "check_" + script.invariant.replace("-", "_")
    offered = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
    ]
    if check not in {node.name for node in offered}:
        names = ", ".join(node.name[6:].replace("_", "-") for node in offered)
        raise UsageError(f"no test can be written for {script.invariant}; it can for {names}")
    for text in [ast.get_source_segment(source, n) for n in offered if n.name != check]:
        assert text is not None and f"{text}\n\n\n" in source
        source = source.replace(f"{text}\n\n\n", "")
    entry = next(entry for entry in CATALOGUE if entry.id == script.invariant)
    config = {k: v for k, v in asdict(script.config).items() if k != "exempt_only_request"}
    blanks = {
        "@TITLE@": entry.statement,
        "@WHY@": entry.why,
        "@ORIGIN@": script.origin,
        "CONFIG = {}": f"CONFIG = {_literal(config)}",
        "CALLS = []": f"CALLS = {_literal([list(call) for call in script.calls])}",
        'REQUEST = ""': f'REQUEST = "{script.request}"',
        "CHECK(step)": f"{check}(step)",
        "test_regression": "test_" + script.invariant.replace("-", "_"),
    }
    for blank, text in blanks.items():
        assert blank in source, blank
        source = source.replace(blank, text)
    return source


def _literal(value: object) -> str:
    text = pprint.pformat(value, width=WIDTH, sort_dicts=False, indent=1)
    return text.replace("'", '"')
