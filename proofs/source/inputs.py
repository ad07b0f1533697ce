"""What ``--source`` accepts: a file, a checkout, or ``REV:path`` in a git checkout.

Files are read as text; git is asked for a blob and runs nothing of the checkout.
"""

from __future__ import annotations

import ast
import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from proofs.documents import open_ordinary
from proofs.source.errors import CANNOT_TELL, SourceError
from proofs.source.fetch import FOLDER, KEPT, SCHEDULER
from proofs.source.gate import MAX_BYTES
from proofs.source.loader import Text

GIT_SECONDS = 30
MOST_FILES = 8


@dataclass(frozen=True, slots=True)
class Source:
    """The texts of one scheduler and how a report calls them."""

    name: str
    texts: tuple[Text, ...]
    folder: str = ""
    """Where the files lie in their repository (or below the working directory): code scanning and
    annotations know a file by this path only."""

    def path_of(self, file: str) -> str:
        """The path of one of the texts, by its name."""
        mine = any(text.name == file for text in self.texts)
        return str(PurePosixPath(self.folder) / file) if mine else file


def read_source(given: str) -> Source:
    """The scheduler a user means by ``given``, with the sibling files it is loaded with.

    Raises:
        SourceError: nothing readable there, or no scheduler in it.
    """
    path = Path(given)
    if not given.strip():
        raise SourceError("no source named; give a scheduler file, a checkout, or REV:path")
    if path.is_dir():
        return _directory(path)
    if path.is_file():
        return _in_folder(given, path)
    if path.exists():
        raise SourceError(f"{given}: it is no ordinary file")
    revision, colon, inside = given.partition(":")
    if colon and revision and inside:
        return _revision(revision, inside, Path.cwd())
    raise SourceError(
        f"{given}: no such file or directory; a scheduler file, a checkout, or REV:path "
        "inside a git checkout is expected"
    )


def read_profile(path: Path | None) -> str:
    """Further rows for the environment profile, as text.

    Raises:
        SourceError: the file cannot be read.
    """
    if path is None:
        return ""
    return _read(path)


def _directory(path: Path) -> Source:
    """A checkout: the usual place, or the only scheduler file in it."""
    usual = path / FOLDER
    if (usual / SCHEDULER).is_file():
        return _in_folder(str(usual / SCHEDULER), usual / SCHEDULER)
    if (path / SCHEDULER).is_file():
        return _in_folder(str(path / SCHEDULER), path / SCHEDULER)
    found = sorted(
        file for file in path.rglob("*scheduler*.py") if "test" not in file.name and _defines(file)
    )
    if not found:
        raise SourceError(f"{path}: no {FOLDER}{SCHEDULER} in it, nor another scheduler file")
    if len(found) > 1:
        names = ", ".join(str(file.relative_to(path)) for file in found[:4])
        raise SourceError(f"{path}: several scheduler files ({names}); name the one to check")
    return _in_folder(str(found[0]), found[0])


def _in_folder(name: str, file: Path) -> Source:
    """One file with its siblings."""
    return Source(name, tuple(_siblings(file.parent, file.name)), _folder_of(file))


def _folder_of(file: Path) -> str:
    """A file's folder relative to its repository, or else to the working directory."""
    folder = file.absolute().parent
    roots = [above for above in (folder, *folder.parents) if (above / ".git").exists()]
    for root in (*roots[:1], Path.cwd()):
        if folder.is_relative_to(root):
            return folder.relative_to(root).as_posix()
    return folder.as_posix()


def _defines(file: Path) -> bool:
    """Whether a file has a ``schedule`` method (by its text)."""
    try:
        return "def schedule(" in _read(file)
    except SourceError:
        return False


def _siblings(folder: Path, name: str) -> list[Text]:
    """The file and those it is loaded with, in loading order."""
    if name not in KEPT:
        return _with_bases(folder, name)
    return [
        Text(file, _read(folder / file))
        for file in KEPT
        if file == name or (folder / file).is_file()
    ]


def _with_bases(folder: Path, name: str) -> list[Text]:
    """A file of another name, after those beside it from which it imports.

    What it derives from must load; what only lends functions may stay unknown.
    """
    found: dict[str, Text] = {}

    def visit(name: str, helper: bool) -> None:
        known = found.get(name)
        if known is not None and (helper or not known.helper):
            return
        if known is None and len(found) >= MOST_FILES:
            return
        text = Text(name, _read(folder / name), helper)
        found[name] = text
        if not helper:
            for module, is_base in _modules(text.content, folder.absolute().name).items():
                if (folder / f"{module}.py").is_file() and (
                    f"{module}.py" not in KEPT or not is_base
                ):
                    visit(f"{module}.py", not is_base)
        found[name] = found.pop(name)  # after what it needs

    visit(name, False)
    return list(found.values())


def _modules(content: str, folder: str) -> dict[str, bool]:
    """The last names of the modules a file imports from → whether it derives from their classes.

    A module that only lends functions counts if it lies in the file's own folder.
    """
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}  # the gate will say what is wrong
    bases = {
        base.id
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Name)
    }
    found: dict[str, bool] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            package, _, module = (node.module or "").rpartition(".")
            is_base = any((alias.asname or alias.name) in bases for alias in node.names)
            beside = node.level == 1 if node.level else package.rpartition(".")[2] == folder
            if is_base or (beside and not package.startswith("vllm.")):
                found[module] = found.get(module, False) or is_base
    return found


def _read(file: Path) -> str:
    try:
        with open_ordinary(file) as opened:
            return _decoded(str(file), opened.read(MAX_BYTES + 1))
    except OSError as error:
        raise SourceError(f"{file}: cannot be read: {error.strerror or error}") from None


def _decoded(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")  # Python skips the mark some editors put in front
    except UnicodeDecodeError:
        raise SourceError(f"{name}: not a text file in UTF-8") from None


# -- git -------------------------------------------------------------------------------------------


def _revision(revision: str, inside: str, checkout: Path) -> Source:
    """The file as of a revision, with its siblings as of the same revision."""
    path = PurePosixPath(inside)
    name = path.name if path.suffix == ".py" else SCHEDULER
    folder = path.parent if path.suffix == ".py" else path / FOLDER
    wanted = KEPT if name in KEPT else (name,)
    texts = []
    for file in wanted:
        content = _show(checkout, f"{revision}:{folder / file}")
        if content is not None:
            texts.append(Text(file, _decoded(file, content)))
        elif file == name:
            raise SourceError(
                f"{revision}:{inside}: git knows no such file (in {checkout}); "
                "check the revision and the path"
            )
    return Source(f"{revision}:{inside}", tuple(texts), str(folder))


def _show(checkout: Path, what: str) -> bytes | None:
    """A blob, or None if there is none."""
    if what.startswith("-"):
        raise SourceError(f"{what}: a revision does not begin with '-'")
    command = ["git", "-C", str(checkout), "cat-file", "blob", what]
    try:
        done = subprocess.run(command, capture_output=True, timeout=GIT_SECONDS, check=False)
    except FileNotFoundError:
        raise SourceError("git is not installed: REV:path needs it", CANNOT_TELL) from None
    except subprocess.TimeoutExpired:
        raise SourceError(f"git did not answer within {GIT_SECONDS} s", CANNOT_TELL) from None
    return done.stdout if done.returncode == 0 else None
