"""What must hold at the end of a run of the text: the catalogue's claims and the clauses."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from model.request import FINISHED
from model.request import RequestStatus as ModelStatus
from proofs.source.objects.host import is_plain_dict
from proofs.source.objects.requests import Request, RequestStatus, length_of
from proofs.source.objects.stubs import Record
from proofs.source.runs.harness import Harness
from spec.claims import Claim
from spec.logic import all_of, any_of, ite, not_

UNLESS = "unless:"
"""Prefix of a tracked hypothesis that says a waiver does not apply."""

SOUND_SO_FAR = "rows match drafts so far"
"""Name of the hypothesis that no earlier step broke rows-match-drafts or padded a diffusion canvas:
either corrupts the counters, and is reported as the violation it is."""

CONSERVATION = "request-conservation"
TOLD = "scheduled_new_reqs", "scheduled_cached_reqs"
"""Fields of the output in which the runner is told of the requests that have rows."""
TOTAL = "total_num_scheduled_tokens"
"""The field of the output with the sum of rows."""
AS_ASKED = ("num_prompt_tokens", "max_tokens", "priority", "arrival_time")
"""What a client sends with a request, and the scheduler only reads."""
IN_FLIGHT = "placeholder-accounting"
"""The catalogue id under which a wrong count of rows in flight is reported."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One formula to prove at the end of a path."""

    invariant: str
    """The catalogue id at stake."""
    name: str
    """The claim's function or the clause's name."""
    request: str
    stated: Any
    """The formula, where it has been spelled out; None: as the claim says."""
    granted: Mapping[str, Any] = field(default_factory=dict)
    """Tracked extra hypotheses: assumptions by id, and ``unless:<waiver>``."""
    claim: Claim | None = None
    """The claim behind the formula; a clause has none."""
    rank: int = 0
    """The data-parallel rank the request is on."""

    @property
    def title(self) -> str:
        """The claim, and whom it is about."""
        return f"{self.name} of {self.request}"

    @property
    def formula(self) -> Any:
        """What is to be proved."""
        if self.stated is None and self.claim is not None:
            return self.claim.unless_waived
        return self.stated

    def parts(self) -> tuple[Sequence[str], Sequence[Any]]:
        """The formula, what it is granted, and the terms of its claim, from which it may follow."""
        claim = self.claim
        if claim is None:
            return [self.name, *self.granted], [self.stated, *self.granted.values()]
        names = [self.name, "due", *claim.left, claim.relation, *claim.right]
        terms = [self.stated, claim.when, *claim.left.values(), None, *claim.right.values()]
        return [*names, *self.granted], [*terms, *self.granted.values()]

    def goals(self) -> list[Goal]:
        """Itself, spelled out."""
        return [replace(self, stated=self.formula)]

    def key(self, knobs: object) -> Hashable:
        """The claim and the identities of its terms; None where it is spelled out already."""
        claim = self.claim
        if self.stated is not None or claim is None:
            return None
        left, right = claim.left, claim.right
        terms = (claim.when, self.request, *left.values(), *right.values())
        names = self.invariant, self.name, self.rank, *left, claim.relation, *right
        return tuple(map(id, terms)), names


def plain(invariant: str, name: str, request: str, claim: Claim) -> Goal:
    """A claim that nothing waives and nothing is granted to."""
    return Goal(invariant, name, request, None, {}, claim)


def flight_goals(harness: Harness, request: Request, added: Any) -> list[Goal]:
    """The text's own count of rows in flight moves by the rows that left, or came back.

    Nothing in the catalogue reads that counter.  But a state is supposed to have it right (0 under
    sync scheduling; otherwise `output-in-order`, and what of it is stale after a preemption), so a
    text has to keep it right.
    """
    if not harness.tracks_flight:
        return []
    was = harness.before[request.request_id].num_in_flight_tokens
    claim = Claim(
        {"num_in_flight_tokens": request.num_in_flight_tokens},
        "==",
        {"rows in flight": was + added},
    )
    return [plain(IN_FLIGHT, "rows_in_flight", request.request_id, claim)]


def as_asked_goals(harness: Harness, request: Request) -> list[Goal]:
    """What the client asked for, and the request's place, are as they were before the step."""
    was = harness.before[request.request_id]
    claims = (
        (field, Claim({field: getattr(request, field)}, "==", {"before": getattr(was, field)}))
        for field in AS_ASKED
    )
    return [plain(CONSERVATION, f"{field}_as_asked", request.request_id, c) for field, c in claims]


