"""What Python remembers for a text: ``cached_property``, ``lru_cache``.

A property that is remembered is stored in its object, where whoever compares states finds it.  A
function that remembers its answers does so where nobody can look; that cannot be told from one
that computes them anew where it computes them from numbers and texts alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import FunctionType, MethodType
from typing import Any

from proofs.source.names import listed
from proofs.source.objects.host import Host
from proofs.source.objects.sealed import SealedMeta
from proofs.source.walking import walk
from proofs.symbolic import SymInt

_MISSING = object()
_KEYS = (int, str, SymInt)
_PURE = listed("abs min max int divmod")


class CachedProperty(metaclass=SealedMeta):
    """``functools.cached_property``."""

    __slots__ = ("__function", "__host", "__name")

    def __init__(self, host: Host, function: Any) -> None:
        self.__host, self.__function, self.__name = host, function, ""
        host.keep("cached_property", function)

    def __set_name__(self, owner: type, name: str) -> None:
        if self.__name not in ("", name):
            raise TypeError("Cannot assign the same cached_property to two different names")
        self.__name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        if not self.__name:
            raise TypeError("Cannot use cached_property instance without calling __set_name__")
        try:
            cache = vars(instance)
        except TypeError:
            raise TypeError(f"No '__dict__' attribute to cache {self.__name!r}") from None
        value = cache.get(self.__name, _MISSING)
        if value is _MISSING:
            value = cache[self.__name] = self.__function(instance)
        return value

    def __getattr__(self, name: str) -> Any:
        self.__host.undecided(f"cached_property.{name}: nobody knows")


class _Remembered(metaclass=SealedMeta):
    """A function under ``lru_cache``."""

    __slots__ = ("__function", "__host")

    def __init__(self, host: Host, function: Any) -> None:
        self.__host, self.__function = host, function
        host.keep("lru_cache", function)

    def __call__(self, *given: Any, **options: Any) -> Any:
        plain = all(type(value) in _KEYS for value in (*given, *options.values()))
        known = (
            type(self.__function) is FunctionType and self.__function.__name__ in self.__host.pure
        )
        if not (plain and known):
            self.__host.undecided("a function that remembers answers made of more than its numbers")
        return self.__function(*given, **options)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name == "cache_clear":
            return lambda: None
        return self.__host.undecided(f"what a cached function has under {name}: nobody knows")


def remembered(host: Host) -> Any:
    """``functools.lru_cache`` and ``functools.cache``."""

    def decorate(function: Any = None, maxsize: Any = 128, typed: Any = False) -> Any:
        if function is None or type(function) is int:
            return lambda later: _Remembered(host, later)
        return _Remembered(host, function)

    return decorate


def pure_functions(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names of functions that compute from their arguments and nothing else, wherever defined."""
    nodes = list(nodes)
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and _is_set(node)}
    bound |= {f.name for f in functions} | {a.arg for a in nodes if isinstance(a, ast.arg)}
    bound |= {(a.asname or a.name) for a in nodes if isinstance(a, ast.alias)}
    bound |= {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    acting = {f.name for f in functions if not _Pure(f, _PURE - bound).is_so()}
    return frozenset({f.name for f in functions} - acting)


def _is_set(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


class _Pure:
    """Whether one function only computes from its arguments."""

    def __init__(self, function: ast.FunctionDef, builtins: frozenset[str]) -> None:
        self._function, self._builtins = function, builtins
        given = function.args
        self._plain = not (given.vararg or given.kwarg or given.defaults or any(given.kw_defaults))
        self._names = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
        inside = (n for s in function.body for n in walk(s) if isinstance(n, ast.Name))
        self._names |= {n.id for n in inside if isinstance(n.ctx, ast.Store)}

    def is_so(self) -> bool:
        return self._plain and all(map(self._does, self._function.body))

    def _does(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return True
            case ast.Return(value=None):
                return True
            case ast.Return(value=ast.expr() as value):
                return self._computes(value)
            case (
                ast.Assign(targets=[ast.Name()], value=value)
                | ast.AugAssign(target=ast.Name(), value=value)
                | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
            ):
                return self._computes(value)
            case ast.If(test=test, body=body, orelse=orelse):
                return self._computes(test) and all(map(self._does, (*body, *orelse)))
        return False

    def _computes(self, value: ast.expr) -> bool:
        match value:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return name in self._names
            case ast.BinOp(left=left, right=right):
                return self._computes(left) and self._computes(right)
            case ast.UnaryOp(operand=operand):
                return self._computes(operand)
            case ast.BoolOp(values=values) | ast.Tuple(elts=values):
                return all(map(self._computes, values))
            case ast.Compare(left=left, comparators=others):
                return all(map(self._computes, (left, *others)))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return all(map(self._computes, (test, body, orelse)))
            case ast.Call(func=ast.Name(id=name), args=values, keywords=[]):
                return name in self._builtins and all(map(self._computes, values))
        return False
