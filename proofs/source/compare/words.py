"""The vocabulary of a comparison: which states, what became of a request, in plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.request import RequestStatus as ModelStatus
from proofs.source.compare.sides import NOT_REACHED, Side
from spec.logic import all_of, any_of, not_
from spec.records import BLOCKED, LOADING, SCHEDULED, SKIPPED, Decision

SAID = {
    NOT_REACHED: "no rows (not looked at)",
    LOADING: "no rows, its KV load starts",
    SKIPPED: "no rows",
    BLOCKED: "no rows, and nobody behind it gets any",
}
"""Outcome without rows → in words."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One request of a comparison, as the old text met it (or else the new one)."""

    old: Side
    new: Side
    name: str

    @property
    def decision(self) -> Decision | None:
        """What a text decided about it, one that gave it rows if there is one."""
        sides = sorted((self.old, self.new), key=lambda side: not side.got_rows(self.name))
        return sides[0].decision(self.name) or sides[1].decision(self.name)

    @property
    def before(self) -> Any:
        """Its counters when the step began."""
        return self.old.harness.before[self.name]

    @property
    def is_running(self) -> bool:
        """Whether it was running when the step began."""
        return self._was_running(self.name)

    def _was_running(self, name: str) -> bool:
        return self.old.harness.before[name].status is ModelStatus.RUNNING

    @property
    def computed(self) -> Any:
        """C, with the hits the step found."""
        decision = self.decision
        return self.before.num_computed_tokens if decision is None else decision.num_computed_tokens

    @property
    def ahead(self) -> str:
        """The request in front of it, if there is one."""
        return self._in_front[-1] if self._in_front else ""

    @property
    def _in_front(self) -> Sequence[str]:
        names = self.old.turns
        return names[: names.index(self.name)]

    @property
    def is_behind_work(self) -> bool:
        """Whether a running request in front of it gets rows."""
        return any(self._was_running(name) and self.old.got_rows(name) for name in self._in_front)

    def who(self) -> str:
        """The request in words."""
        if self.is_running:
            return "one running request"
        return "one request whose KV is loading" if self.is_loading else "one waiting request"

    @property
    def is_loading(self) -> bool:
        """Whether its KV is being loaded, or starts to be in this step."""
        decision = self.decision
        return decision is not None and (decision.is_loading or decision.outcome == LOADING)

    def company(self) -> Mapping[str, Any]:
        """What is in front of it: words → when they are true."""
        ahead = self.ahead
        if self.is_running:
            return {"behind another running request" if ahead else "": True}
        if not ahead:
            return {"on a rank with nothing running": True}
        if not self._was_running(ahead):
            return {"behind another waiting request": True}
        if not self.old.got_rows(ahead):
            return {"behind a running request that gets no rows": True}
        prefill = self.old.harness.before[ahead].is_prefill_chunk
        return {"behind a running prefill": prefill, "behind a running decode": not_(prefill)}


def predicates(subject: Subject) -> dict[str, Any]:
    """What may be common to all states of a class, the telling ones first."""
    config, computed = subject.old.harness.config, subject.computed
    left = subject.before.num_tokens - computed
    k, s = config.num_spec_tokens, config.num_sampled_tokens_per_step
    threshold = config.long_prefill_token_threshold
    decision = subject.decision
    room = True if decision is None else decision.budget_left >= 1 + k
    fits = computed + 1 + k + s <= config.max_model_len
    small = all_of(threshold > 0, threshold < 1 + k)
    return {
        "C > 0": computed > 0,
        "C = 0": computed == 0,
        "one token left": left == 1,
        "more than one token left": left > 1,
        "K > 0": k > 0,
        "s = 1": s == 1,
        "s = 0 (diffusion)": s == 0,
        "C + 1 + K + s <= L": fits,
        "C + 1 + K + s > L": not_(fits),
        "0 < θ < 1 + K": small,
        "θ = 0 or θ >= 1 + K": not_(small),
        "1 + K rows fit what is left of the budget": room,
        "less than 1 + K rows are left of the budget": not_(room),
        "chunked prefill off": not_(config.enable_chunked_prefill),
        "drafter slots D > 0": config.draft_slots > 0,
    }


TELLING = ("C > 0", "C = 0")
"""Predicates a sentence names; the others are listed behind it."""


def kinds(side: Side, name: str) -> dict[str, Any]:
    """What became of a request: words → when they are true; exactly one is."""
    outcome = side.outcome(name)
    if outcome != SCHEDULED:
        return {SAID.get(outcome, outcome): True}
    d = side.decisions[name]
    rows, drafts, k = d.num_scheduled_tokens, d.num_draft_tokens, d.config.num_spec_tokens
    left = d.num_tokens - d.num_computed_tokens
    candidates = {
        "less than 1 row": rows < 1,
        "1 + K rows": all_of(rows == 1 + k, drafts == k, k > 0),
        "1 row": all_of(rows == 1, drafts == 0),
        "K drafts on other than 1 + K rows": all_of(drafts == k, k > 0, rows != 1 + k),
        "all rows left": all_of(rows == left, drafts == 0),
        "a part of the rows left": all_of(rows < left, drafts == 0),
        "some rows": True,
    }
    exclusive: dict[str, Any] = {}
    before: Any = False
    for words, holds in candidates.items():
        exclusive[words] = all_of(holds, not_(before))
        before = any_of(before, holds)
    return exclusive


@dataclass(frozen=True, slots=True)
class Population:
    """Requests a reader may ask about: are they scheduled as before?"""

    name: str
    members: Callable[[Subject], Any]


def _prefill(subject: Subject) -> Any:
    if subject.is_running:
        return subject.before.is_prefill_chunk
    return subject.before.num_tokens - subject.computed > 1


def _diffusion(subject: Subject) -> Any:
    return subject.old.harness.config.num_sampled_tokens_per_step == 0


def _decode(subject: Subject) -> Any:
    return subject.is_running and not_(subject.before.is_prefill_chunk)


def _last_token(subject: Subject) -> Any:
    if subject.is_running or not subject.is_behind_work:
        return False
    return subject.before.num_tokens - subject.computed == 1


POPULATIONS = (
    Population("ordinary prefills (more than one token left)", _prefill),
    Population("diffusion requests (s = 0)", _diffusion),
    Population("requests whose KV is loading or starts to", lambda subject: subject.is_loading),
    Population("running decodes", _decode),
    Population("waiting requests with one token left, behind running work", _last_token),
)
