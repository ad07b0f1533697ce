"""The tokens of a request, as a list of its own: it grows with the request, and may be read.

A request of the harness has counters and no list.  So a text that changed one in place would find
nothing changed: that path is undecided.  Of the tokens none is known but those appended in the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from proofs.source.objects.sealed import SealedMeta
from proofs.source.objects.tokens import UNSEEN
from proofs.symbolic import SymInt, SymSeq, refused
from proofs.symbolic.telling import told

if TYPE_CHECKING:
    from proofs.source.objects.requests import Request


def sequence(length: Any, element: Any = UNSEEN) -> Any:
    """A list of that many equal elements; symbolic if its length is."""
    if type(length) is SymInt:
        return SymSeq(length, element)
    return [element] * max(int(length), 0)


class History(metaclass=SealedMeta):
    """All tokens of a request, or those of its output.

    Args:
        request: whose; it knows the last of them, as far as they are known.
        counter: its attribute that says how many there are now.
    """

    __slots__ = ("__counter", "__request")

    def __init__(self, request: Request, counter: str) -> None:
        self.__request, self.__counter = request, counter

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance(x, list) answers as for the real thing
        return list

    def copy(self) -> Any:
        """As it is now; whoever holds the copy may change it."""
        return sequence(self.__sym_len__())

    def __sym_len__(self) -> Any:
        return getattr(self.__request, self.__counter)

    def __len__(self) -> int:
        return len(self.copy())

    def __bool__(self) -> bool:
        return bool(self.__sym_len__() != 0)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.copy())

    def __contains__(self, token: object) -> bool:
        return token in self.copy()

    def __getitem__(self, key: Any) -> Any:
        tail = self.__request.tail__
        if type(key) is int and -len(tail) <= key < 0:
            return tail[key]
        return self.copy()[key]

    def __add__(self, others: Any) -> Any:
        return self.copy() + others

    def __radd__(self, others: Any) -> Any:
        return others + self.copy()

    def __eq__(self, other: object) -> Any:
        return self is other or self.copy() == other

    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(list, name):
            self.__refuse(f"the method {name!r}")
        raise AttributeError(f"'list' object has no attribute {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        return told("[the tokens of a request]")

    def __refuse(self, use: str) -> NoReturn:
        refused(f"{use} of the list of a request's tokens")


def _refusing(use: str) -> Callable[..., NoReturn]:
    def refuse(self: History, *arguments: Any) -> NoReturn:
        refused(f"{use} of the list of a request's tokens")

    return refuse


for _name in ("__setitem__", "__delitem__", "__iadd__", "__imul__"):
    type.__setattr__(History, _name, _refusing("a change in place"))
for _name in ("__mul__", "__rmul__", "__reversed__", "__lt__", "__le__", "__gt__", "__ge__"):
    type.__setattr__(History, _name, _refusing(f"{_name.strip('_')}()"))
