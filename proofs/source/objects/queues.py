"""Queues of waiting requests, and the policies they are kept by.

vLLM's queue of the policy first come, first served is a deque, with all that a deque has; that of
the other policy has the methods of both, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from proofs.source.objects.sealed import SealedMeta
from proofs.symbolic import SymBool, Veiled, refused

if TYPE_CHECKING:
    from proofs.source.objects.requests import Request
    from proofs.source.objects.world import World


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


NAMES = ("fcfs", "priority")


class PolicyName(Veiled):
    """What the configuration says: one of two words."""

    __slots__ = ("is_priority__",)

    def __init__(self, is_priority: Any) -> None:
        super().__init__(str, "the name of the policy")
        self.is_priority__ = is_priority

    def __eq__(self, other: object) -> Any:
        if type(other) is PolicyName:
            return SchedulingPolicy(self.is_priority__) == SchedulingPolicy(other.is_priority__)
        if type(other) is not str or other not in NAMES:
            return super().__eq__(other) if isinstance(other, Veiled) else False
        mine = self.is_priority__
        if other == NAMES[1]:
            return mine
        return ~mine if type(mine) is SymBool else not mine

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return ~same if type(same) is SymBool else not same

    __hash__ = Veiled.__hash__


class PolicyNames(metaclass=SealedMeta):
    """The class ``SchedulingPolicy`` as the text names it."""

    __slots__ = ()
    FCFS = SchedulingPolicy(False)
    PRIORITY = SchedulingPolicy(True)

    answers__ = True

    def __call__(self, policy: Any) -> SchedulingPolicy:
        if type(policy) is PolicyName:
            return SchedulingPolicy(policy.is_priority__)
        if type(policy) is str and policy in NAMES:
            return SchedulingPolicy(policy == NAMES[1])
        if type(policy) is not SchedulingPolicy:
            refused("SchedulingPolicy() of what is no policy: nobody knows")
        return policy

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, SchedulingPolicy)


class RequestQueue(metaclass=SealedMeta):
    """A queue of waiting requests, first come first served or by urgency."""

    __slots__ = ("__by_priority", "__changes", "__items", "__world", "others__")

    def __init__(self, world: World, policy: SchedulingPolicy) -> None:
        self.__world = world
        self.__by_priority = policy.is_priority__  # it may be symbolic: read where it matters
        self.__items: list[Request] = []
        self.__changes = 0
        self.others__: Any = 0
        """Requests the queue holds behind those the harness shows, counted only."""

    def add_request(self, request: Request) -> None:
        """Behind all that are at least as urgent; last without priorities."""
        self.__changes += 1
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
        self.__changes += 1
        return self.__items.pop(0)

    def prepend_request(self, request: Request) -> None:
        """In front; among equals by urgency under priorities."""
        if self.__items and self.__by_priority:
            self.add_request(request)
        else:
            self.__changes += 1
            self.__items.insert(0, request)

    def prepend_requests(self, requests: Iterable[Request]) -> None:
        """In front, one after the other."""
        for request in list(requests):
            self.prepend_request(request)

    def remove_request(self, request: Request) -> None:
        """Out of the queue."""
        self.__items.remove(request)
        self.__changes += 1

    def remove_requests(self, requests: Iterable[Request]) -> None:
        """All of them out of the queue."""
        leaving = list(requests)
        self.__changes += bool(self.__items)
        self.__items = [item for item in self.__items if item not in leaving]

    def __getattr__(self, name: str) -> Any:
        method = _OF_A_DEQUE.get(name)
        if method is None or self.__by_priority:
            kind = "RequestQueue" if method is None else "PriorityRequestQueue"
            raise AttributeError(f"{kind!r} object has no attribute {name!r}", name=name, obj=self)
        return partial(method, self)

    @property
    def shown__(self) -> tuple[Request, ...]:
        """The requests the harness shows, for the prover: a text that walks a queue sees all."""
        return tuple(self.__items)

    def __bool__(self) -> bool:
        return bool(self.__items)

    def __len__(self) -> int:
        return len(self.__items)

    def __sym_len__(self) -> Any:
        return len(self.__items) + self.others__

    def __iter__(self) -> Iterator[Request]:
        return self.__walk(self.__changes)

    def __walk(self, changes: int) -> Iterator[Request]:
        self.__must_be_at(changes)
        changes = self.__changes
        for item in tuple(self.__items):
            yield item
            self.__must_be_at(changes)
        if bool(self.others__ > 0):
            self.__world.host.undecided("walks a queue, of which a proof shows the first only")

    def __must_be_at(self, changes: int) -> None:
        """Who walks a deque that changes cannot go on; who walks the other walks a copy."""
        if self.__changes != changes and not self.__by_priority:
            raise RuntimeError("deque mutated during iteration")

    def __contains__(self, request: object) -> bool:
        return request in self.__items

    def __eq__(self, other: object) -> bool:
        if self is not other and other is not None:
            refused("a queue is compared by ==: nobody knows")
        return self is other

    __hash__ = object.__hash__


_OF_A_DEQUE: dict[str, Callable[..., Any]] = {
    "append": RequestQueue.add_request,
    "appendleft": RequestQueue.prepend_request,
    "extendleft": RequestQueue.prepend_requests,
    "popleft": RequestQueue.pop_request,
    "remove": RequestQueue.remove_request,
}
"""What a queue has that is a deque; what else one has is not known here."""


def more_urgent(one: Request, two: Request) -> bool:
    """Smaller priority first, then earlier arrival."""
    if one.priority != two.priority:
        return bool(one.priority < two.priority)
    return bool(one.arrival_time < two.arrival_time)
