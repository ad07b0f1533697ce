"""A set that an earlier step left behind: what is in it is free, and so is how much else is.

The profile's ``any-ids`` and ``any-requests``.  Whether an object is in it is a free truth value,
decided only where the text branches on it; what the text adds and removes is remembered.  What
cannot be said of such a set (its elements one by one, another set built from it) is undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from proofs.source.objects.merging import attempt
from proofs.source.objects.requests import Request
from proofs.source.objects.sealed import SealedMeta
from proofs.symbolic import SymBool
from proofs.symbolic.counts import counted
from spec.logic import any_of, ite, not_

if TYPE_CHECKING:
    from proofs.source.objects.world import World


class FreeSet(metaclass=SealedMeta):
    """A set of request ids, or of requests.

    Args:
        name: what questions about it are called.
        everyone: the elements that may be in it and that the run knows.
    """

    __slots__ = ("__everyone", "__is_known", "__members", "__name", "__world")

    def __init__(self, world: World, name: str, everyone: Callable[[], Iterable[Any]]) -> None:
        self.__world, self.__name, self.__everyone = world, name, everyone
        self.__members: dict[Any, Any] = {}
        self.__is_known = False
        """Whether nothing but the members is in it."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance(x, set) answers as for the real thing
        return set

    # -- what is in it -------------------------------------------------------------------------

    def has__(self, element: Any) -> Any:
        """Whether an object is in it, undecided."""
        if element not in self.__members:
            if self.__is_known:
                return False
            if not isinstance(element, str | Request):
                self.__refuse("whether it holds something that is no request")
            said = element.request_id if type(element) is Request else element
            self.__members[element] = self.__world.context.bool(f"{said} in {self.__name}")
        return self.__members[element]

    def known__(self) -> list[tuple[Any, Any]]:
        """Every element the run knows, and whether it is in it."""
        return [(e, self.has__(e)) for e in dict.fromkeys((*self.__everyone(), *self.__members))]

    def others__(self) -> Any:
        """How many are in it that the run does not know."""
        if self.__is_known:
            return 0
        return self.__world.context.int(f"others in {self.__name}", 0)

    def __contains__(self, element: object) -> bool:
        return bool(self.has__(element))

    def __bool__(self) -> bool:
        return bool(any_of(self.others__() > 0, *(held for _, held in self.known__())))

    def __sym_len__(self) -> Any:
        known = (ite(held, counted(1), 0) for _, held in self.known__())
        return sum(known, self.others__())

    def __len__(self) -> int:
        size = self.__sym_len__()
        return size if type(size) is int else self.__refuse("its size")

    def __iter__(self) -> Iterator[Any]:
        if bool(self.others__() > 0):
            self.__refuse("its elements")
        return iter([element for element, held in self.known__() if bool(held)])

    # -- what changes it -----------------------------------------------------------------------

    def add(self, element: Any) -> None:
        """It is in it."""
        self.__members[element] = True

    def discard(self, element: Any) -> None:
        """It is not in it."""
        self.__members[element] = False

    def remove(self, element: Any) -> None:
        """It was in it."""
        if element not in self:
            raise KeyError(element)
        self.discard(element)

    def clear(self) -> None:
        """Nothing is in it."""
        self.__members, self.__is_known = {}, True

    def update(self, *several: Iterable[Any]) -> None:
        """All of these are in it."""
        for elements in several:
            for element in elements:
                self.add(element)

    def difference_update(self, *several: Iterable[Any]) -> None:
        """None of these is in it."""
        for elements in several:
            for element in elements:
                self.discard(element)

    def symmetric_difference_update(self, elements: Iterable[Any]) -> None:
        """Those of these are in it that were not."""
        for element in list(dict.fromkeys(elements)):
            self.__members[element] = not_(self.has__(element))

    def __ior__(self, elements: Iterable[Any]) -> FreeSet:
        self.update(elements)
        return self

    def __isub__(self, elements: Iterable[Any]) -> FreeSet:
        self.difference_update(elements)
        return self

    def __ixor__(self, elements: Iterable[Any]) -> FreeSet:
        self.symmetric_difference_update(elements)
        return self

    def copy(self) -> FreeSet:
        """Another one with the same in it."""
        made = FreeSet(self.__world, self.__name, self.__everyone)
        made.__members, made.__is_known = dict(self.__members), self.__is_known
        return made

    def __refuse(self, what: str) -> NoReturn:
        self.__world.context.unsupported(f"{self.__name}, which an earlier step left: {what}")

    def refuse__(self, what: str) -> NoReturn:
        """The text asks for something that cannot be said: this path is undecided."""
        self.__refuse(what)

    def sum__(self, number: Callable[[Any], Any]) -> Any:
        """A sum over it, which is free; with each known element is done what the text does.

        That is asked once: nobody knows what it holds, so either none of them is in it, or all.
        """
        world = self.__world
        question = world.name(f"sum over {self.__name}")
        if bool(world.context.bool(f"something in {question}")):
            for element in self.__everyone():
                number(element)
        return world.context.int(question)

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'set'")