def known_goals(harness: Harness, request: Request) -> list[Goal]:
    """The scheduler knows a request as long as it lives, and no longer.

    Output, drafts and an abort find a request by its id; blocks are freed at once, so that nothing
    is left to be done for one that has ended.
    """
    if harness.before[request.request_id].status in FINISHED:
        return []
    requests = harness.scheduler.requests
    if not is_plain_dict(requests):
        harness.loaded.host.unprofiled("scheduler.requests (no plain dictionary)")
    known = requests.get(request.request_id) is request
    alive = request.status <= RequestStatus.PREEMPTED
    claim = Claim({"known to the scheduler": int(known)}, "==", {"alive": int(alive)})
    return [plain(CONSERVATION, "known_while_alive", request.request_id, claim)]


def settled_goals(harness: Harness, request: Request, pending: Any, rejected: Any) -> list[Goal]:
    """What is booked of a request's rows in flight is no longer in flight.

    Args:
        pending: what the rows that came back were to sample, drafts included.
        rejected: of those, how many did not become tokens.
    """
    was, name = harness.before[request.request_id], request.request_id
    if request.status > RequestStatus.PREEMPTED:
        return []
    goals = []
    if harness.is_async and not (
        harness.keeps_placeholders and was.status is not ModelStatus.RUNNING
    ):
        claim = Claim(
            {"num_output_placeholders": request.num_output_placeholders},
            "==",
            {"before": was.num_output_placeholders, "-came back": -pending},
        )
        goals.append(plain(IN_FLIGHT, "placeholders_settle", name, claim))
    claim = Claim(
        {"num_computed_tokens": request.num_computed_tokens},
        "==",
        {"before": was.num_computed_tokens, "-rejected": -rejected},
    )
    return [*goals, plain(IN_FLIGHT, "computed_settles", name, claim)]


def draft_goals(harness: Harness, request: Request) -> list[Goal]:
    """Drafts proposed for a decode are those it has in the next step (no grammar drops any)."""
    proposed = dict(harness.moments[-1].proposed).get(request.request_id)
    if proposed is None or request.status is not RequestStatus.RUNNING:
        return []
    claim = Claim(
        {"len(spec_token_ids)": length_of(request.spec_token_ids)},
        "==",
        {"drafts proposed": proposed},
        when=not_(request.is_prefill_chunk),
    )
    return [plain("uniform-decode", "drafts_as_proposed", request.request_id, claim)]


def output_goals(harness: Harness, output: Any, rows: Mapping[str, Any]) -> list[Goal]:
    """What the output says besides rows and drafts agrees with the rows; no more run than may.

    A text that leaves a field out is asked nothing about it.
    """
    fields = vars(output) if isinstance(output, Record) else {}
    goals: list[Goal] = []
    if TOTAL in fields:
        total: Any = 0
        for number in rows.values():
            total = total + number
        claim = Claim({TOTAL: fields[TOTAL]}, "==", {"sum of rows": total})
        goals.append(plain("within-budget", "total_of_rows", "", claim))
    ran = sum(1 for request in harness.scheduler.running if request in harness.everyone)
    for what, count in (("running", ran), ("with rows", len(rows))):
        claim = Claim({what: count}, "<=", {"max_num_seqs": harness.config.max_num_seqs})
        goals.append(plain("within-budget", "seats", "", claim))
    if all(name in fields for name in TOLD):
        told = [data.req_id for data in fields[TOLD[0]]] + list(fields[TOLD[1]].req_ids)
        for request in harness.judged:
            name = request.request_id
            claim = Claim({"told to the runner": told.count(name)}, "==", {"rows": name in rows})
            goals.append(plain(CONSERVATION, "runner_is_told", name, claim))
    return goals


def victim_goals(harness: Harness) -> list[Goal]:
    """Nobody is preempted while a less urgent request, or one admitted later, keeps its place; and
    nobody but for blocks the pool did not have: a victim is an excuse only then."""
    before, by_priority = harness.before, harness.config.priority_scheduling
    ran = [r for r in harness.everyone if before[r.request_id].status is ModelStatus.RUNNING]
    victims = sum(1 for r in ran if r.status is RequestStatus.PREEMPTED)
    claim = Claim({"preempted": victims}, "<=", {"refusals of the pool": harness.world.refusals})
    goals = [plain("progress", "preempted_for_blocks", "", claim)] if victims else []
    for at, victim in enumerate(ran):
        if victim.status is not RequestStatus.PREEMPTED:
            continue
        for place, other in enumerate(ran):
            if other.status is not RequestStatus.RUNNING:
                continue
            earlier = victim.arrival_time < other.arrival_time
            tied = all_of(victim.priority == other.priority, earlier)
            urgent = any_of(victim.priority < other.priority, tied)
            wrong = any_of(all_of(by_priority, urgent), all_of(not_(by_priority), at < place))
            claim = Claim({"comes before one that stays": ite(wrong, 1, 0)}, "==", {"0": 0})
            goals.append(plain("progress", "last_is_preempted", victim.request_id, claim))
    return goals
