"""The engine's plugin: with ``SCHEDPROOF_RECORD`` or ``SCHEDPROOF_MONITOR`` set, whatever scheduler
class the engine would use is watched; without, nothing happens.

Registered under ``vllm.general_plugins``; the engine calls ``register`` in each of its processes.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from proofs.recorder import settings


def register() -> None:
    """Have ``SchedulerConfig.get_scheduler_cls`` answer with a watched class."""
    told = settings.read()
    if told.record is None and not told.monitor and not told.complaints:
        return
    config: Any = import_module("vllm.config").SchedulerConfig
    asked = config.get_scheduler_cls
    if getattr(asked, "schedproof", False):
        return

    def get_scheduler_cls(self: Any) -> Any:
        watched: Any = import_module("proofs.recorder.watched")
        base = asked(self)
        return base if issubclass(base, watched.Recording) else watched.recording(base)

    get_scheduler_cls.schedproof = True  # type: ignore[attr-defined]
    config.get_scheduler_cls = get_scheduler_cls
