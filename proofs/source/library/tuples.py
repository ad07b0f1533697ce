"""Named tuples: Python makes the classes, and what it cannot know of them is given to it.

Python builds such a class from a text of its own, into which only names go that it has looked at:
so the names have to be plain texts, and not something of the text's that answers as it likes.
"""

from __future__ import annotations

import collections
import typing
from collections.abc import Callable
from typing import Any

from proofs.source.objects.host import Host
from proofs.source.objects.ofhost import OfAHost
from proofs.source.objects.wording import word

MODULE = "scheduler"
"""The module that the classes of a text say they are from."""


class NamedTupleBase(OfAHost):
    """``typing.NamedTuple``, as a base and as nothing else."""

    __slots__ = ()
    called__ = "NamedTuple"

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        if len(bases) > 1:
            self.host__.undecided("a named tuple with several bases: nobody knows")
        made: tuple[type, ...] = typing.NamedTuple.__mro_entries__(  # type: ignore[attr-defined]
            (typing.NamedTuple,)
        )
        return made

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.host__.undecided("NamedTuple(...) by a call: write it as a class")


def namedtuple_of(host: Host) -> Callable[..., type]:
    """``collections.namedtuple``."""

    def namedtuple(
        typename: Any, field_names: Any, *, rename: Any = False, defaults: Any = None
    ) -> type:
        names = field_names if type(field_names) in (list, tuple) else [field_names]
        plain = all(type(name) is str for name in (typename, *names))
        given = () if defaults is None else defaults
        if not plain or type(rename) is not bool or type(given) not in (list, tuple):
            host.undecided("namedtuple() of names that are no plain texts: nobody knows")
        make: Any = collections.namedtuple
        made: type = make(typename, field_names, rename=rename, defaults=given, module=MODULE)
        word(made)
        host.classes[made] = None
        for value in given:
            host.keep(f"{typename}.defaults", value)
        return made

    return namedtuple
