"""No body is proved for a field that nobody decided about.

A body starts from an arbitrary state.  What it leaves at a constant, a default of a dataclass say,
is proved for that constant only, in silence.  So every field of every object a body hands to the
model's code is arbitrary, or stands in ``FIXED`` with the values it takes and the reason.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

import model
from model.policies import RECOMMENDED, PaddingPolicy
from model.request import Request, RequestStatus
from proofs import bodies, harness
from proofs.bodies import BODIES, deciding, run_body
from proofs.bodies.sealed import Sealed, unsealed
from proofs.clauses import SERVES
from proofs.crowds import Crowd, Ledger, Marks, Name
from proofs.goal import Goal
from proofs.harness import Harness
from proofs.symbolic import Context, Exploration, SymBool, SymInt
from proofs.verdict import ASYNC, MODES

SEALED, RUNS = frozenset({"whole-passes"}), frozenset({"engine-runs"})
"""The first sees no field at all: see ``test_loops``.  The second runs on integers: a field is
arbitrary there when it takes several values."""
PROVED = frozenset(BODIES) - SEALED - RUNS
PASSES = frozenset({"running-pass", "waiting-pass"})
ENGINE = frozenset({"arrival", "output", "abort"})
NOTHING, ONE = frozenset[str](), frozenset({"Request"})
"""What a container of these holds."""


class Fixed(NamedTuple):
    """Fields of a class that some bodies leave at constants, exactly these values, and why."""

    bodies: frozenset[str]
    fields: str
    values: set[Any]
    because: str


STATUS = "Request.status"
FIXED = (
    Fixed(PROVED, "Config.async_scheduling", {False, True}, "a mode each: a column of the table"),
    Fixed(PROVED, "Config.mamba_align", {False, True}, "told apart at once: see arbitrary_config"),
    Fixed(
        PROVED | RUNS,
        "Scheduler.policy",
        {"PaddingPolicy"},
        "a policy each: a row of the table",
    ),
    Fixed(PROVED, "Scheduler.environment", {"ArbitraryWorld"}, "its answers are arbitrary"),
    Fixed(PROVED, "Scheduler.observer", {"method"}, "it only listens"),
    Fixed(
        frozenset({"places"}),
        STATUS,
        {
            *(RequestStatus.WAITING, RequestStatus.WAITING_FOR_REMOTE_KVS),
            *(RequestStatus.PREEMPTED, RequestStatus.RUNNING),
        },
        "all that wait, and three that run",
    ),
    Fixed(
        frozenset({"places"}),
        "Scheduler.waiting kv_holding_waiting running",
        {ONE},
        "two strangers stand in the queue: a third finds its place as the second did",
    ),
    Fixed(
        frozenset({"arrival"}),
        "Request.num_output_tokens num_computed_tokens num_output_placeholders num_spec_tokens"
        " num_in_flight_tokens num_stale_output_tokens num_preemptions num_blocks"
        " is_prefill_chunk",
        {0},
        "a new request has computed nothing",
    ),
    Fixed(frozenset({"arrival"}), STATUS, {RequestStatus.WAITING}, "a new request waits"),
    Fixed(
        frozenset({"running-pass", "preemption"}),
        STATUS,
        {RequestStatus.RUNNING},
        "requests in the queue of running ones run",
    ),
    Fixed(
        frozenset({"waiting-pass"}),
        STATUS,
        {RequestStatus.WAITING, RequestStatus.WAITING_FOR_REMOTE_KVS, RequestStatus.PREEMPTED},
        "all that wait; PREEMPTED without Mamba alignment",
    ),
    Fixed(
        frozenset({"abort"}),
        STATUS,
        {status for status in RequestStatus if not status.name.startswith("FINISHED")},
        "the engine aborts no request that has ended",
    ),
    Fixed(
        frozenset({"output"}),
        STATUS,
        set(RequestStatus) - {RequestStatus.WAITING, RequestStatus.WAITING_FOR_REMOTE_KVS},
        "WAITING waits like PREEMPTED; nothing is in flight for a request whose KV is loading",
    ),
    Fixed(ENGINE, "Engine.environment", {"ArbitraryWorld"}, "its answers are arbitrary"),
    Fixed(ENGINE, "Engine.record", {"builtin_function_or_method"}, "it only listens"),
    Fixed(ENGINE, "Engine.made_for", {0, 1}, "what it was made for, which is what is asked"),
    Fixed(ENGINE, "Engine.as_given", {True}, "what it was made of, which is what is asked"),
    Fixed(ENGINE, "Engine.begins_empty", {True}, "what it was made with, which is what is asked"),
    Fixed(ENGINE, "Engine.told", {NOTHING}, "what was recorded: nothing yet"),
    Fixed(
        frozenset({"output"}),
        "Sample.num_generated_tokens num_accepted_placeholders stop_after",
        {0},
        "of a step that did not sample; arbitrary otherwise",
    ),
    Fixed(PROVED, "Scheduler.watched_by", {"Harness"}, "who watches it: see proofs.surroundings"),
    Fixed(PROVED, "Scheduler.enqueued", {NOTHING}, "who took a place: nobody yet"),
    Fixed(PROVED, "Scheduler.chosen", {None}, "whom it chose to preempt: nobody yet"),
    Fixed(PROVED, "Scheduler.index_moved", {0}, "what preemptions did: nothing yet"),
    Fixed(
        frozenset({"preemption"}),
        "Request.num_spec_tokens",
        {0},
        "the drafts of a victim that was scheduled went into its rows; arbitrary otherwise",
    ),
    Fixed(
        PASSES,
        "Step.num_scheduled_tokens num_draft_tokens",
        {ONE},
        "the runner is told of one request at a time; arbitrary while the step decides",
    ),
    Fixed(
        PASSES,
        "Step.preempted_reqs",
        {NOTHING},
        "who was preempted is copied, not read, for the runner; arbitrary while the step decides",
    ),
    Fixed(
        frozenset({"running-pass"}),
        "Step.running_scheduled",
        {True},
        "the decision just taken gave rows; arbitrary while the step decides",
    ),
    Fixed(RUNS, "Engine.seen", {"Seen"}, "it only listens"),
    Fixed(RUNS, "Engine.seal", {"Seal"}, "what the engine sees: see proofs.bodies.sealed"),
    Fixed(RUNS, "Engine.script", {"Script"}, "it only listens"),
    Fixed(RUNS, "Engine.environment", {"Script"}, "its answers are the script"),
    Fixed(RUNS, "Scheduler.environment", {"Script"}, "its answers are the script"),
    Fixed(
        RUNS, "Scheduler.try_running try_waiting preempt schedule", {"function"}, "counted, listens"
    ),
    Fixed(RUNS, "Engine.in_flight", {"deque"}, "a new engine"),
    Fixed(
        RUNS,
        "Scheduler.running waiting kv_holding_waiting finished",
        {NOTHING},
        "a new engine; its own steps fill the queues",
    ),
    Fixed(RUNS, "Scheduler.num_waiting_for_streaming_input", {0}, "a new engine has no stream"),
    Fixed(
        RUNS,
        "Request.num_output_tokens num_computed_tokens num_output_placeholders num_spec_tokens"
        " num_in_flight_tokens num_stale_output_tokens num_preemptions num_blocks"
        " is_prefill_chunk",
        {0},
        "a new request; its own steps move the counters",
    ),
    Fixed(RUNS, STATUS, {RequestStatus.WAITING}, "a new request waits"),
)


# -- what the model's code gets hold of -----------------------------------------------------------

ARBITRARY = "arbitrary"
SYMBOLIC = (SymInt, SymBool, Crowd, Ledger, Marks, Name)
MODEL, BODY = (str(Path(str(package.__file__)).parent) for package in (model, bodies))
NOT_YET = {Request.num_tokens.fget.__code__, Request.is_finished.fget.__code__}  # type: ignore[attr-defined]
"""Reading these proves nothing: the request may be half built."""
Seen = dict[str, set[Any]]
"""``Class.field`` → the values it had."""


class Watch:
    """A profiler that notes the fields of each object when the model's code first gets hold of it.

    That is when a body calls the model, with whatever its arguments lead to.
    """

    def __init__(self) -> None:
        self.seen: Seen = defaultdict(set)
        self._known: dict[int, Any] = {}
        self._inside: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame is self._inside:
            self._inside = None
        elif event == "call" and self._inside is None and _enters(frame):
            self._inside = frame
            sys.setprofile(None)
            for held in list(_objects(list(frame.f_locals.values()), self._known)):
                for name, value in _fields(held).items():
                    self.seen[f"{_class_of(held)}.{name}"].add(_told(value))
            sys.setprofile(self)


def _enters(frame: FrameType) -> bool:
    code, caller = frame.f_code, frame.f_back
    if caller is None or not caller.f_code.co_filename.startswith(BODY):
        return False
    builds = code.co_name == "__init__" or code in NOT_YET
    return code.co_filename.startswith(MODEL) and not builds


def _objects(value: Any, known: dict[int, Any]) -> Iterator[Any]:
    """The model's objects that ``value`` leads to, without those known before."""
    value = _behind(value)
    if id(value) in known or isinstance(value, (Enum, PaddingPolicy, Ledger, Marks)):
        return
    if isinstance(value, (list, tuple, set, dict)):
        for item in list.__iter__(value) if isinstance(value, list) else value:
            yield from _objects(item, known)
    elif _class_of(value):
        known[id(value)] = value
        yield value
        for held in _fields(value).values():
            yield from _objects(held, known)


