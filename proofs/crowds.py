"""Containers that hold more than they show: any number of other requests.

A body shows one request to the model's code.  Code that counts what is not shown, walks through it
or picks from it would be judged for one request only, so that is refused: the verdict is then
*undecided*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from proofs.symbolic import Context


def _refusal(what: str) -> Callable[..., NoReturn]:
    """A method that leaves the path undecided, for this reason."""

    def refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
        context: Context = self._context
        context.unsupported(what)

    return refuse


class Crowd(list[Any]):
    """A queue of which only some requests are shown; ``spec.logic.size`` knows how many it holds.

    Args:
        context: the exploration in progress.
        shown: the requests that can be seen.
        others: how many more there are.
    """

    def __init__(self, context: Context, shown: Iterable[Any] = (), others: Any = 0) -> None:
        super().__init__(shown)
        self._context, self._others = context, others
        self.positions: dict[Any, Any] = {}
        """Where those stand that were looked for."""
        self._witnesses: tuple[object, object] | tuple[()] = ()

    def watch(self) -> list[Any]:
        """Let two witnesses stand for whoever is in front and behind; what is shown from now on."""
        if not self._witnesses:
            front, behind = self._witnesses = object(), object()
            list.insert(self, 0, front)
            list.append(self, behind)
        return self.shown

    @property
    def shown(self) -> list[Any]:
        """What can be seen, witnesses included."""
        return list(list.__iter__(self))

    def __sym_len__(self) -> Any:
        return list.__len__(self) - len(self._witnesses) + self._others

    def index(self, item: Any, *_: Any) -> Any:
        """Somewhere: nobody knows how many stand in front."""
        list.index(self, item)
        if item not in self.positions:
            name = f"position {len(self.positions)} in a queue"
            self.positions[item] = self._context.int(name, 0)
        return self.positions[item]

    def pop(self, position: Any = None) -> Any:
        """Take out what was found at a position."""
        for item in self.shown:
            if position is not None and self.positions.get(item) is position:
                list.remove(self, item)
                return item
        return self._refuse()

    __len__ = _refusal("a decision counts a queue: use spec.logic.size")
    __bool__ = _refusal("a decision asks whether a queue is empty")
    _refuse = _refusal("a decision walks through a queue or picks from it")
    __iter__ = __reversed__ = __getitem__ = __setitem__ = __delitem__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __mul__ = __rmul__ = __iadd__ = __imul__ = _refuse
    sort = reverse = copy = clear = extend = _refuse
    __hash__ = None


class Ledger(dict[Any, Any]):
    """What a step gave out so far: entries can be read and written, not counted or walked through.

    Args:
        context: the exploration in progress.
    """

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context

    _refuse = _refusal("a decision looks at what all other requests got")
    __len__ = __bool__ = __iter__ = __reversed__ = keys = values = items = _refuse
    __eq__ = __ne__ = __or__ = __ror__ = __ior__ = copy = update = clear = popitem = _refuse
    __hash__ = None


class Marks(set[Any]):
    """Which requests a step marked so far: one can be asked about, others cannot be counted.

    Args:
        context: the exploration in progress.
    """

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context

    _refuse = _refusal("a decision looks at how all other requests are marked")
    __len__ = __bool__ = __iter__ = copy = clear = pop = update = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __or__ = __ror__ = __ior__ = __and__ = __rand__ = __iand__ = _refuse
    __sub__ = __rsub__ = __isub__ = __xor__ = __rxor__ = __ixor__ = _refuse
    union = intersection = difference = symmetric_difference = _refuse
    intersection_update = difference_update = symmetric_difference_update = _refuse
    isdisjoint = issubset = issuperset = _refuse
    __hash__ = None


class Name(str):
    """A name that says nothing: it can be handed on, not read.

    Args:
        context: the exploration in progress.
        text: what people call it.
    """

    _context: Context

    def __new__(cls, context: Context, text: str) -> Name:
        name = super().__new__(cls, text)
        name._context = context
        return name


_refuse_to_read = _refusal("a decision reads the name of a request")
for _method in set(dir(str)) - set(dir(object)) | {"__eq__", "__ne__", "__lt__", "__le__"}:
    if _method != "__getnewargs__":
        setattr(Name, _method, _refuse_to_read)
