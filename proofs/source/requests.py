"""Requests, their status and their queues, as the text sees them."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from model.request import RequestStatus as ModelStatus
from proofs.source.fresh import Fresh
from proofs.source.history import History
from proofs.source.ids import id_of
from proofs.source.stubs import SealedMeta, resolve
from proofs.source.tokens import UNSEEN, others_among
from proofs.symbolic import SymBool, SymSeq
from proofs.symbolic.telling import told

if TYPE_CHECKING:
    from proofs.source.host import Host
    from proofs.source.world import World


class _SealedEnum(enum.EnumMeta):
    """An enumeration the text cannot change."""

    _sealed = False

    def __setattr__(cls, name: str, value: object) -> None:
        if cls._sealed:
            raise AttributeError(f"cannot set attribute {name!r} of {cls.__name__}")
        super().__setattr__(name, value)


class _Member:
    """Members that the text cannot hang anything on."""

    def __setattr__(self, name: str, value: object) -> None:
        if _SealedEnum._sealed:
            raise AttributeError(f"cannot set attribute {name!r} of {self!r}")
        super().__setattr__(name, value)


class RequestStatus(_Member, enum.IntEnum, metaclass=_SealedEnum):
    """vLLM's statuses, in vLLM's order: whatever follows PREEMPTED is finished."""

    WAITING = 1
    WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR = 2
    WAITING_FOR_REMOTE_KVS = 3
    WAITING_FOR_STREAMING_REQ = 4
    RUNNING = 5
    PREEMPTED = 6
    FINISHED_STOPPED = 7
    FINISHED_LENGTH_CAPPED = 8
    FINISHED_ABORTED = 9
    FINISHED_IGNORED = 10
    FINISHED_ERROR = 11
    FINISHED_REPETITION = 12

    @staticmethod
    def is_finished(status: RequestStatus) -> bool:
        """Whether a request of this status is over."""
        return status > RequestStatus.PREEMPTED

    @staticmethod
    def get_finished_reason(status: RequestStatus) -> str | None:
        """Why it is over, in words."""
        return status.name if RequestStatus.is_finished(status) else None


class PauseState(_Member, enum.Enum, metaclass=_SealedEnum):
    """The engine is not paused in any theorem."""

    UNPAUSED = 0
    PAUSED_NEW = 1
    PAUSED_ALL = 2


_SealedEnum._sealed = True

MODEL_STATUS = {RequestStatus[status.name]: status for status in ModelStatus}


def length_of(items: Any) -> Any:
    """The length of a list that may be symbolic."""
    return items.length if type(items) is SymSeq else len(items)


class Request(metaclass=SealedMeta):
    """A request: counters that may be symbolic, everything else from the profile."""

    def __init__(self, host: Host, request_id: str, prompt: Any, max_tokens: Any) -> None:
        object.__setattr__(self, "_Request__host", host)
        self.request_id: str = id_of(request_id)
        self.status = RequestStatus.WAITING
        self.num_prompt_tokens = prompt
        self.max_tokens = max_tokens
        self.num_emitted__ = 0
        self.tail__: list[Any] = []
        """The last tokens, as far as they are known."""
        self.num_invented__: Any = 0
        """Tokens appended that no runner returned."""
        self.num_computed_tokens: Any = 0
        self.num_output_placeholders: Any = 0
        self.num_in_flight_tokens: Any = 0
        self.num_stale_output_tokens: Any = 0
        self.spec_token_ids: Any = Fresh()
        self.is_prefill_chunk: Any = False
        self.drop_stale_output: Any = False
        self.num_preemptions: Any = 0
        self.priority: Any = 0
        self.arrival_time: Any = 0

    def __getattr__(self, name: str) -> Any:
        host: Host = object.__getattribute__(self, "_Request__host")
        return resolve(host, f"request.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED:
            raise AttributeError(f"property {name!r} of 'Request' object has no setter")
        object.__setattr__(self, name, value)

    @property
    def num_output_tokens(self) -> Any:
        """O."""
        return self.num_emitted__

    @property
    def num_tokens(self) -> Any:
        """N = P + O."""
        return self.num_prompt_tokens + self.num_emitted__

    @property
    def num_tokens_with_spec(self) -> Any:
        """N + S."""
        return self.num_tokens + length_of(self.spec_token_ids)

    @property
    def all_token_ids(self) -> History:
        """Prompt and output."""
        return History(self, "num_tokens")

    _all_token_ids = all_token_ids

    @property
    def output_token_ids(self) -> History:
        """Output only."""
        return History(self, "num_emitted__")

    _output_token_ids = output_token_ids

    @property
    def last__(self) -> Any:
        """The last token."""
        return self.tail__[-1] if self.tail__ else UNSEEN

    def append_output_token_ids(self, token_ids: Any) -> None:
        """Tokens were sampled."""
        several = isinstance(token_ids, list)
        added = length_of(token_ids) if several else 1
        self.num_emitted__ = self.num_emitted__ + added
        self.num_invented__ = self.num_invented__ + others_among(token_ids)
        if not several:
            self.tail__.append(token_ids)
        elif type(token_ids) is list:
            self.tail__ += token_ids
        elif added:
            self.tail__[:] = [token_ids[-1]]

    def is_finished(self) -> bool:
        """Whether the request is over."""
        return RequestStatus.is_finished(self.status)

    def get_finished_reason(self) -> str | None:
        """Why it is over, in words."""
        return RequestStatus.get_finished_reason(self.status)

    def __repr__(self) -> str:
        return told(f"<request {self.request_id}>")

    def foreign__(self) -> Iterator[tuple[str, Any]]:
        """What the text has stored in it that it was not made with."""
        return ((name, value) for name, value in vars(self).items() if name not in _MADE_WITH)


_FIXED = frozenset(name for name in vars(Request) if not name.startswith("__")) | {"request_id__"}
_MADE_WITH = frozenset(vars(Request(None, "", 1, 1)))  # type: ignore[arg-type]


class SchedulingPolicy(metaclass=SealedMeta):
    """FCFS or priority; which one may be a symbolic flag."""

    __slots__ = ("is_priority__",)
    is_priority__: Any

    def __init__(self, is_priority: Any) -> None:
        object.__setattr__(self, "is_priority__", is_priority)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, SchedulingPolicy):
            return False
        mine, theirs = self.is_priority__, other.is_priority__
        if type(mine) is SymBool or type(theirs) is SymBool:
            return mine == theirs
        return mine is theirs

    def __hash__(self) -> int:
        return 0


class PolicyNames(metaclass=SealedMeta):
    """The class ``SchedulingPolicy`` as the text names it."""

    __slots__ = ()
    FCFS = SchedulingPolicy(False)
    PRIORITY = SchedulingPolicy(True)

    def __call__(self, policy: Any) -> SchedulingPolicy:
        if not isinstance(policy, SchedulingPolicy):
            raise ValueError(f"{policy!r} is not a valid SchedulingPolicy")
        return policy


class RequestQueue(metaclass=SealedMeta):
    """A queue of waiting requests, first come first served or by urgency."""

    __slots__ = ("__by_priority", "__items", "__world", "others__")

    def __init__(self, world: World, policy: SchedulingPolicy) -> None:
        self.__world = world
        self.__by_priority = policy.is_priority__  # it may be symbolic: read where it matters
        self.__items: list[Request] = []
        self.others__: Any = 0
        """Requests the queue holds behind those the harness shows, counted only."""

    def add_request(self, request: Request) -> None:
        """Behind all that are at least as urgent; last without priorities."""
        at = len(self.__items)
        if at and self.__by_priority:
            while at > 0 and more_urgent(request, self.__items[at - 1]):
                at -= 1
        self.__items.insert(at, request)

    def peek_request(self) -> Request:
        """The next request."""
        if not self.__items:
            raise IndexError("peek from an empty queue")
        self.__world.looked_at(self.__items[0])
        return self.__items[0]

    def pop_request(self) -> Request:
        """Take the next request."""
        if not self.__items:
            raise IndexError("pop from an empty queue")
        self.__world.taken(self.__items[0])
        return self.__items.pop(0)

    def prepend_request(self, request: Request) -> None:
        """In front; among equals by urgency under priorities."""
        if self.__items and self.__by_priority:
            self.add_request(request)
        else:
            self.__items.insert(0, request)

    def prepend_requests(self, requests: Iterable[Request]) -> None:
        """In front, one after the other."""
        for request in list(requests):
            self.prepend_request(request)

    def remove_request(self, request: Request) -> None:
        """Out of the queue."""
        self.__items.remove(request)

    def remove_requests(self, requests: Iterable[Request]) -> None:
        """All of them out of the queue."""
        leaving = list(requests)
        self.__items = [item for item in self.__items if item not in leaving]

    append, appendleft, remove = add_request, prepend_request, remove_request
    popleft = pop_request

    def __bool__(self) -> bool:
        return bool(self.__items)

    def __len__(self) -> int:
        return len(self.__items)

    def __sym_len__(self) -> Any:
        return len(self.__items) + self.others__

    def __iter__(self) -> Iterator[Request]:
        return iter(list(self.__items))

    def __contains__(self, request: object) -> bool:
        return request in self.__items


def more_urgent(one: Request, two: Request) -> bool:
    """Smaller priority first, then earlier arrival."""
    if one.priority != two.priority:
        return bool(one.priority < two.priority)
    return bool(one.arrival_time < two.arrival_time)
