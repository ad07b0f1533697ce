"""A function of the model with a few words of it replaced: what a careless change would do."""

from __future__ import annotations

import inspect
import linecache
import textwrap
from collections.abc import Callable
from itertools import count
from typing import Any

_serial = count()


def edited(method: Callable[..., Any], old: str, new: str) -> Callable[..., Any]:
    """A function of the model with one text in it replaced, in its own module."""
    source = textwrap.dedent(inspect.getsource(method))
    assert source.count(old) == 1, f"{method.__qualname__} has {source.count(old)} of {old!r}"
    module, made = inspect.getmodule(method), dict[str, Any]()
    code = "from __future__ import annotations\n" + source.replace(old, new)
    exec(compiled(code, f"{method.__qualname__} edited {next(_serial)}"), vars(module), made)
    result: Callable[..., Any] = made[method.__name__]
    return result


def compiled(code: str, name: str) -> Any:
    """Code that can be read where it says it is from, as that of a file can."""
    file = f"<{name}>"
    linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
    return compile(code, file, "exec", dont_inherit=True)
