"""Which reports a run writes, and where: formats by name, ``FORMAT=FILE`` pairs, all or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from proofs.errors import UsageError
from proofs.report import document, junit, sarif, verdicts_markdown, verdicts_text
from proofs.report.files import write_whole
from proofs.report.run import Report

Render = Callable[[Report, bool], str]
"""A report and whether to be verbose → the text of a document."""

FORMATS: dict[str, Render] = {
    "text": lambda report, verbose: verdicts_text.render(report, verbose),
    "json": lambda report, verbose: document.dumps(report),
    "markdown": lambda report, verbose: verdicts_markdown.render(report),
    "junit": lambda report, verbose: junit.render(report),
    "sarif": lambda report, verbose: sarif.render(report),
}


@dataclass(frozen=True, slots=True)
class Output:
    """One document to write."""

    format: str
    path: Path


def parse(given: Iterable[str], default: str) -> tuple[Output, ...]:
    """``json=result.json`` names a format; a plain file takes the default one.

    Raises:
        UsageError: an unknown format, two outputs to one file, or a place that cannot be written
            (told before the solving starts, not after).
    """
    outputs: list[Output] = []
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not name.isalpha():
            name, path = default, text
        elif name not in FORMATS:
            near = get_close_matches(name, FORMATS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"legal: {', '.join(FORMATS)}"
            raise UsageError(f"unknown format in --output {text}: {hint}")
        if not path:
            raise UsageError(f"--output {text} names no file")
        output = Output(name, Path(path))
        if any(other.path.resolve() == output.path.resolve() for other in outputs):
            raise UsageError(f"two outputs go to {path}")
        writable(output.path)
        outputs.append(output)
    return tuple(outputs)


def writable(path: Path) -> None:
    """Tell at once what would only show after minutes of solving.

    Raises:
        UsageError: the file cannot be written.
    """
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"cannot write {path}: no folder {folder}; create it or name another")
    if path.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise UsageError(f"cannot write {path}: it is no ordinary file; name another")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write {path}: no permission to write in {folder}")


def write(report: Report, outputs: Iterable[Output], verbose: bool) -> None:
    """Write every document; all are complete before the first is written.

    Raises:
        UsageError: one cannot be written; no half-written file is left behind.
    """
    written = [(o.path, FORMATS[o.format](report, verbose)) for o in outputs]
    for path, text in written:
        write_whole(path, text)
