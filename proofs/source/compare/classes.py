"""Classes of states on which two texts differ: collected path by path, told in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from proofs.source.compare.words import TELLING, Subject, kinds, predicates
from proofs.source.loader import Loaded
from proofs.source.proving.induct import SIZES
from proofs.source.runs.shapes import Shape
from proofs.symbolic import Path, Refuted, evaluate
from proofs.verdict import Statistics
from spec.logic import all_of, implies, not_


@dataclass
class Class:
    """One class of differing states while it is being collected."""

    who: str
    company: str
    before: str
    after: str
    common: dict[str, None]
    """Predicates true on all states seen so far, in their order."""
    shape: Shape
    request: str
    answers: Mapping[str, int]
    size: tuple[int, ...]
    modes: dict[str, None] = field(default_factory=dict)
    under: dict[str, None] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The class in plain words."""
        told = [name for name in TELLING if name in self.common]
        who = " ".join([self.who, *(f"with {name}" for name in told), self.company]).strip()
        return f"{who}: {self.before} before, {self.after} after"


@dataclass
class Apart:
    """One thing beside rows and requests in which two texts differ, while it is being collected."""

    shape: Shape
    answers: Mapping[str, int]
    modes: dict[str, None] = field(default_factory=dict)
    under: dict[str, None] = field(default_factory=dict)


@dataclass
class Comparison:
    """What is known about a pair of texts so far."""

    old: Loaded
    new: Loaded
    classes: dict[tuple[str, ...], Class] = field(default_factory=dict)
    besides: dict[str, Apart] = field(default_factory=dict)
    """What it is called → where it differs, of what a text does beside deciding."""
    met: set[str] = field(default_factory=set)
    """Populations some state of which was seen."""
    changed: set[str] = field(default_factory=set)
    """Populations some member of which may be scheduled differently."""
    doubts: dict[str, None] = field(default_factory=dict)
    """Why the rest is not proved equal."""
    statistics: Statistics = field(default_factory=Statistics)


def possible(path: Path[Any], condition: Any, comparison: Comparison | None = None) -> bool:
    """Whether some state of the path satisfies a condition; what is unknown is a doubt."""
    if condition is False:
        return False
    answer = path.holds(not_(condition))
    if isinstance(answer, Refuted):
        return True
    reason = getattr(answer, "reason", "")
    if reason and comparison is not None:
        comparison.doubts[f"the solver gave up on a question ({reason})"] = None
    return False


def _pieces(subject: Subject, doubt: Any, said: str) -> Iterator[tuple[str, str, str, Any]]:
    """The doubt, split by company and by what either text does: words and formula."""
    for company, present in subject.company().items():
        if said:
            yield company, said, f"{said}, but left otherwise", all_of(doubt, present)
            continue
        for before, one in kinds(subject.old, subject.name).items():
            for after, two in kinds(subject.new, subject.name).items():
                yield company, before, after, all_of(doubt, present, one, two)


def classify(
    comparison: Comparison,
    mode: str,
    shape: Shape,
    path: Path[Any],
    subject: Subject,
    doubt: Any,
    said: str,
) -> None:
    """Add the differing states of one path to the classes they belong to."""
    told = predicates(subject)
    config = subject.old.harness.config
    order = [*(getattr(config, name) for name in SIZES), subject.before.num_tokens]
    for company, before, after, piece in _pieces(subject, doubt, said):
        if not possible(path, piece):
            continue
        key = (subject.who(), company, before, after)
        known = comparison.classes.get(key)
        alive = told if known is None else {n: told[n] for n in known.common}
        common = {n: None for n, p in alive.items() if _implied(path, piece, p)}
        if known is not None:
            known.common = common
            known.modes[mode], known.under[shape.name] = None, None
            length, drafts = known.size[:2]
            smaller = (order[0] < length) | ((order[0] == length) & (order[1] < drafts))
            piece = all_of(piece, smaller)
            if not possible(path, piece):
                continue
        model = path.minimize(piece, order)
        if model is None:
            comparison.doubts[f"{shape.name}: no example of a difference"] = None
            continue
        size = tuple(int(evaluate(term, model)) for term in order)
        if known is None:
            found = Class(*key, common, shape, subject.name, model, size)
            found.modes[mode], found.under[shape.name] = None, None
            comparison.classes[key] = found
        else:
            known.shape, known.request = shape, subject.name
            known.answers, known.size = model, size


def note(
    comparison: Comparison,
    mode: str,
    shape: Shape,
    path: Path[Any],
    name: str,
    doubt: Any,
) -> None:
    """Something beside rows and requests differs on some states of a path."""
    found = comparison.besides.get(name)
    if found is not None and mode in found.modes and shape.name in found.under:
        return
    if not possible(path, doubt, comparison):
        return
    if found is None:
        config = path.value[0].harness.config
        model = path.minimize(doubt, [getattr(config, knob) for knob in SIZES])
        if model is None:
            comparison.doubts[f"{shape.name}: no example of a difference"] = None
            return
        found = comparison.besides[name] = Apart(shape, model)
    found.modes[mode], found.under[shape.name] = None, None


def _implied(path: Path[Any], piece: Any, predicate: Any) -> bool:
    return predicate is True or not possible(path, not_(implies(piece, predicate)))
