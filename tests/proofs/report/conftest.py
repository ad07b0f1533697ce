"""The helpers beside these tests, and the browser of the documentation, by their plain names."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "docs")]
