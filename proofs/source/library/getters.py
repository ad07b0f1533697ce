"""``operator``'s getters: each attribute is asked for as ``getattr`` in the text would be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proofs.source.objects.host import Host

Getter = Callable[[Any], Any]


def _of(host: Host, path: object) -> Getter:
    """Gets what stands behind a dotted name."""
    from proofs.source.library.asking import Asking  # which knows the vocabulary

    if type(path) is not str:
        host.undecided("a getter of a name that is no plain text: nobody knows")
    asking, names = Asking(host), str(path).split(".")

    def get(value: Any) -> Any:
        for name in names:
            value = asking.attribute(value, name)
        return value

    return get


def attrgetter_of(host: Host) -> Callable[..., Getter]:
    """``operator.attrgetter``."""

    def attrgetter(first: object, /, *more: object) -> Getter:
        getters = [_of(host, path) for path in (first, *more)]
        return getters[0] if not more else lambda value: tuple(get(value) for get in getters)

    return attrgetter


def itemgetter(first: Any, /, *more: Any) -> Getter:
    """``operator.itemgetter``."""
    if not more:
        return lambda value: value[first]
    return lambda value: tuple(value[item] for item in (first, *more))


def methodcaller_of(host: Host) -> Callable[..., Getter]:
    """``operator.methodcaller``."""

    def methodcaller(name: object, /, *given: Any, **options: Any) -> Getter:
        get = _of(host, name)
        if type(name) is str and "." in name:
            host.undecided("a method of a dotted name: there is none")
        return lambda value: get(value)(*given, **options)

    return methodcaller
