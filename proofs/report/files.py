"""Writing a result: whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from proofs.errors import UsageError


def write_whole(path: Path, text: str) -> None:
    """Write a file by renaming a finished one into place.

    Raises:
        UsageError: the folder does not exist or cannot be written; nothing is left behind.
    """
    path = Path(os.path.realpath(path))  # a link stays one, its target is written
    if path.exists() and not path.is_file():
        raise UsageError(f"cannot write {path}: it is no ordinary file; name another --output")
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; name another --output") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror}; name another --output") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
