"""The run in progress, and which files are ours."""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proofs.symbolic.trail import Trail

ACTIVE: ContextVar[Trail | None] = ContextVar("ACTIVE", default=None)
"""The trail whose run is in progress."""

PACKAGE = os.path.dirname(__file__)
"""Frames of files below are ours, not the code under test."""
OURS = os.path.dirname(PACKAGE)
"""And those of files below belong to who runs it."""
