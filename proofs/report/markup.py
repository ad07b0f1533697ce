"""Building HTML and XML from data: every string is escaped unless it was built here."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

VOID = frozenset({"br", "hr", "img", "input", "line", "meta", "path", "rect", "use"})


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def tag(name: str, /, *children: str | Iterable[str], **attributes: object) -> Html:
    """One element.

    Args:
        name: the element.
        children: strings, escaped unless they are ``Html``; iterables of them are flattened.
        attributes: a trailing underscore is dropped and others become dashes; ``None`` and
            ``False`` leave an attribute out, ``True`` writes it bare.
    """
    written = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        written += f" {key.rstrip('_').replace('_', '-')}"
        if value is not True:
            written += f'="{escape(str(value), quote=True)}"'
    if name in VOID:
        return Html(f"<{name}{written}>" if name in {"br", "hr", "meta"} else f"<{name}{written}/>")
    return Html(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: str | Iterable[str]) -> Html:
    """Elements one after the other."""
    parts: list[str] = []
    for child in children:
        if isinstance(child, Html):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(escape(child, quote=False))
        else:
            parts.append(join(*child))
    return Html("".join(parts))
