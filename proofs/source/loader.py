"""From the text of a scheduler to classes that can be run, without importing anything.

A text is parsed and gated (``gate``), rewritten (``rewrite``), compiled, and executed in a
namespace with a minimal table of builtins, in which every import has become a stub (``stubs``).
"""

from __future__ import annotations

import ast
import builtins
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

from proofs.source.entries import needs_base, schedulers
from proofs.source.errors import Gap, Rejected, SourceError, Unprofiled, said
from proofs.source.gate import parse, tree_of
from proofs.source.library.asking import Asking
from proofs.source.library.caching import pure_functions
from proofs.source.library.importing import BOUND, MISSING, Binding, Imports, wanted
from proofs.source.library.making import Making
from proofs.source.library.saying import Saying
from proofs.source.names import PLAIN_BUILTINS
from proofs.source.objects import merging, storing
from proofs.source.objects.counting import Counting
from proofs.source.objects.footprint import Own
from proofs.source.objects.freeset import has, perhaps, total
from proofs.source.objects.host import RAN_ON, Host, RanOn
from proofs.source.objects.owned import Owned
from proofs.source.profile import Profile
from proofs.source.syntax import matching, optional, reading, rewrite
from proofs.source.syntax.acting import acting_properties, may_compute_ahead
from proofs.source.syntax.marking import MARK, Marks
from proofs.source.syntax.reporting import HAS, PERHAPS, TOTAL, only_taken
from proofs.source.uses import Uses
from proofs.source.walking import located, walk
from proofs.symbolic import (
    Unsupported,
    sym_all,
    sym_any,
    sym_len,
    sym_sum,
)

_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


@dataclass(frozen=True, slots=True)
class Text:
    """One file: how reports name it, and what it says."""

    name: str
    content: str
    helper: bool = False
    """It only lends functions: if it cannot be loaded, what it defines is unknown, no more."""


