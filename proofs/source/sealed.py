"""Classes a text is handed and cannot change."""

from __future__ import annotations


class SealedMeta(type):
    """Classes handed to the text cannot be changed by it."""

    def __setattr__(cls, name: str, value: object) -> None:
        raise AttributeError(f"cannot set attribute {name!r} of {cls.__name__}")

    def __delattr__(cls, name: str) -> None:
        raise AttributeError(f"cannot delete attribute {name!r} of {cls.__name__}")


def path_of(value: object) -> str:
    """The path under which the profile knows a stub; empty: it is none."""
    try:
        return str(object.__getattribute__(value, "_Stub__path"))
    except AttributeError:
        return ""
