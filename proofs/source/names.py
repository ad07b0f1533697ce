"""Tables of names: what a text may see, what it may not name, what it changes things with."""

from __future__ import annotations

from proofs.symbolic import SymBool, SymInt, SymSeq


def listed(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


PLAIN_BUILTINS = listed(
    """
    abs bool bytes classmethod dict divmod enumerate filter float frozenset int
    iter list map next object property reversed round set slice sorted
    staticmethod str super tuple zip NotImplemented
    ArithmeticError AssertionError AttributeError Exception ImportError IndexError KeyError
    LookupError ModuleNotFoundError NotImplementedError OverflowError RuntimeError StopIteration
    TypeError ValueError ZeroDivisionError
    """
)
"""Builtins a text sees unchanged; the loader adds merging and bounded versions of a few more."""

FORBIDDEN_NAMES = listed(
    """
    eval exec compile open globals locals vars dir input breakpoint help exit quit memoryview
    setattr delattr type id hash __import__
    """
)
"""Builtins that lead outside, or let a text take the checker's own objects apart."""

FORBIDDEN_ATTRIBUTES = listed(
    """
    format format_map mro gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await cr_origin
    ag_frame ag_code ag_await f_back f_builtins f_code f_globals f_locals f_trace tb_frame
    tb_next tb_lasti tb_lineno co_code co_consts func_globals func_code with_traceback system popen
    """
)
"""Attributes that lead from an object to frames, code, modules or the shell."""


def is_forbidden(attribute: str) -> bool:
    """Whether no text may read an attribute: it leads outside, or to the insides of a class.

    What ``enum`` keeps in a class, and does with one, is called ``_so_``.
    """
    return is_inside(attribute) or attribute in FORBIDDEN_ATTRIBUTES


def is_inside(attribute: str) -> bool:
    """Whether an attribute is Python's own business, by its name."""
    inside = attribute.startswith("_") and attribute.endswith("_") and attribute != "_"
    return "__" in attribute or inside


FORBIDDEN_MODULES = listed(
    """
    builtins os sys io subprocess socket ssl select selectors signal shutil pathlib tempfile glob
    fcntl pty pwd grp resource mmap ctypes cffi importlib imp pkgutil runpy zipimport gc
    dis code codeop codecs ast linecache site atexit faulthandler tracemalloc
    pickle marshal shelve copyreg _thread multiprocessing concurrent asyncio
    http urllib ftplib smtplib socketserver xmlrpc requests httpx aiohttp webbrowser
    sqlite3 dbm posix nt z3 proofs model spec
    """
)
"""Modules that exist to reach the operating system or the interpreter.

No import reaches anything: each binds a stub, whose use is undecided.  A text that names one of
these is refused as a whole nevertheless, for a reader of the report to learn it."""

REFUSED_EVENTS = tuple(
    sorted(
        listed(
            """
            open import os. socket. subprocess. shutil. tempfile. glob. urllib. http. ftplib.
            smtplib. pty. signal. fcntl. mmap. sqlite3. syslog. webbrowser. resource. ensurepip.
            ctypes.dlopen
            """
        )
    )
)
"""Prefixes of the audit events a check has no business raising."""
UNREAD = "<text under proof>"
"""How the parser knows every text.  For a syntax error CPython tries to open the file of that name,
to quote the line: refused like any other, but no attempt of the text."""

MUTATORS = listed(
    """
    append appendleft add clear discard extend insert pop popleft remove update
    difference_update setdefault add_request prepend_request prepend_requests
    """
)
"""Methods that change the collection they are called on."""

INTERNALS = frozenset(
    name
    for kind in (SymInt, SymBool, SymSeq)
    for name in dir(kind)
    if not name.startswith("__") and not hasattr(list, name) and not hasattr(int, name)
)
"""Attributes of symbolic values that the values they stand for do not have."""
UNSTORABLE = INTERNALS | {"index"}
"""Attributes no text may assign: a symbolic value would be taken apart by it."""