def _refusing(name: str) -> Callable[..., Any]:
    def refused(self: FreeSet, *arguments: Any) -> Any:
        self.refuse__(f"{name.strip('_')}()")

    return refused


_WHOLE = """
    pop union intersection difference symmetric_difference intersection_update isdisjoint issubset
    issuperset __and__ __or__ __xor__ __sub__ __rand__ __ror__ __rxor__ __rsub__ __iand__ __eq__
    __ne__ __le__ __lt__ __ge__ __gt__
"""
"""What speaks of all of its elements."""
for _name in _WHOLE.split():
    type.__setattr__(FreeSet, _name, _refusing(_name))


def has(element: Any, items: Any) -> Any:
    """``element in items``, undecided where a set's content is free."""
    return items.has__(element) if type(items) is FreeSet else element in items


def total(items: Any, number: Callable[[Any], Any]) -> Any:
    """``sum(number(x) for x in items)``."""
    if type(items) is FreeSet:
        return items.sum__(number)
    return sum(map(number, items))


class Uncertain(metaclass=SealedMeta):
    """A dictionary in which something was stored or not: it may be handed on, and not read."""

    __slots__ = ("__before", "__refuse", "__stored")

    def __init__(self, refuse: Callable[[str], NoReturn], before: Any, *stored: Any) -> None:
        self.__refuse, self.__before, self.__stored = refuse, before, [stored]

    def __setitem__(self, key: Any, value: Any) -> None:
        """What else is stored does not make it known."""
        self.__stored.append((True, key, value))

    def stored__(self) -> tuple[Any, list[Any]]:
        """What it was before, and each condition, key and value stored since."""
        return self.__before, self.__stored

    def refuse__(self) -> NoReturn:
        """The text reads it."""
        self.__refuse("reading what was stored under a condition that nobody decided")

    def __getattr__(self, name: str) -> Any:
        self.refuse__()

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'dict'")


def _unreadable(self: Uncertain, *arguments: Any) -> Any:
    self.refuse__()


_READING = """
    __getitem__ __delitem__ __contains__ __iter__ __len__ __bool__ __eq__ __ne__ __or__ __ror__
    __ior__ __reversed__
"""
for _name in _READING.split():
    type.__setattr__(Uncertain, _name, _unreadable)


def perhaps(
    holds: Any, report: Any, key: Callable[[], Any], value: Callable[[], Any], owner: Any
) -> Any:
    """``report`` after ``if holds: report[key] = value``, of a dictionary that nobody reads here.

    Args:
        owner: gives what is copied to make the value; None: the value only computes.
    """
    if type(holds) is SymBool and (owner is None or _is_list(owner)):
        return Uncertain(holds.pool.refuse, report, holds, key(), attempt(value))
    if holds:
        report[key()] = value()
    return report


def _is_list(owner: Callable[[], Any]) -> bool:
    return isinstance(owner(), list)
