"""Watching a scheduler class of the engine: mixed in before it, passing everything on.

Every call is passed on as it is, and its result is passed back as it is.  A failure of the watch
itself is said once and ends the watch, never the engine.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from proofs.recorder import settings
from proofs.recorder.lines import Line
from proofs.recorder.monitor import InvariantViolated, Monitor
from proofs.recorder.watch import Sink, Watch
from proofs.recorder.writer import Writer

WINDOW = 500
"""Lines the monitor keeps at least, when nothing is recorded."""
logger = logging.getLogger("vllm.schedproof")


class Recording:
    """Mixed in before a scheduler class of the engine."""

    _schedproof: Watch | None = None
    _schedproof_close: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        try:
            self._schedproof, self._schedproof_close = watched(self, settings.read())
        except Exception as error:
            logger.error("schedproof: nothing is recorded: %s", error)

    def schedule(self, *arguments: Any, **named: Any) -> Any:
        throttled = bool(arguments and arguments[0]) or bool(named.get("throttle_prefills"))
        self._tell("schedules")
        output = self._passed_on("schedule", *arguments, **named)
        self._tell("scheduled", output, throttled)
        return output

    def update_from_output(self, scheduler_output: Any, model_runner_output: Any) -> Any:
        self._tell("returns", scheduler_output, model_runner_output)
        result = self._passed_on("update_from_output", scheduler_output, model_runner_output)
        self._tell("booked", scheduler_output)
        return result

    def update_draft_token_ids(self, draft_token_ids: Any) -> None:
        self._passed_on("update_draft_token_ids", draft_token_ids)
        self._tell("drafted", draft_token_ids.req_ids)

    def add_request(self, request: Any) -> None:
        known = request.request_id in self.requests  # type: ignore[attr-defined]
        self._passed_on("add_request", request)
        if known or getattr(request, "resumable", False):
            self._tell("interrupted", "streaming input")
        else:
            self._tell("added", request)

    def finish_requests(self, request_ids: Any, finished_status: Any) -> Any:
        if request_ids is not None and not isinstance(request_ids, str):
            request_ids = list(request_ids)
        living = self._schedproof.living(request_ids) if self._schedproof else []
        result = self._passed_on("finish_requests", request_ids, finished_status)
        self._tell("finished", living)
        return result

    def reset_prefix_cache(self, *arguments: Any, **named: Any) -> Any:
        result = self._passed_on("reset_prefix_cache", *arguments, **named)
        if (arguments and arguments[0]) or named.get("reset_running_requests"):
            self._tell("interrupted", "reset_prefix_cache")
        return result

    def shutdown(self) -> None:
        self._tell("end")
        self._schedproof_close()
        self._schedproof = None
        self._passed_on("shutdown")

    def _passed_on(self, call: str, *arguments: Any, **named: Any) -> Any:
        try:
            return getattr(super(), call)(*arguments, **named)
        except Exception as error:
            self._tell("raised", call, error)
            raise

    def _tell(self, what: str, *told: Any) -> None:
        if self._schedproof is None:
            return
        try:
            getattr(self._schedproof, what)(*told)
        except InvariantViolated:
            self._schedproof_close()
            raise
        except Exception as error:
            self._schedproof = None
            self._schedproof_close()
            logger.exception("schedproof: the recording ends here: %s", error)


def recording(base: Any) -> Any:
    """A scheduler class of the engine, watched."""
    return type(f"Recording{base.__name__}", (Recording, base), {"__module__": __name__})


def watched(scheduler: Any, told: settings.Settings) -> tuple[Watch | None, Callable[[], None]]:
    """The watch the settings ask for, and how to close what it writes to."""
    for complaint in told.complaints:
        logger.error("schedproof: %s", complaint)
    sinks: list[Sink] = []
    writer = None
    if told.record is not None:
        writer = Writer(told.record, "recording")
        sinks.append(writer)
        logger.warning("schedproof: recording to %s", writer.path)
    if told.monitor:
        sinks.append(Monitor(told.monitor, told.traces, writer.path if writer else None))
    if not sinks:
        return None, lambda: None

    def sink(line: Line) -> None:
        for take in sinks:
            take(line)

    # Without a recording the monitor keeps the last two windows, each from a snapshot on.
    window = None if writer is not None else WINDOW
    watch = Watch(scheduler, sink, told.count_pool_every, window)
    return watch, writer.close if writer is not None else lambda: None
