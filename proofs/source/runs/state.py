"""What an arbitrary state consists of: features, counters, knobs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from model.request import RequestStatus as ModelStatus
from proofs.source.objects.requests import MODEL_STATUS, Request, length_of
from proofs.source.objects.tokens import Token
from proofs.source.objects.world import Context
from spec.config import FLAGS, KNOBS, Config
from spec.records import Decision


@dataclass(frozen=True, slots=True)
class Features:
    """What a scenario switches on besides plain decoding, prefill and prefix hits.

    None: on or off, which is decided where the text asks, so that what it does not ask costs
    nothing.
    """

    async_scheduling: bool = False
    connector: bool | None = False
    priority: bool | None = False
    mamba: bool | None = False
    holds_back: bool = False
    """The engine asks the step to hold back prefills, for the sake of other ranks."""

    @property
    def count(self) -> int:
        """How many are on: a counterexample with fewer is the simpler one."""
        return sum(flag is True for flag in (self.connector, self.priority, self.mamba))

    @property
    def has_boundaries(self) -> bool:
        """Whether the boundaries of KV blocks may matter."""
        return self.mamba is not False or self.connector is not False


@dataclass(slots=True)
class Moment:
    """One step of a run, as a trace shows it; its numbers are plain once it is run on integers."""

    decisions: list[Decision] = field(default_factory=list)
    rows: Any = None
    """The text's own record of rows, by request."""
    hits: Mapping[str, Any] = field(default_factory=dict)
    """Request id → tokens the prefix cache had of it."""
    matches: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """Request id → tokens the connector had of it, and whether it loads them by itself."""
    arrived: list[tuple[str, Any, Any, Any]] = field(default_factory=list)
    """Before the decisions: request id, prompt tokens, max_tokens, priority."""
    aborted: list[str] = field(default_factory=list)
    """Instead of decisions: whom a client aborts."""
    loaded: list[str] = field(default_factory=list)
    """Before the decisions: whose KV has arrived."""
    returned: list[tuple[str, int, Any]] = field(default_factory=list)
    """After them: request id, tokens that came back, tokens it has then."""
    stopped: list[str] = field(default_factory=list)
    """Whose stop token is among those."""
    proposed: list[tuple[str, Any]] = field(default_factory=list)
    """Request id, drafts proposed for it after that."""
    only_books: bool = False
    """Whether nothing is decided in it: only output comes back."""

    def came_back(self, request: Request, tokens: Sequence[Token]) -> None:
        """A request's output was booked."""
        self.returned.append((request.request_id, len(tokens), request.num_tokens))
        if any(token.stops__ is True for token in tokens):
            self.stopped.append(request.request_id)

    def world(self) -> dict[str, Any]:
        """All that the scheduler was told in it, as plain data."""
        told = {
            "arrived": [[name, *map(int, numbers)] for name, *numbers in self.arrived],
            "loaded": list(self.loaded),
            "hits": {name: int(hit) for name, hit in self.hits.items()},
            "matches": {name: [int(n), bool(load)] for name, (n, load) in self.matches.items()},
            "returned": {name: int(number) for name, number, _ in self.returned},
            "stopped": list(self.stopped),
            "proposed": {name: int(drafts) for name, drafts in self.proposed},
        }
        return told | ({"aborted": list(self.aborted)} if self.aborted else {})


@dataclass(slots=True)
class View:
    """A request of the text as the inductive clauses see it."""

    request_id: str
    status: ModelStatus
    num_prompt_tokens: Any
    max_tokens: Any
    num_output_tokens: Any
    num_tokens: Any
    num_computed_tokens: Any
    num_output_placeholders: Any
    num_spec_tokens: Any
    num_in_flight_tokens: Any
    num_stale_output_tokens: Any
    is_prefill_chunk: Any
    priority: Any = 0
    arrival_time: Any = 0
    num_blocks: Any = 0

    @classmethod
    def of(cls, request: Request, tracks_flight: bool = True) -> View:
        """The counters as they are now; texts before 0.27 do not track all rows in flight."""
        return cls(
            request_id=request.request_id,
            status=MODEL_STATUS.get(request.status, ModelStatus.FINISHED_ABORTED),
            num_prompt_tokens=request.num_prompt_tokens,
            max_tokens=request.max_tokens,
            num_output_tokens=request.num_output_tokens,
            num_tokens=request.num_tokens,
            num_computed_tokens=request.num_computed_tokens,
            num_output_placeholders=request.num_output_placeholders,
            num_spec_tokens=length_of(request.spec_token_ids),
            num_in_flight_tokens=request.num_in_flight_tokens
            if tracks_flight
            else request.num_output_placeholders,
            num_stale_output_tokens=request.num_stale_output_tokens,
            is_prefill_chunk=request.is_prefill_chunk,
            priority=request.priority,
            arrival_time=request.arrival_time,
        )


BLOCK = 4
"""Tokens in a KV block where boundaries matter (Mamba alignment, a connector): with a symbolic size
the arithmetic of boundaries is not linear, and Z3 gives up."""
KNOB_IN_TEXT = {"draft_slots": "max_num_new_slots_for_drafting"}
"""Knobs newer than the oldest release → the attribute through which a text reads them."""


def knows(mentioned: Collection[str], knob: str) -> bool:
    """Whether a text that reads these attributes reads the knob."""
    attribute = KNOB_IN_TEXT.get(knob)
    return attribute is None or attribute in mentioned


def arbitrary_config(context: Context, features: Features, mentioned: Collection[str]) -> Config:
    """Every knob symbolic that the text reads; the flags that name a scenario concrete."""
    knobs: dict[str, Any] = {
        knob.name: context.int(knob.name, knob.low, knob.high) if knows(mentioned, knob.name) else 0
        for knob in KNOBS
    }
    if features.has_boundaries:
        knobs["block_size"] = BLOCK
    flags: dict[str, Any] = {flag: context.bool(flag) for flag in FLAGS}
    flags["async_scheduling"] = features.async_scheduling
    for flag, given in {
        "priority_scheduling": features.priority,
        "mamba_align": features.mamba,
    }.items():
        if given is not None:
            flags[flag] = given
    return Config(**knobs, **flags)
