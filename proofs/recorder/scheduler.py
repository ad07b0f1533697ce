"""The classes for ``--scheduler-cls``: the engine's own schedulers, watched."""

from __future__ import annotations

from importlib import import_module

from proofs.recorder.watched import recording

RecordingScheduler = recording(import_module("vllm.v1.core.sched.scheduler").Scheduler)
"""Without async scheduling."""
RecordingAsyncScheduler = recording(
    import_module("vllm.v1.core.sched.async_scheduler").AsyncScheduler
)
"""With async scheduling."""