def _behind(value: Any) -> Any:
    """The object itself, if it is sealed."""
    return unsealed(value) if isinstance(value, Sealed) else value


@cache
def _name_of(kind: type) -> str:
    of_model = (c for c in kind.__mro__ if c.__module__.split(".")[0] in ("model", "spec"))
    return next((c.__name__ for c in of_model), "")


def _class_of(value: Any) -> str:
    """The class of the model or of the specification an object is of; empty for others."""
    return _name_of(type(value))


def _fields(held: Any) -> dict[str, Any]:
    slots = [name for owner in type(held).__mro__ for name in getattr(owner, "__slots__", ())]
    return {name: getattr(held, name, "not set") for name in slots} | getattr(held, "__dict__", {})


def _told(value: Any) -> Any:
    """A value as ``FIXED`` writes it: a container by what it holds, an object by its class."""
    value = _behind(value)
    if isinstance(value, SYMBOLIC):
        return ARBITRARY
    if isinstance(value, (list, tuple, set, dict)):
        return frozenset(_class_of(item) or _told(item) for item in value)
    if value is None or isinstance(value, (Enum, int, str)):
        return value
    looked_into = _class_of(value) and not isinstance(value, PaddingPolicy)
    return ARBITRARY if looked_into else type(value).__name__


def seen_in(body: str) -> Seen:
    """What the fields hold when the model's code comes to them, over all paths of one body."""
    watch = Watch()
    for mode in MODES:

        def run(context: Context, mode: str = mode) -> list[Goal]:
            start = Harness(context, RECOMMENDED, mode == ASYNC, SERVES)
            sys.setprofile(watch)
            try:
                return run_body(body, start)
            finally:
                sys.setprofile(None)

        with Exploration(run) as exploration:
            assert all(path.error is None and not path.unsupported for path in exploration)
    return watch.seen


