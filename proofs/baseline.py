"""Accepted violations: a file that says which known ones do not block, and why.

    [[accepted]]
    invariant = "no-reachable-assert"
    policy = "55126"             # or: source = "vllm/v1/core/sched/scheduler.py"
    mode = "sync"                # optional; both modes without it
    site = "Scheduler.schedule: assert rows == 1 + self.num_spec_tokens"
    reason = "fixed by #54028; we run with long_prefill_token_threshold = 0"

``site`` names the statement of a source that raises, as ``check`` prints it; it moves with its
text, not with its line.  Without one an entry accepts an exception only while it is the only one:
a second, whichever of the two is new, is accepted by nobody.

An entry that accepts nothing any more fails the run: it would hide the next bug.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from proofs.campaign import Outcome
from proofs.documents import read_bounded
from proofs.errors import UsageError
from proofs.report.run import Key, Report, key
from proofs.verdict import MODES, PROVED, VIOLATED, Obligation
from spec.invariants import IDS

LARGEST = 2**20
"""Bytes of the longest baseline that is read."""
FIELDS = ("invariant", "policy", "source", "mode", "site", "reason")


@dataclass(frozen=True, slots=True)
class Entry:
    """One accepted violation."""

    invariant: str
    reason: str
    policy: str = ""
    source: str = ""
    mode: str = ""
    site: str = ""

    def about(self, obligation: Obligation) -> bool:
        """Whether the entry speaks about an obligation."""
        if obligation.invariant != self.invariant or self.mode not in ("", obligation.mode):
            return False
        if self.policy:
            return obligation.policy == self.policy
        named = [obligation.policy]
        if obligation.trace is not None and obligation.trace.source is not None:
            named.append(str(obligation.trace.source["file"]))
        wanted = PurePath(self.source).parts
        return any(PurePath(name).parts[-len(wanted) :] == wanted for name in named)

    def __str__(self) -> str:
        details = "".join(f", {detail}" for detail in (self.mode, self.site) if detail)
        return f"{self.invariant} ({self.policy or self.source}{details})"

    def accepts(self, about: Sequence[Obligation]) -> list[Obligation]:
        """Of the obligations it speaks about, the violations it accepts."""
        violated = [o for o in about if o.verdict == VIOLATED]
        if self.site:
            return [o for o in violated if o.site == self.site]
        return violated if len({o.site for o in violated}) <= 1 else []

    def is_stale(self, about: Sequence[Obligation]) -> bool:
        """Whether what it accepts was checked in this run, and proved.

        A statement that raises has an obligation of its own; that there is none for ``site``, and
        nothing undecided, says that it was proved not to.
        """
        others = {VIOLATED} if self.site else set()
        return bool(about) and {o.verdict for o in about} <= {PROVED, *others}


def load(path: Path) -> tuple[Entry, ...]:
    """Read a baseline file.

    Raises:
        UsageError: unreadable, no TOML, or an entry that is not one.
    """
    content = read_bounded(path, LARGEST, "a baseline")
    try:
        data = tomllib.loads(content.decode("utf-8"))
    except ValueError as error:
        raise UsageError(f"the baseline {path} is not TOML: {error}") from error
    except RecursionError:
        raise UsageError(f"the baseline {path} is not TOML: nested too deep") from None
    listed = data.pop("accepted", [])
    if data or not isinstance(listed, list):
        raise UsageError(f"the baseline {path} may only have [[accepted]] tables")
    return tuple(_entry(path, number, item) for number, item in enumerate(listed, 1))


def _entry(path: Path, number: int, item: Any) -> Entry:
    def wrong(what: str) -> UsageError:
        return UsageError(f"the baseline {path}, entry {number}: {what}")

    if not isinstance(item, dict):
        raise wrong("not a table")
    for name, value in item.items():
        if name not in FIELDS:
            raise wrong(f"unknown key {name!r}; legal: {', '.join(FIELDS)}")
        if not isinstance(value, str) or not value.strip():
            raise wrong(f"{name} must be text")
    if item.get("invariant") not in IDS:
        raise wrong(
            f"invariant {item.get('invariant')!r} is not one (python -m proofs list shows all)"
        )
    if ("policy" in item) == ("source" in item):
        raise wrong("name either a policy or a source")
    if item.get("mode", MODES[0]) not in MODES:
        raise wrong(f"mode {item['mode']!r} is not one of {', '.join(MODES)}")
    if "reason" not in item:
        raise wrong("give the reason why it is accepted")
    return Entry(**{name: value.strip() for name, value in item.items()})


def apply(outcome: Outcome, entries: Iterable[Entry]) -> Report:
    """Judge an outcome: accepted violations do not count, entries without one do."""
    accepted: dict[Key, str] = {}
    stale: list[str] = []
    for entry in entries:
        about = [o for o in outcome.obligations if entry.about(o)]
        taken = entry.accepts(about)
        accepted |= {key(o): entry.reason for o in taken}
        if not taken and entry.is_stale(about):
            stale.append(f"{entry}: proved now; remove the entry ({entry.reason})")
    return Report(outcome, accepted, tuple(stale))
