"""Our walks over syntax trees find what Python's own find."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mini import text

from proofs.source import walking
from proofs.source.walking import located, walk

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "proofs" / "source").rglob("*.py")) + sorted((ROOT / "spec").rglob("*.py"))
PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")
EVERYTHING = """
import a.b as c, d
from .e import f as g
async def h(x, /, y: int = 1, *z: int, w=2, **v) -> None:
    async for i in [j async for j in x if i]: await k
    async with l as m: yield
    return
@n
class O(P, q=r): s: "t" = u; (z): int
def z1(*, q): nonlocal_ = lambda a, *b, c=1: (yield from a)
try: del a, b[1:2:3], c.d
except (E, F) as e: raise X from Y
else: assert a, b
finally: global_ = {**a, 'b': c, **{d for d in e}, 'x': {f: g for f, g in h}}
"""
MORE = """
while a < b <= c: a += 1; continue
else: pass
for x, *y in z: break
if (n := 10) and not -n or +n: print(f"{n!r:>{w}} {m=}", *args, **kwargs)
match command:
    case [1, "a", *rest] | {"k": v, **others} if rest: pass
    case Point(x=0, y=None) as p: pass
    case -1 | a.b | _: pass
x = a if b else c, a[b, c:d], 1j, b"x", ..., a @ b // c ** d
"""


@pytest.mark.parametrize("source", [EVERYTHING, MORE, text(), *FILES], ids=lambda s: str(s)[-30:])
def test_the_same_nodes_in_the_same_order(source: str | Path) -> None:
    tree = ast.parse(source.read_text("utf-8") if isinstance(source, Path) else source)
    expected = [node for node in ast.walk(tree) if not isinstance(node, ast.expr_context)]
    found = walk(tree)
    assert len(found) == len(expected)
    assert all(one is other for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("source", [EVERYTHING, MORE, text()], ids=lambda s: s[:9])
def test_what_has_no_place_is_put_at_the_same(source: str) -> None:
    def with_gaps() -> ast.Module:
        tree = ast.parse(source)
        for number, node in enumerate(ast.walk(tree)):
            for place in PLACE[: number % 5]:
                if place in node._attributes and number % 3:
                    node.__dict__.pop(place, None)
        return tree

    ours, theirs = located(with_gaps()), ast.fix_missing_locations(with_gaps())
    assert ast.dump(ours, include_attributes=True) == ast.dump(theirs, include_attributes=True)
    compile(located(ast.parse("match x:\n    case 1: pass")), "x", "exec")


def test_no_field_that_is_passed_over_holds_a_node() -> None:
    """What the documentation of a node says of its fields."""
    kinds = [k for k in vars(ast).values() if isinstance(k, type) and issubclass(k, ast.AST)]
    fields = [field for kind in kinds for field in (kind.__doc__ or "").split("(")[-1].split(",")]
    told = {(name.rstrip(") "), said.rstrip("?*")) for said, _, name in map(_parted, fields)}
    passed_over = {said for name, said in told if name in walking._PLAIN}
    assert passed_over <= {"identifier", "int", "string", "expr_context"}
    assert {"identifier", "expr_context"} <= passed_over


def _parted(field: str) -> tuple[str, str, str]:
    return field.strip().partition(" ")
