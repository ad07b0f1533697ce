"""`SymSeq`: a sequence known by its (symbolic) length only, or by one repeated element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from proofs.symbolic.telling import shown, told
from proofs.symbolic.veiled import Veiled

if TYPE_CHECKING:
    from proofs.symbolic.bools import SymBool
    from proofs.symbolic.ints import SymInt
    from proofs.symbolic.pool import Term

_UNKNOWN: Any = object()
"""The element of a sequence whose contents nobody knows."""


class SymSeq:
    """A list of ``length`` elements, all equal to ``element`` unless that is unknown.

    The `Pool` of a length is the sequence's link to the exploration; it stays
    attached when the length becomes a plain ``int``.
    """

    __slots__ = ("element", "is_merged", "length", "pool")

    def __init__(self, length: SymInt, element: Any = _UNKNOWN) -> None:
        self.pool = length.pool
        self.length: Term = length.__sym_max__(0)
        self.element = element
        self.is_merged = False
        """It is known elsewhere, which would not see a change in place: a merged value, say."""

    @classmethod
    def repeat(cls, items: Sequence[Any], count: SymInt) -> SymSeq:
        """``items * count``."""
        element = items[0] if items and all(x is items[0] for x in items) else _UNKNOWN
        result = cls(count, element)
        result.length = result.length * len(items)
        return result

    def _derive(self, length: Term, element: Any) -> SymSeq:
        result = object.__new__(SymSeq)
        result.pool, result.length, result.element = self.pool, length, element
        result.is_merged = False
        return result

    def merged(self, condition: SymBool, other: SymSeq | None) -> SymSeq:
        """This where the condition holds, else ``other``, of the same element; None: nothing.

        The result is an object of its own: from now on none of the three may change in place.
        """
        length = 0 if other is None else other.length
        result = self._derive(self.pool.conditional(condition, self.length, length), self.element)
        for sequence in (self, result) if other is None else (self, other, result):
            sequence.is_merged = True
        return result

    def _refuse(self, what: str) -> NoReturn:
        self.pool.refuse(f"{what} of a sequence of symbolic length {shown(self.length)}")

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance(x, list) answers as for the real thing
        return list

    # -- length ------------------------------------------------------------------------

    def __sym_len__(self) -> Term:
        """The length; what `sym_len` returns."""
        return self.length

    def __len__(self) -> int:
        if type(self.length) is not int:
            self._refuse("the builtin len() (use sym_len)")
        return self.length

    def __bool__(self) -> bool:
        return bool(self.length != 0)

    @property
    def is_opaque(self) -> bool:
        """Whether the elements are unknown."""
        return self.element is _UNKNOWN

    def concrete(self, length: int, element: Any) -> list[Any]:
        """A list of that length; unknown elements become ``None``."""
        return [None if self.element is _UNKNOWN else element] * length

    # -- contents ------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        if type(self.length) is not int or (self.length and self.element is _UNKNOWN):
            self._refuse("iteration")
        return iter([self._one() for _ in range(self.length)])

    def __contains__(self, item: object) -> bool:
        if self.element is _UNKNOWN:
            self._refuse("membership test")
        return bool(self) and bool(self.element == item)

    def __getitem__(self, key: Any) -> Any:
        if type(key) is slice:
            return self._slice(key)
        if self.element is _UNKNOWN:
            self._refuse("indexing")
        if not (key < self.length and key >= -self.length):
            raise IndexError("list index out of range")
        return self._one()

    def _one(self) -> Any:
        """One of the elements."""
        return self.element.another__() if isinstance(self.element, Veiled) else self.element

    def _slice(self, key: slice) -> SymSeq:
        if key.step not in (None, 1):
            self._refuse(f"a slice with step {shown(key.step)}")
        start, stop = self._clip(key.start, 0), self._clip(key.stop, self.length)
        return self._derive(self.pool.maximum(stop - start, 0), self.element)

    def _clip(self, bound: Any, default: Term) -> Term:
        """A slice bound resolved against the length, as Python does."""
        if bound is None:
            return default
        clipped: Term
        if bound < 0:
            clipped = self.pool.maximum(bound + self.length, 0)
        else:
            clipped = self.pool.minimum(bound, self.length)
        return clipped

    def _merged(self, other: Any) -> tuple[Term, Any]:
        """Length and common element of ``self + other``."""
        if type(other) is SymSeq:
            length, element = other.length, other.element
        else:
            items = list(other)
            length = len(items)
            element = items[0] if items and all(x is items[0] for x in items) else _UNKNOWN
        if type(length) is int and length == 0:
            return self.length, self.element
        if type(self.length) is int and self.length == 0:
            return length, element
        same = element is self.element or (
            type(element) is type(self.element) is int and element == self.element
        )
        return self.length + length, element if same else _UNKNOWN

    def __add__(self, other: Any) -> SymSeq:
        return self._derive(*self._merged(other))

    def __radd__(self, other: Any) -> SymSeq:
        return self._derive(*self._merged(other))

    def copy(self) -> SymSeq:
        """A copy."""
        return self._derive(self.length, self.element)

    # -- mutation ------------------------------------------------------------------------

    def _changes(self) -> None:
        if self.is_merged:
            self._refuse("a change in place, which another holder may not expect,")

    def extend(self, items: Any) -> None:
        """Append all items."""
        self._changes()
        self.length, self.element = self._merged(items)

    def __iadd__(self, items: Any) -> SymSeq:
        self.extend(items)
        return self

    def append(self, item: Any) -> None:
        """Append one item."""
        self.extend([item])

    def clear(self) -> None:
        """Remove everything."""
        self._changes()
        self.length = 0

    def __delitem__(self, key: Any) -> None:
        if type(key) is not slice:
            self._refuse("deletion of one element")
        self._changes()
        self.length = self.length - self._slice(key).length

    def __setitem__(self, key: Any, value: Any) -> None:
        self._refuse("assignment to an element")

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(list, name) and not name.startswith("__"):
            self._refuse(f"the method {name!r}")
        raise AttributeError(f"'list' object has no attribute {name!r}", name=name, obj=self)

    def __reversed__(self) -> NoReturn:
        self._refuse("reversal")

    def __mul__(self, count: object) -> NoReturn:
        self._refuse("repetition")

    __rmul__ = __lt__ = __le__ = __gt__ = __ge__ = __mul__

    # -- comparison ------------------------------------------------------------------------

    def __eq__(self, other: object) -> Any:
        if type(other) is SymSeq:
            length, element = other.length, other.element
        elif isinstance(other, list):
            length = len(other)
            element = other[0] if all(x is other[0] for x in other) and other else _UNKNOWN
        else:
            return NotImplemented
        same_length = self.length == length
        if type(same_length) is bool and not same_length:
            return False
        if type(length) is int and length == 0:
            return same_length
        if self.element is _UNKNOWN or element is _UNKNOWN:
            self._refuse("comparison of the unknown elements")
        return same_length if self.element == element else (same_length & (self.length == 0))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return told(self.shown())

    def shown(self) -> str:
        """Element and length as text."""
        element = "?" if self.element is _UNKNOWN else shown(self.element)
        return f"[{element}] * ({shown(self.length)})"
