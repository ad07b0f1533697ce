"""Which requests' KV is on its way, by what the connector said.

The scheduler's own books on loads may be wrong; a promise about a request whose KV is loading must
not be judged by them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from model.environment import Environment, Sample
from model.request import Request
from spec.records import LOADING, SCHEDULED, Decision


class Loads:
    """An environment that watches what it is asked, and corrects ``Decision.is_loading``.

    Args:
        world: answers the questions.
        record: takes the corrected records.
    """

    def __init__(self, world: Environment, record: Callable[[Any], None]) -> None:
        self.world = world
        self._record = record
        self._loading: set[str] = set()
        self._to_load: set[str] = set()
        """Whose KV the connector offered to load, since their last decision."""

    def record(self, record: Any) -> None:
        """Pass a record on; of a decision, say whether the request's KV was on its way."""
        if isinstance(record, Decision):
            name = record.request_id
            ahead = name in self._to_load and record.outcome is SCHEDULED
            record = replace(record, is_loading=ahead or name in self._loading)
            self._to_load.discard(name)
            if record.outcome is LOADING:
                self._loading.add(name)
        self._record(record)

    def load_finished(self, request: Request) -> bool:
        finished = self.world.load_finished(request)
        if finished:
            self._loading.discard(request.request_id)
        return finished

    def prefix_hit(self, request: Request) -> int:
        return self.world.prefix_hit(request)

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        matched, load_async = self.world.connector_match(request, num_local_tokens)
        if load_async:
            self._to_load.add(request.request_id)
        return matched, load_async

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        return self.world.sample(request, num_draft_tokens, padded)

    def draft(self, request: Request) -> int:
        return self.world.draft(request)
