"""The lines of a source around the branches of a trace, taken along so that a report needs no file.

A trace with excerpts quotes the source it is about; keep such traces of a foreign source out of a
repository.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from proofs.trace import Trace

CONTEXT = 2
"""Lines kept above and below each marked line."""
MOST = 400
"""Most lines kept in all."""
WIDEST = 200
"""Most characters kept of one line."""


def with_excerpts(trace: Trace, texts: Mapping[str, str]) -> Trace:
    """The trace with the source text around its branches and its violation.

    Args:
        trace: a trace with ``source`` or ``branches``.
        texts: file name, as the trace names it → the whole text of the file.
    """
    marked: dict[str, set[int]] = {}
    for place in (*trace.branches, *([trace.source] if trace.source else [])):
        marked.setdefault(str(place["file"]), set()).add(int(place["line"]))
    excerpts: list[dict[str, Any]] = []
    for file, numbers in marked.items():
        if file in texts:
            excerpts += _pieces(file, texts[file].splitlines(), numbers)
    kept, total = [], 0
    for excerpt in excerpts:
        total += len(excerpt["lines"])
        if total > MOST:
            break
        kept.append(excerpt)
    return replace(trace, excerpts=tuple(kept))


def _pieces(file: str, lines: list[str], marked: set[int]) -> list[dict[str, Any]]:
    wanted = sorted(
        {
            number
            for mark in marked
            for number in range(mark - CONTEXT, mark + CONTEXT + 1)
            if 1 <= number <= len(lines)
        }
    )
    pieces: list[dict[str, Any]] = []
    for number in wanted:
        text = lines[number - 1][:WIDEST]
        if pieces and pieces[-1]["first"] + len(pieces[-1]["lines"]) == number:
            pieces[-1]["lines"].append(text)
        else:
            pieces.append({"file": file, "first": number, "lines": [text]})
    return pieces
