"""What a loop may see: who a request is, and the few fields named here.  The rest is sealed.

A sealed value can be handed on but not looked into, and its fields cannot be set.  Code that gets
by does the same whatever the value is, so one value shows what any would do: a loop over sealed
requests, under sealed knobs, is proved for requests of any size under every configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from operator import attrgetter
from typing import Any, ClassVar, NoReturn, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
Seen = TypeVar("Seen")
SEES = "the loops look into nothing they hand on"
"""The promise kept by code that never makes ``Peeked`` be raised."""


class Peeked(Exception):
    """Something looked into a sealed value, or set one; says which.  The seal remembers it, come
    what may."""


def _broken(self: Opaque, *_: object) -> NoReturn:
    seal: Seal = object.__getattribute__(self, "_seal")
    seal.breaks(object.__getattribute__(self, "_what"))


class Opaque:
    """A value nobody may look into: whatever is asked of it raises ``Peeked``.

    Args:
        seal: what is broken then.
        what: how it is called.
        value: the value itself, for ``opened``.
    """

    def __init__(self, seal: Seal, what: str, value: Any) -> None:
        for name, held in (("_seal", seal), ("_what", what), ("_value", value)):
            object.__setattr__(self, name, held)

    __getattribute__ = __setattr__ = __delattr__ = __call__ = _broken
    __bool__: Callable[..., Any] = _broken
    __iter__: Callable[..., Any] = _broken
    __int__ = __float__ = __index__ = __len__ = _broken
    __contains__ = __getitem__ = __setitem__ = __hash__ = _broken
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _broken
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _broken
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _broken
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _broken
    __neg__ = __pos__ = __abs__ = __invert__ = __repr__ = __str__ = _broken


class Truth(Opaque):
    """A value of which only the truth may be asked."""

    def __bool__(self) -> Any:
        return bool(object.__getattribute__(self, "_value"))


class OneByOne(Opaque):
    """Several values that can be taken one after the other, not counted or picked from."""

    def __iter__(self) -> Any:
        return iter(object.__getattribute__(self, "_value"))


def opened(value: Any) -> Any:
    """The value itself."""
    hidden = type(value) in (Opaque, Truth, OneByOne)
    return object.__getattribute__(value, "_value") if hidden else value


class Seal:
    """What the code that runs now may see: little if it is a loop, and all if it is proved for any
    values."""

    def __init__(self) -> None:
        self.closed = self.is_broken = False
        self.visible: tuple[str, ...] = ()
        """Attributes that can be seen all the same."""

    @contextmanager
    def turned(self, closed: bool, *visible: str) -> Iterator[None]:
        """Closed or open for a while."""
        before = self.closed, self.visible
        self.closed, self.visible = closed, visible
        try:
            yield
        finally:
            self.closed, self.visible = before

    def breaks(self, what: str) -> NoReturn:
        """A loop laid hands on what is sealed."""
        self.is_broken = True
        raise Peeked(what)

    def shown(self, what: str, value: Any) -> Any:
        """A value, or what a loop gets to see of it."""
        return Opaque(self, what, value) if self.closed else value


class Sealed:
    """An object behind a seal: while that is closed, only some of its attributes can be seen.

    Args:
        seal: says whether a loop is looking.
        target: the object.
        visible: names of the attributes that a loop may see.
    """

    __slots__ = ("_seal", "_target", "_visible")
    MOVES: ClassVar[frozenset[str]] = frozenset()
    """Names of the attributes that a loop may set."""

    def __init__(self, seal: Seal, target: object, *visible: str) -> None:
        for name, value in zip(Sealed.__slots__, (seal, target, visible), strict=True):
            object.__setattr__(self, name, value)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance answers as for the object itself
        return type(self._target)

    @classmethod
    def of(cls, seal: Seal, target: Seen, *visible: str) -> Seen:
        """The object behind a seal, of the type it seems to be."""
        return cast(Seen, cls(seal, target, *visible))

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if not self._seal.closed or name in self._visible:
            return value
        what = f"{type(self._target).__name__}.{name}"
        return value if what in self._seal.visible else self._seal.shown(what, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._seal.closed and name not in self.MOVES:
            self._seal.breaks(f"{type(self._target).__name__}.{name}")
        setattr(self._target, name, value)


def unsealed(value: Seen) -> Seen:
    """The object itself, for code that sees everything and should be fast."""
    behind: Any = value
    return cast(Seen, behind._target)


def behind_the_seal(*names: str) -> Callable[[Any], tuple[Any, ...]]:
    """Reads these attributes of a sealed object, whoever is looking: for the diary, and fast."""
    read = attrgetter(*names)
    return lambda sealed: read(sealed._target)


def proved_for_any(body: Callable[P, R]) -> Callable[P, R]:
    """A method that sees everything: other bodies prove it for arbitrary values."""

    @wraps(body)
    def open_eyed(*args: P.args, **kwargs: P.kwargs) -> R:
        scheduler: Any = args[0]
        with scheduler.seal.turned(closed=False):
            return body(*args, **kwargs)

    return open_eyed