@dataclass(frozen=True)
class Loaded:
    """The classes of one or more texts, ready to run."""

    host: Host
    classes: Mapping[str, type]
    """Every class the texts define, by name, the last definition winning."""
    trees: Mapping[str, ast.Module]
    """File name → syntax tree as it was read, before rewriting."""
    schedulers: Mapping[str, type] = field(default_factory=dict)
    """Scheduling mode → the class that schedules so."""
    mentioned: frozenset[str] = frozenset()
    """Every attribute name in the texts, and what their ``schedule`` is told."""
    state: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Attributes of ``self`` written outside ``__init__`` → where."""
    load_again: Callable[[], Loaded] | None = None
    """Loads the texts without computing anything ahead; None: these are."""

    @cached_property
    def as_written(self) -> Loaded:
        """The texts as they are written: nothing is merged, Python decides every branch."""
        if self.load_again is None:
            return self
        return replace(self.load_again(), mentioned=self.mentioned)

    def place_of(self, name: str) -> tuple[str, int]:
        """File and line that change an attribute or a global of that name, or mention it."""
        return self.state.get(name) or reading.mentioned(self.trees, name)


def load(
    texts: Iterable[Text],
    profile: Profile,
    base: Iterable[Text] = (),
    *,
    ahead: bool = True,
    marks: Marks | None = None,
) -> Loaded:
    """Load texts in order; a later one may import what an earlier one defines.

    Args:
        texts: the files.
        profile: what the host knows.
        base: texts to load first, which the others derive from.
        ahead: whether what only computes may be computed ahead, see `merging`.
        marks: notes what is executed.

    Raises:
        Rejected: the gate refuses a text.
        SourceError: a text fails while it is executed, or there is no scheduler in them.
        Unprofiled: a text uses an unknown import while it is executed.
    """
    given, base = list(texts), list(base)
    read = _gated([*base, *given])
    return _made(read, profile, [text.name for text in given if not text.helper], ahead, marks)


def _made(
    read: list[tuple[Text, ast.Module]],
    profile: Profile,
    own: list[str],
    ahead: bool,
    marks: Marks | None = None,
) -> Loaded:
    """The classes of texts that passed the gate.

    Args:
        own: the files that are to hold the scheduler.
    """
    trees = {text.name: tree for text, tree in read}
    needs_base(trees, own)
    nodes = {file: list(walk(tree)) for file, tree in trees.items()}
    host = Host(profile, reading.arities(chain.from_iterable(nodes.values())))
    host.files = set(trees)
    defined: dict[str, Any] = {}
    everything = list(chain.from_iterable(nodes.values()))
    host.uses = Uses.of(everything)
    merges = ahead and may_compute_ahead(everything)
    host.pure = pure_functions(everything)
    making = Making(
        _builtins(host),
        acting_properties(everything) if merges else None,
        only_taken(nodes.values(), host.profile.sinks),
        Imports(host),
        marks,
    )
    host.classes = making.classes
    if marks is not None:
        making.builtins[MARK] = marks.function
    making.builtins |= {"__build_class__": making.build_class, MISSING: making.imports.missing}
    for text, _ in read:
        try:
            namespace = _executed(host, text, making)
            making.imports.loaded(text.name, text.name not in own and not text.helper, namespace)
            defined |= _defined(namespace, trees[text.name])
        except (SourceError, Unprofiled):
            if not text.helper:
                raise
            host.gaps.clear()
            del trees[text.name], nodes[text.name]
    functions = (value for name, value in making.builtins.items() if "__" not in name)
    made_here = Own(frozenset(host.files), making.classes)
    host.own = Owned(making.namespaces, made_here, functions, host.kept)
    classes = {name: value for name, value in defined.items() if isinstance(value, type)}
    mentioned = reading.mentions(chain.from_iterable(nodes.values()))
    found = schedulers(classes, trees, own)
    making.loaded(found.values())
    again = partial(_made, read, profile, own, False) if merges else None
    state = reading.state(nodes)
    return Loaded(host, classes, trees, found, mentioned, state, again)


def _gated(texts: Iterable[Text]) -> list[tuple[Text, ast.Module]]:
    """The texts with their trees; a helper that the gate refuses is left out.

    Raises:
        Rejected: the gate refuses another text.
    """
    passed = []
    for text in texts:
        try:
            passed.append((text, matching.compared(parse(text.content, text.name))))
        except Rejected:
            if not text.helper:
                raise
    return passed


def _executed(
    host: Host,
    text: Text,
    making: Making,
) -> dict[str, Any]:
    """The namespace of a text.

    Raises:
        SourceError, Unprofiled: as `load`.
    """
    # The gate has passed this text; the tree kept for reports must stay as it was read.
    tree = matching.compared(tree_of(text.content, text.name))
    tree = optional.settled(tree, making.imports.is_certain)
    imports = (n for n in walk(tree) if isinstance(n, ast.Import | ast.ImportFrom))
    names = [what for node in imports for what in wanted(node)]
    unseen = {what.bound for what in names if not making.imports.knows(what)}
    tree = rewrite.rewrite(tree, text.name, making.sinks, making.acting, host.profile.sets, unseen)
    binding = Binding(making.imports)
    tree = located(binding.visit(tree))
    if making.marks is not None:
        tree = making.marks.put_into(tree, text.name)
    namespace: dict[str, Any] = {"__builtins__": making.builtins, "__name__": "scheduler"}
    namespace[BOUND] = binding.bound
    making.namespaces.append(namespace)
    code = compile(tree, text.name, "exec", dont_inherit=True)
    try:
        exec(code, namespace)
        if host.ran_on is not None:  # and the text caught it
            raise host.ran_on
        if host.gaps:  # the same
            raise Unprofiled(host.gaps[0])
    except Unsupported as looked:
        lines = [line for file, line in host.frames(looked) if file in host.files]
        raise Unprofiled(Gap(str(looked), text.name, lines[-1] if lines else 0, "")) from None
    except RanOn as ran_on:
        raise Rejected(ran_on.file, ran_on.line, RAN_ON) from None
    except (RecursionError, MemoryError) as error:
        raise Rejected(text.name, 0, f"{type(error).__name__} while loading") from None
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        NameError,
        TypeError,
        ValueError,
        AssertionError,
        RuntimeError,
    ) as error:
        if host.gaps:  # of which it is a consequence
            raise Unprofiled(host.gaps[0]) from None
        lines = [line for file, line in host.frames(error) if file in host.files]
        line = lines[-1] if lines else 0
        raise SourceError(
            f"{text.name}:{line}: the file does not load: {type(error).__name__}: {said(error)}"
        ) from None
    return namespace


def _builtins(host: Host) -> dict[str, Any]:
    """The builtins a text can see."""
    table = {name: getattr(builtins, name) for name in PLAIN_BUILTINS}
    saying = Saying(host)
    return table | {
        "len": sym_len,
        "sum": sym_sum,
        # What makes its elements as it goes is not asked for more than Python would: they may act.
        "any": lambda items: sym_any(items) if _is_made(items, host) else any(items),
        "all": lambda items: sym_all(items) if _is_made(items, host) else all(items),
        "print": saying.printed,
        **Asking(host).functions(),
        **Counting(host).functions(),
        rewrite.SPOKEN: saying.spoken,
        rewrite.FORMATTED: saying.formatted,
        rewrite.REMAINDER: saying.remainder,
        rewrite.UNDECIDED: host.undecided,
        rewrite.TICK: host.tick,
        rewrite.ROWS: host.new_rows,
        **rewrite.FUNCTIONS,
        **merging.FUNCTIONS,
        **storing.FUNCTIONS,
        HAS: has,
        PERHAPS: perhaps,
        TOTAL: total,
    }


def _is_made(items: Any, host: Host) -> bool:
    """Whether all elements are there, and none acts, so that looking at one changes nothing."""
    made = isinstance(items, (list, tuple, set, frozenset, dict, deque, *_VIEWS))
    return (
        made and type(items) not in host.classes and not any(type(i) in host.classes for i in items)
    )


def _defined(namespace: Mapping[str, Any], tree: ast.Module) -> dict[str, Any]:
    """The classes and functions a text defines, by name."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    here = {node.name for node in tree.body if isinstance(node, kinds)}
    return {name: value for name, value in namespace.items() if name in here}
