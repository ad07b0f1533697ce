"""The few source files of a release, fetched by the ordinary pip client and kept in a cache.

Nothing of the engine is installed or imported, and nothing is kept but the files a check reads.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from proofs.source.errors import CANNOT_TELL, SourceError
from proofs.source.loader import Text

FOLDER = "vllm/v1/core/sched/"
SCHEDULER = "scheduler.py"
KEPT = ("utils.py", SCHEDULER, "async_scheduler.py", "diffusion_scheduler.py")
"""In the order they are loaded: a later file imports what an earlier one defines."""
OLDEST = (0, 8)
"""The first release with the engine this checker reads (V1)."""
PADDED = ("0.25.0", "0.26.0", "0.27.0", "0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0", "0.33.0")
"""The releases that pad, as far as this version of the checker knows."""
PIP_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Release:
    """One published release, as the texts a check reads."""

    version: str
    texts: tuple[Text, ...]


def cache_folder() -> Path:
    """Where fetched files are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "schedproof" / "vllm"


def fetch_release(version: str) -> Release:
    """The scheduler of a release, from the cache or the package index.

    Raises:
        SourceError: not a version, no such release, no network, or a wheel without the file.
    """
    if not re.fullmatch(r"\d+\.\d+(\.\d+)?([a-z0-9.+]*)", version):
        raise SourceError(f"{version!r} is not a vLLM version; try one like 0.33.0")
    major, minor = (int(part) for part in version.split(".")[:2])
    if (major, minor) < OLDEST:
        raise SourceError(
            f"vLLM {version} has the engine before 0.8, whose scheduler works differently; "
            "0.8 and newer can be checked"
        )
    folder = cache_folder() / version
    if not (folder / SCHEDULER).is_file():
        _download(version, folder)
    return Release(version, tuple(_texts(folder)))


def base_texts(version: str) -> tuple[Text, ...]:
    """A release's scheduler as the base of another, its files named so that they differ.

    Raises:
        SourceError: as `fetch_release`.
    """
    texts = fetch_release(version).texts
    return tuple(Text(f"vllm-{version}/{text.name}", text.content) for text in texts)


def _texts(folder: Path) -> list[Text]:
    return [
        Text(name, (folder / name).read_text(encoding="utf-8-sig"))
        for name in KEPT
        if (folder / name).is_file()
    ]


def _download(version: str, folder: Path) -> None:
    """Fetch the wheel into a temporary folder and keep the few files."""
    with tempfile.TemporaryDirectory(prefix="schedproof-") as scratch:
        command = [
            sys.executable,
            "-P",
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--no-input",
            "--quiet",
        ]
        command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", scratch]
        try:
            done = subprocess.run(
                [*command, f"vllm=={version}"],
                capture_output=True,
                text=True,
                timeout=PIP_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SourceError(
                f"vLLM {version}: the package index did not answer within {PIP_SECONDS} s",
                CANNOT_TELL,
            ) from None
        if done.returncode != 0:
            raise _explained(version, done.stderr)
        wheels = sorted(Path(scratch).glob("*.whl"))
        if not wheels:
            raise SourceError(f"vLLM {version}: the index offers no wheel", CANNOT_TELL)
        keep(wheels[0], version, folder)


def keep(wheel: Path, version: str, folder: Path) -> None:
    """Copy the files a check reads out of a wheel, all or none of them.

    Raises:
        SourceError: not a wheel, or one without the scheduler.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
            if FOLDER + SCHEDULER not in names:
                raise SourceError(
                    f"vLLM {version}: the wheel has no {FOLDER}{SCHEDULER}", CANNOT_TELL
                )
            files = {n: archive.read(FOLDER + n) for n in KEPT if FOLDER + n in names}
    except zipfile.BadZipFile:
        raise SourceError(f"vLLM {version}: {wheel.name} is not a wheel", CANNOT_TELL) from None
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{version}-", dir=folder.parent) as made:
        for name, content in files.items():
            (Path(made) / name).write_bytes(content)
        try:
            os.rename(made, folder)
        except OSError:
            if not (folder / SCHEDULER).is_file():  # another process was first otherwise
                raise
        else:
            os.mkdir(made)  # for the context manager to remove


def _explained(version: str, said: str) -> SourceError:
    """One line for what pip said in many."""
    if "No matching distribution" in said and "(from versions: none)" not in said:
        return SourceError(f"vLLM {version}: the package index has no such release for this Python")
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "no reason given")
    return SourceError(
        f"vLLM {version}: cannot reach the package index ({last.strip()[:160]}); "
        "with the wheel at hand, unpack it and use --source",
        CANNOT_TELL,
    )
