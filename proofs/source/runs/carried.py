"""What a scheduler carries from step to step: free where its row says so, otherwise left as it is.

A step starts from any state that steps leave.  Of an attribute with a ``state`` row the row says
what that can be; of everything else the proof takes what the text's own ``__init__`` made, and so
each step has to leave it like that.  One that does not is undecided: it starts from too few states.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from proofs.source.objects.footprint import PLAIN, Footprint, Opaque, footprint
from proofs.source.objects.freeset import FreeSet
from proofs.source.objects.requests import Request, RequestStatus
from proofs.source.profile import ASSUMED, INITIAL, SETS, Row
from proofs.symbolic import SymBool, SymInt
from proofs.symbolic.active import ACTIVE
from proofs.symbolic.counts import plain

if TYPE_CHECKING:
    from proofs.source.objects.world import World
    from proofs.source.runs.harness import Harness

PREFIX = "scheduler."
WHY = "why this choice is sound"
LOADED = "finished_recving_kv_req_ids"
"""Ids of requests whose KV has arrived: the harness takes them to be of waiting ones."""
DROP = "drop_stale_output"
"""A flag of a request that the harness takes to be False: what is stale is delivered."""
_KINDS: dict[str, type] = {"any-bool": bool, "any-int": int, **dict.fromkeys(SETS, set)}
"""Value of a row → the type of what it may stand for."""


class Carried:
    """What one scheduler object carries, noted before a step and looked at after it."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self._before: Footprint | None = None
        self._there: frozenset[str] = frozenset()

    # -- before --------------------------------------------------------------------------------

    def make_arbitrary(self) -> None:
        """Give what the scheduler carries from step to step the value its row names."""
        h = self._harness
        host, scheduler = h.loaded.host, h.scheduler
        for name in h.loaded.state.keys() - host.profile.state_names:
            if hasattr(scheduler, name):
                host.unknown_state(PREFIX + name, h.loaded.state[name], self._settling(name))
        for name, row in host.profile.states:
            if row.value in _KINDS and name in vars(scheduler):
                self._free(name, row)
        self._there = frozenset(vars(scheduler))
        if ACTIVE.get() is not None:  # on plain numbers a path runs again that was looked at
            self._before = self._footprint()

    def _free(self, name: str, row: Row) -> None:
        h = self._harness
        now: Any = getattr(h.scheduler, name)
        kind = type(now)
        if kind is not _KINDS[row.value]:
            what = f"{PREFIX}{name} as {kind.__name__}"
            h.loaded.host.unknown_state(what, self._place(name), self._settling(name))
        asked = PREFIX.replace(".", " ") + name
        if row.value == "any-bool":
            value: Any = h.context.bool(asked)
        elif row.value == "any-int":
            value = h.context.int(asked, min(now, 0))
        elif row.value == "any-ids":
            value = FreeSet(h.world, asked, lambda: [r.request_id for r in h.everyone])
        else:
            value = FreeSet(h.world, asked, lambda: h.everyone)
        setattr(h.scheduler, name, value)

    # -- after ---------------------------------------------------------------------------------

    def settle(self) -> None:
        """The step is over: what it changed, and the profile does not know, is undecided."""
        if self._before is None:
            return
        host = self._harness.loaded.host
        now = self._footprint()
        name = now.changed(self._before) or next(self._new(), None)
        if name is not None:
            row = host.profile.state(name)
            known = row is not None and row.value == INITIAL
            what = f"{PREFIX}{name}" + (" (its row says that it stays as it is)" if known else "")
            host.unknown_state(what, self._place(name), self._settling(name))
        for name in host.own.doubtful():
            row = host.profile.row(f"text.{name}")
            if row is None or row.value != ASSUMED:
                line = f"text.{name} | state | {ASSUMED} | | | {WHY}"
                host.unknown_state(f"text.{name}", self._place(name), line)
        for name, value in self._of_requests():
            host.unknown_state(name, self._place(name), f"{name} | state | {value} | | | {WHY}")

    def _new(self) -> Iterator[str]:
        """Attributes that were not there before, so that their rows could say nothing of them."""
        profile, now = self._harness.loaded.host.profile, vars(self._harness.scheduler).keys()
        for name in () if now == self._there else now - self._there:
            row = profile.state(name)
            if row is None or row.value != ASSUMED:
                yield name

    def _of_requests(self) -> Iterator[tuple[str, str]]:
        """What of a request the profile, or the harness, takes to be otherwise; what settles it."""
        h = self._harness
        profile = h.loaded.host.profile
        for request in h.everyone:
            for name, value in request.foreign__():
                row = profile.row(f"request.{name}")
                if row is not None and row.kind == "const" and not _is(value, row.literal):
                    yield f"request.{name}", _value_of(value, name)
            if request.drop_stale_output is not False and profile.row(f"request.{DROP}") is None:
                yield f"request.{DROP}", "any-bool"
        if h.world.connector:  # then it is a promise: see `loads.load_goals`
            return
        row = profile.state(LOADED)
        loaded = getattr(h.scheduler, LOADED, ())
        for request in h.everyone if row is not None and row.value != ASSUMED else ():
            waits = request.status is RequestStatus.WAITING_FOR_REMOTE_KVS
            if not waits and request.request_id in loaded:
                yield f"{PREFIX}{LOADED}", ASSUMED

    # -- both ----------------------------------------------------------------------------------

    def _footprint(self) -> Footprint:
        h = self._harness
        host = h.loaded.host
        judged, all_of_it = host.profile.judged, vars(h.scheduler)
        held = {name: value for name, value in all_of_it.items() if name not in judged}
        known = [(name, all_of_it[name]) for name in judged if name in all_of_it]
        known.append(("self", h.scheduler))
        try:
            return footprint(held, known, host.own.own)
        except Opaque as opaque:
            kind, name = opaque.args
            what = f"{PREFIX}{name} (it holds {kind}, which cannot be compared)"
            line = f"{PREFIX}{name} | state | {ASSUMED} | | | {WHY}"
            host.unknown_state(what, self._place(name), line)

    def _place(self, name: str) -> tuple[str, int]:
        return self._harness.loaded.place_of(name.rpartition(".")[2])

    def _settling(self, name: str) -> str:
        there = not self._there or name in self._there
        value = _value_of(getattr(self._harness.scheduler, name), name) if there else ASSUMED
        return f"{PREFIX}{name} | state | {value} | | | {WHY}"


def make_arbitrary(world: World, request: Request, *, arrives: bool = False) -> None:
    """Give a request what its rows say that it carries from step to step.

    Args:
        arrives: it is new: nothing was counted of it.
    """
    for name, row in world.host.profile.request_states:
        asked = f"{request.request_id} {name}"
        if row.value == "any-bool":
            setattr(request, name, world.context.bool(asked))
        elif row.value == "any-int":
            setattr(request, name, 0 if arrives else world.context.int(asked, 0))


def _value_of(value: object, name: str) -> str:
    """The value of a row that would settle what such an attribute holds."""
    kind = type(value)
    if kind in (bool, SymBool):
        return "any-bool"
    if kind in (int, SymInt):
        return "any-int"
    if isinstance(value, set):
        of_ids = "id" in name or (kind is set and any(isinstance(e, str) for e in value))
        return "any-ids" if of_ids else "any-requests"
    return ASSUMED


def _is(value: object, literal: object) -> bool:
    """Whether a value is the one a row names."""
    value = plain(value)
    kind = type(value)
    if kind is not type(literal):
        return False
    return not (value or literal) if kind not in PLAIN else bool(value == literal)
