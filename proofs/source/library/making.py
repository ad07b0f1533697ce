"""What the files that are loaded together share, and what is asked of each class they make."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from proofs.source.library.importing import Imports
from proofs.source.library.tuples import NamedTupleBase
from proofs.source.objects.footprint import slots_of
from proofs.source.objects.host import Host
from proofs.source.objects.wording import word
from proofs.source.syntax.fields import is_strange
from proofs.source.syntax.marking import Marks

PARTIAL = "a partial in a class: whether it is handed the object depends on Python"
SLOTS = "a scheduler with __slots__: what it holds in them is not compared"


@dataclass
class Making:
    """One loading of some files."""

    builtins: dict[str, Any]
    acting: frozenset[str] | None
    """Properties that do more than compute: see `rewrite.rewrite`."""
    sinks: frozenset[str]
    """Attributes that feed nothing."""
    imports: Imports
    marks: Marks | None = None
    """Notes what is executed."""
    namespaces: list[dict[str, Any]] = field(default_factory=list)
    classes: dict[type, None] = field(default_factory=dict)
    """Every class a text has made."""

    def build_class(self, body: Any, name: str, *bases: Any, **options: Any) -> Any:
        """What a ``class`` statement calls."""
        made = builtins.__build_class__(body, name, *bases, **options)
        self.classes[made] = None
        if any(isinstance(base, NamedTupleBase) for base in bases):
            if is_strange(made):
                self.imports.host.undecided("a named tuple with a field that may be none")
            if vars(made)["__repr__"].__code__.co_filename not in self.imports.host.files:
                word(made)
        _no_partial(self.imports.host, made)
        return made

    def loaded(self, schedulers: Iterable[type]) -> None:
        """All is loaded: classes may have been changed since they were made."""
        for made in self.classes:
            _no_partial(self.imports.host, made)
        for scheduler in schedulers:
            if slots_of(scheduler):
                self.imports.host.undecided(SLOTS)


def _no_partial(host: Host, made: type) -> None:
    if any(isinstance(value, partial) for value in vars(made).values()):
        host.undecided(PARTIAL)
