"""Classes a text is handed and cannot change."""

from __future__ import annotations

from typing import Any


class SealedMeta(type):
    """Classes handed to the text cannot be changed by it."""

    def __setattr__(cls, name: str, value: object) -> None:
        raise AttributeError(f"cannot set attribute {name!r} of {cls.__name__}")

    def __delattr__(cls, name: str) -> None:
        raise AttributeError(f"cannot delete attribute {name!r} of {cls.__name__}")


class NullContext(metaclass=SealedMeta):
    """``contextlib.nullcontext``."""

    __slots__ = ("__opens",)

    def __init__(self, enter_result: Any = None) -> None:
        self.__opens = enter_result

    def __enter__(self) -> Any:
        return self.__opens

    def __exit__(self, *error: object) -> None:
        return None


def path_of(value: object) -> str:
    """The path under which the profile knows a stub; empty: it is none."""
    try:
        return str(object.__getattribute__(value, "_Stub__path"))
    except AttributeError:
        return ""
