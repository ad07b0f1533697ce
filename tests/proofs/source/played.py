"""Small texts, run as Python runs them and as the front end does."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from typing import Any
from warnings import catch_warnings, simplefilter

from proofs.source.objects import identity, merging, storing
from proofs.source.objects.counting import Counting
from proofs.source.objects.host import Host
from proofs.source.profile import Profile
from proofs.source.syntax.rewrite import READ, TICK, read, rewrite
from proofs.symbolic import Path, evaluate, sym_len

GIVEN = {"len": sym_len, TICK: lambda: True, READ: read}
GIVEN |= {**identity.FUNCTIONS, **merging.FUNCTIONS, **storing.FUNCTIONS}
GIVEN |= Counting(Host(Profile({}, frozenset()), {})).functions()


def scope_of(
    text: str,
    as_it_is: bool,
    sinks: Collection[str] = (),
    acting: Collection[str] | None = (),
) -> dict[str, Any]:
    """What a text defines; ``as_it_is``: without what the front end makes of it."""
    tree = ast.parse(text)
    if not as_it_is:
        tree = rewrite(tree, "text", sinks, acting)
    scope: dict[str, Any] = dict(GIVEN)
    with catch_warnings():
        simplefilter("ignore", SyntaxWarning)  # some texts compare by `is` what nobody should
        exec(compile(tree, "text", "exec"), scope)
    return scope


def in_function(body: str, header: str) -> str:
    """The statements as the body of a function."""
    return f"{header}\n" + "\n".join("    " + line for line in body.strip().splitlines()) + "\n"


def takes(path: Path[Any], given: Mapping[str, int]) -> bool:
    """Whether these inputs take the path."""
    return all(evaluate(d.condition, given) is d.taken for d in path.decisions)
