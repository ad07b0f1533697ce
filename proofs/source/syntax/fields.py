"""``@dataclass``: on a class of the text by Python itself, on one derived from a record by hand.

Python reads which fields there are from annotations, and a check evaluates none.  What `rewrite`
leaves of them in a class says of each name whether it is a field, a variable of the class, or
something that nobody can tell.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from proofs.source.objects.host import Host
from proofs.source.objects.ofhost import OfAHost
from proofs.source.objects.stubs import Record
from proofs.source.objects.wording import word

ANNOTATED = "_annotated__"
FIELD, OF_CLASS, STRANGE = "field", "of-class", "strange"
"""What an annotation makes of a name."""
_FACTORIES = (list, dict, set)
_CLASS_OPTIONS = frozenset(
    {"init", "repr", "eq", "order", "unsafe_hash", "frozen", "match_args", "kw_only", "slots"}
)
_FIELD_OPTIONS = frozenset({"init", "repr", "hash", "compare", "kw_only"})
_SUPER = "__class__"


class _Strange:
    """Stands for an annotation that may make a name other than a field."""


def annotated(kinds: Mapping[str, str]) -> dict[str, Any]:
    """What Python finds as the annotations of a class."""
    types = {FIELD: object, OF_CLASS: typing.ClassVar, STRANGE: _Strange}
    return {name: types[kind] for name, kind in kinds.items()}


class _Field(OfAHost):
    """What ``field(...)`` makes, until its class takes it over."""

    __slots__ = ("options__",)
    called__ = "field()"

    def __init__(self, host: Host, options: dict[str, Any]) -> None:
        super().__init__(host)
        object.__setattr__(self, "options__", options)


def field_of(host: Host, options: dict[str, Any]) -> _Field:
    """``field(...)``."""
    given = {name: value for name, value in options.items() if name in _FIELD_OPTIONS}
    rest = options.keys() - given.keys()
    plain = all(type(value) is bool or value is None for value in given.values())
    if not plain or rest not in (set(), {"default"}, {"default_factory"}):
        host.undecided("field() with such options: nobody knows")
    return _Field(host, options)


def dataclass_of(host: Host) -> Callable[..., Any]:
    """The decorator."""

    def decorate(made: Any = None, /, **options: Any) -> Any:
        if made is None:
            return lambda later: decorate(later, **options)
        if isinstance(made, type) and issubclass(made, Record):
            return _record(host, made, options)
        known = all(type(v) is bool and name in _CLASS_OPTIONS for name, v in options.items())
        if not (known and isinstance(made, type) and made in host.classes):
            host.undecided("dataclass() with such options, or of such a class: nobody knows")
        return _made(host, made, options)

    return decorate


def replace_of(host: Host) -> Callable[..., Any]:
    """``dataclasses.replace``."""

    def replace(value: Any, /, **changes: Any) -> Any:
        if type(value) not in host.classes or not dataclasses.is_dataclass(value):
            host.undecided("replace() of what is no dataclass of the text: nobody knows")
        made: Any = dataclasses.replace
        return made(value, **changes)

    return replace


def _made(host: Host, made: type, options: dict[str, bool]) -> type:
    """The class with the methods that Python writes for it."""
    if not all(kind in host.classes or kind.__module__ == "builtins" for kind in made.__mro__):
        host.undecided("a dataclass derived from a class of the engine: nobody knows")
    annotations = vars(made).get("__annotations__", {})
    if is_strange(made):
        host.undecided("a dataclass with a field that may be none: nobody knows")
    if options.get("slots") and any(map(_asks_for_super, vars(made).values())):
        host.undecided("a dataclass with slots whose methods call super(): it depends on Python")
    for name, value in list(vars(made).items()):
        if type(value) is _Field:
            type.__setattr__(made, name, dataclasses.field(**value.options__))
            value = value.options__.get("default_factory", value.options__.get("default"))
        if name in annotations:
            host.keep(f"{made.__name__}.{name}", value)
    own = "__repr__" in vars(made) or not options.get("repr", True)
    done: type = dataclasses.dataclass(**options)(made)
    if not own:
        word(done)
    if done is not made:
        del host.classes[made]
        host.classes[done] = None
    return done


def is_strange(made: type) -> bool:
    """Whether an annotation of a class may make a name other than a field."""
    return _Strange in vars(made).get("__annotations__", {}).values()


def _asks_for_super(value: object) -> bool:
    match value:
        case staticmethod() | classmethod():
            return _asks_for_super(value.__func__)
        case property():
            return any(map(_asks_for_super, (value.fget, value.fset, value.fdel)))
        case FunctionType():
            return _SUPER in value.__code__.co_freevars
    return False


def _record(host: Host, made: type, options: dict[str, bool]) -> type:
    """A class derived from a record, which is a dataclass already."""
    if options:
        host.undecided("a dataclass with options, derived from a record: nobody knows")
    if any(
        "__init__" in vars(k) or "__post_init__" in vars(k)
        for k in made.__mro__
        if k in host.classes
    ):
        host.undecided("a dataclass with an __init__ or __post_init__ of its own: nobody knows")
    given = {n: v.options__ for n, v in vars(made).items() if type(v) is _Field}
    for fields in given.values():
        if fields.keys() not in ({"default"}, {"default_factory"}) or (
            "default_factory" in fields and fields["default_factory"] not in _FACTORIES
        ):
            host.undecided("field() with such options, of a record: nobody knows")
    _give(made, given)
    return made


def _give(made: type, given: dict[str, dict[str, Any]]) -> None:
    """Let each object have its own defaults."""
    if not given:
        return
    for name in given:
        type.__delattr__(made, name)
    outer: Callable[..., None] = type.__getattribute__(made, "__init__")

    def init(record: Any, **fields: Any) -> None:
        for name, options in given.items():
            if name not in fields:
                factory = options.get("default_factory")
                fields[name] = options.get("default") if factory is None else factory()
        outer(record, **fields)

    type.__setattr__(made, "__init__", init)
