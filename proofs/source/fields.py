"""``@dataclass`` on a class derived from a record, which is one already; on no other class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from proofs.source.host import Host
from proofs.source.stubs import Record

_FACTORIES = (list, dict, set)


@dataclass(frozen=True, slots=True)
class _Field:
    """A field with a default: what makes one."""

    make: Callable[[], Any]


def field_of(host: Host, options: dict[str, Any]) -> _Field:
    """``field(...)``."""
    match options:
        case {"default_factory": kind, **rest} if kind in _FACTORIES and not rest:
            return _Field(kind)
        case {"default": value, **rest} if not rest:
            return _Field(lambda: value)
    return host.undecided("field() with such options: nobody knows")


def dataclass_of(host: Host) -> Callable[..., Any]:
    """The decorator."""

    def decorate(made: Any = None, **options: Any) -> Any:
        if made is None and not options:
            return decorate
        if options or not (isinstance(made, type) and issubclass(made, Record)):
            host.unprofiled("import dataclass (with options, or on a class that is no record)")
        if any(
            "__init__" in vars(k) or "__post_init__" in vars(k) for k in made.__mro__ if _own(k)
        ):
            host.undecided("a dataclass with an __init__ or __post_init__ of its own: nobody knows")
        defaults = {n: v for n, v in vars(made).items() if isinstance(v, _Field)}
        _give(made, defaults)
        return made

    def _own(kind: type) -> bool:
        return kind in host.classes

    return decorate


def _give(made: type, defaults: dict[str, _Field]) -> None:
    """Let each object have its own defaults."""
    if not defaults:
        return
    for name in defaults:
        type.__delattr__(made, name)
    outer: Callable[..., None] = type.__getattribute__(made, "__init__")

    def init(record: Any, **given: Any) -> None:
        for name, default in defaults.items():
            if name not in given:
                given[name] = default.make()
        outer(record, **given)

    type.__setattr__(made, "__init__", init)
