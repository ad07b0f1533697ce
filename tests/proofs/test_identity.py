"""Code that does one thing with a prover's number and another with an integer is told so."""

from __future__ import annotations

import ast

import pytest

from proofs.identity import asks_identity

NAMES = """
from enum import Enum
class Request: pass
class Status(Enum):
    RUNNING = 1
BLOCKED, NO_ROWS = "blocked", 0
"""


def asked(text: str) -> list[str]:
    names: dict[str, object] = {"__name__": "asking"}
    exec(NAMES + text, names)
    return list(asks_identity(ast.parse(text), names))


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("def f(rows): return rows is 0", "rows is 0"),
        ("def f(rows): return rows is not NO_ROWS", "rows is not NO_ROWS"),
        ("def f(config, it): return it.rows is config.rows", "it.rows is config.rows"),
        ("def f(outcome, BLOCKED): return outcome is BLOCKED", "outcome is BLOCKED"),
        ("def f(it, request): return it is request", "it is request"),
        ("def f(it, request: int): return it is request", "it is request"),
        ("def f(it, request: Request): request = 1; return it is request", "it is request"),
        ("def f(a, b): return None is a is b", "None is a is b"),
        ("def f(Status, it): return it is Status.RUNNING", "it is Status.RUNNING"),
        ("g = lambda it, BLOCKED: it is BLOCKED", "it is BLOCKED"),
        ("def f(padded): return ~padded", "~padded"),
        ("def f(it):\n    match it:\n        case True: return 1", "True"),
        ("class C:\n    def __eq__(self, other): return True", "a __eq__ of its own"),
        ("class C(Enum):\n    A = 1\n    B = 1", "C.B for C.A"),
    ],
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_what_tells_symbols_from_numbers_is_seen(text: str, used: str) -> None:
    assert used in asked(text)


@pytest.mark.parametrize(
    "text",
    [
        "def f(it): return it is None or None is not it",
        "def f(it): return it is BLOCKED",
        "def f(it): return it.status is not Status.RUNNING",
        "def f(victim, request: Request): return victim is request",
        "def f(self, queue): return queue is self.waiting",
        "class C:\n    def __init__(self): self.rows = not self.padded",
    ],
)
def test_what_does_not_is_allowed(text: str) -> None:
    assert not asked(text)