def undecided(body: str) -> list[str]:
    """The fields a body leaves at other constants than ``FIXED`` says, and its rows that lapsed."""
    decided = {
        f"{owner}.{name}": row.values
        for row in FIXED
        if body in row.bodies
        for owner, _, names in [row.fields.partition(".")]
        for name in names.split()
    }
    constants = {field: values - {ARBITRARY} for field, values in seen_in(body).items()}
    constants = {
        field: values
        for field, values in constants.items()
        if values and (body in PROVED or len(values) == 1)
    }
    return [
        f"{body}: {field} is {constants.get(field, ARBITRARY)}, decided: {decided.get(field)}"
        for field in sorted(constants.keys() | decided.keys())
        if constants.get(field) != decided.get(field)
    ]


# -- the tests ------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", sorted(PROVED | RUNS))
def test_every_field_is_arbitrary_or_fixed_for_a_reason(body: str) -> None:
    assert not undecided(body)


@pytest.mark.parametrize("body", sorted(PROVED - {"waiting-pass", "arrival"}))
def test_a_new_field_of_a_request_is_noticed(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Grown(Request):
        __slots__ = ("num_cached_tokens",)

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.num_cached_tokens = 0

    for module in (deciding, harness):
        monkeypatch.setattr(module, "Request", Grown)
    # First decisions are about no request in particular.
    new = [] if body == "first-decision" else [f"{body}: Request.num_cached_tokens is {{0}}"]
    assert [line.split(",")[0] for line in undecided(body)] == new


def test_preempted_and_new_requests_wait_alike_for_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same formulas come out for both, so what is proved of one is proved of the other."""
    request = Harness.request

    def swapped(self: Harness, status: RequestStatus) -> Request:
        preempted = status is RequestStatus.PREEMPTED
        return request(self, RequestStatus.WAITING if preempted else status)

    def formulas() -> list[list[str]]:
        def run(context: Context) -> list[Goal]:
            return run_body("output", Harness(context, RECOMMENDED, True, SERVES))

        with Exploration(run) as exploration:
            return [[repr(goal) for goal in path.value or ()] for path in exploration]

    proved = formulas()
    monkeypatch.setattr(Harness, "request", swapped)
    assert formulas() == proved
