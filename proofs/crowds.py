"""Containers that hold more than they show: any number of other requests.

A body shows one request to the model's code.  Code that counts what is not shown, walks through it
or picks from it would be judged for one request only, so that is refused: the verdict is then
*undecided*.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from proofs.symbolic import Context


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

    def __sym_len__(self) -> Any:
        return list.__len__(self) + self._others

    def __len__(self) -> NoReturn:  # noqa: PLE0303
        self._context.unsupported("a decision counts a queue: use spec.logic.size")

    def __bool__(self) -> NoReturn:  # noqa: PLE0304
        self._context.unsupported("a decision asks whether a queue is empty")

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        self._context.unsupported("a decision walks through a queue or picks from it")

    __iter__ = __reversed__ = __getitem__ = __setitem__ = __delitem__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __mul__ = __iadd__ = __imul__ = sort = reverse = copy = clear = extend = _refuse
    __hash__ = None


class Ledger(dict[Any, Any]):
    """What a step gave out so far: entries can be read and written, not counted or walked through.

    Args:
        context: the exploration in progress.
    """

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context

    def _refuse(self, *_: Any) -> NoReturn:
        self._context.unsupported("a decision looks at what all other requests got")

    __len__ = __bool__ = __iter__ = keys = values = items = _refuse


class Marks(set[Any]):
    """Which requests a step marked so far: one can be asked about, others cannot be counted.

    Args:
        context: the exploration in progress.
    """

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context

    def _refuse(self, *_: Any) -> NoReturn:
        self._context.unsupported("a decision looks at how all other requests are marked")

    __len__ = __bool__ = __iter__ = _refuse
