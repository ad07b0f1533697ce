"""Files a user hands in: ordinary ones only, bounded, and of the version this program reads."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

from proofs.errors import UsageError


def open_ordinary(path: Path) -> BinaryIO:
    """Open an ordinary file for reading; a pipe without a writer must not hang us.

    Raises:
        OSError: it cannot be opened, or is something else; ``strerror`` says which.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
    return os.fdopen(handle, "rb")


def read_bounded(path: Path, largest: int, what: str) -> bytes:
    """The content of an ordinary file of at most ``largest`` bytes, whole megabytes.

    Raises:
        UsageError: it cannot be read, or is too long to be ``what``.
    """
    try:
        with open_ordinary(path) as file:
            content = file.read(largest + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if len(content) > largest:
        raise UsageError(f"{path} is longer than {largest // 2**20} MB: not {what}")
    return content


def is_version(given: Any, wanted: int) -> bool:
    """Whether a document's ``schema`` is this number; ``true`` and ``1.0`` equal 1 but are not."""
    return type(given) is int and given == wanted
