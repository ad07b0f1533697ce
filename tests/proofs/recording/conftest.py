"""Recordings of the fake engine, as in the tests of the recorder."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

RECORDER = Path(__file__).parents[1] / "recorder"
sys.path.insert(0, str(RECORDER))


def _fixtures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recorder_fixtures", RECORDER / "conftest.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_made = _fixtures()
engine, record = _made.engine, _made.record
