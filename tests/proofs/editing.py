"""A function of the model with a few words of it replaced: what a careless change would do."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any


def edited(method: Callable[..., Any], old: str, new: str) -> Callable[..., Any]:
    """A function of the model with one text in it replaced, in its own module."""
    source = textwrap.dedent(inspect.getsource(method))
    assert source.count(old) == 1, f"{method.__qualname__} has {source.count(old)} of {old!r}"
    module, made = inspect.getmodule(method), dict[str, Any]()
    code = "from __future__ import annotations\n" + source.replace(old, new)
    exec(compile(code, method.__qualname__, "exec"), vars(module), made)
    result: Callable[..., Any] = made[method.__name__]
    return result
