"""The standard library, as far as a text may use it: Python's own where that is safe.

Classes written in C cannot be changed and are handed over as they are.  What is written in Python
could be, or looks attributes up by name, or remembers what it was called with: a small stand-in of
the same behaviour takes its place.  What is not listed is undecided where it is used.
"""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import logging
import math
import operator
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from proofs.source.library.caching import CachedProperty, remembered
from proofs.source.library.enumerations import auto_of, enum_base, unique
from proofs.source.library.getters import attrgetter_of, itemgetter, methodcaller_of
from proofs.source.library.saying import PlainLogger
from proofs.source.library.scopes import suppress_of
from proofs.source.library.tuples import NamedTupleBase, namedtuple_of
from proofs.source.library.turning import accumulate_of, count_of, cycle_of, islice_of, repeat_of
from proofs.source.library.typenames import collection_name, type_name, type_variable
from proofs.source.names import listed
from proofs.source.objects.host import Host
from proofs.source.objects.sealed import NullContext
from proofs.source.syntax.fields import dataclass_of, field_of, replace_of

Maker = Callable[[Host], Any]


def _same(value: Any) -> Maker:
    return lambda host: value


def _as_they_are(module: Any, names: str) -> dict[str, Maker]:
    return {name: _same(getattr(module, name)) for name in names.split()}


def _wraps(host: Host) -> Any:
    """``functools.wraps``: of a function nothing can be seen but what was hung on it."""

    def wraps(wrapped: Any) -> Any:
        def decorate(wrapper: Any) -> Any:
            if not type(wrapped) is type(wrapper) is FunctionType:
                host.undecided("functools.wraps of what is no function: nobody knows")
            vars(wrapper).update(vars(wrapped))
            return wrapper

        return decorate

    return wraps


def _on_lists(function: Any) -> Maker:
    """A function that changes a list in C: only one that is a list and nothing more."""

    def maker(host: Host) -> Any:
        def change(items: Any, *given: Any, **options: Any) -> Any:
            if not isinstance(items, list) or getattr(items, "merged_by__", None) is not None:
                host.undecided(f"{function.__name__} of a list that is not to be changed")
            return function(items, *given, **options)

        return change

    return maker


def _copy(host: Host) -> Any:
    """``copy.copy`` of a collection."""
    kinds = (list, dict, set, collections.deque, collections.OrderedDict)

    def copy(value: Any) -> Any:
        if type(value) in kinds:
            return value.copy()
        return host.undecided("copy() of what is no plain collection: nobody knows")

    return copy


def _marks(host: Host) -> Any:
    return lambda function: function


_NAMES = listed(
    """
    Optional Union Literal Callable Iterable Iterator Sequence Mapping MutableMapping Collection
    List Dict Set FrozenSet Tuple Type Deque DefaultDict Final Annotated Self TypeAlias
    Hashable Sized Container MutableSequence NoReturn Never Generator
    """
)
_ABSTRACT = listed(
    """
    Callable Iterable Iterator Sequence Mapping MutableMapping Collection Hashable Sized Container
    MutableSequence MutableSet Set Generator Reversible KeysView ValuesView ItemsView
    """
)
_TYPING: dict[str, Maker] = {
    **dict.fromkeys(_NAMES, type_name),
    "NamedTuple": NamedTupleBase,
    "TypeVar": type_variable,
    "cast": lambda host: lambda kind, value: value,
    **dict.fromkeys(("final", "override"), _marks),
}
STANDARD: dict[str, dict[str, Maker]] = {
    "bisect": {
        **_as_they_are(bisect, "bisect bisect_left bisect_right"),
        **{name: _on_lists(getattr(bisect, name)) for name in ("insort", "insort_left")},
    },
    "collections": {
        **_as_they_are(collections, "OrderedDict defaultdict deque"),
        "namedtuple": namedtuple_of,
    },
    "collections.abc": {name: collection_name(name) for name in _ABSTRACT},
    "contextlib": {"suppress": suppress_of, "nullcontext": lambda host: NullContext},
    "copy": {"copy": _copy},
    "dataclasses": {
        "dataclass": dataclass_of,
        "field": lambda host: lambda **options: field_of(host, options),
        "replace": replace_of,
    },
    "enum": {
        **{name: enum_base(name) for name in ("Enum", "IntEnum", "StrEnum")},
        "auto": auto_of,
        "unique": lambda host: unique,
    },
    "functools": {
        **_as_they_are(functools, "partial reduce"),
        "cached_property": lambda host: lambda function: CachedProperty(host, function),
        "cache": remembered,
        "lru_cache": remembered,
        "wraps": _wraps,
    },
    "heapq": {
        name: _on_lists(getattr(heapq, name))
        for name in ("heapify", "heappush", "heappop", "heappushpop", "heapreplace")
    },
    "itertools": {
        **_as_they_are(
            itertools,
            "chain compress dropwhile filterfalse groupby pairwise product starmap takewhile"
            " zip_longest",
        ),
        "accumulate": accumulate_of,
        "count": count_of,
        "cycle": cycle_of,
        "islice": islice_of,
        "repeat": repeat_of,
    },
    "logging": {
        **_as_they_are(logging, "DEBUG INFO WARNING ERROR CRITICAL"),
        "getLogger": lambda host: lambda name=None: PlainLogger(host),
    },
    "math": _as_they_are(math, "ceil floor inf gcd isqrt log log2 prod sqrt trunc"),
    "operator": {
        **_as_they_are(operator, "add sub mul floordiv lt le gt ge eq ne getitem"),
        "attrgetter": attrgetter_of,
        "itemgetter": _same(itemgetter),
        "methodcaller": methodcaller_of,
    },
    "typing": _TYPING,
    "typing_extensions": _TYPING,
}
"""Module → name in it → what makes the text's own."""
PACKAGES = frozenset(STANDARD)
"""Modules a text may import as such."""
YOUNG = frozenset(
    {("enum", "StrEnum"), ("typing", "Self"), ("typing", "Never"), ("typing", "override")}
)
"""What not every Python has that an engine runs on."""
PYTHONS = frozenset({collections.OrderedDict, collections.defaultdict, collections.deque})
"""Classes besides the builtin ones that are in an engine what they are here."""


def standard(host: Host, module: str, name: str) -> Any:
    """What a module of the standard library has under a name, always the same object."""
    key = (module, name)
    if key not in host.standard:
        made = STANDARD[module][name](host)
        # Nothing can be hung on a method: there it would outlive the run.
        host.standard[key] = MethodType(_called, made) if type(made) is FunctionType else made
    return host.standard[key]


def _called(function: Callable[..., Any], /, *given: Any, **options: Any) -> Any:
    return function(*given, **options)


def is_standard(module: str, name: str) -> bool:
    """Whether that is listed."""
    return name in STANDARD.get(module, ())
