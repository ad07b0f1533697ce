"""``list`` and ``explain``: the specification for a reader who knows no Z3."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from model.policies import POLICIES, RECOMMENDED, PaddingPolicy
from proofs.errors import UsageError
from proofs.necessity import without
from proofs.report.trace_text import WIDTH, render, table, wrapped
from proofs.symbolic import Limits
from spec.assumptions import ASSUMPTIONS, Assumption
from spec.config import FLAGS, KNOBS
from spec.invariants import CATALOGUE, IDS
from spec.records import Advance, Attention, Booking, Decision, PoolState, RequestState, StepTotals
from spec.waivers import WAIVERS

SPEAKS_OF: dict[type, str] = {
    Decision: "of one decision",
    Attention: "of one request in one step",
    Advance: "of one request scheduled in one step",
    StepTotals: "of one step",
    Booking: "of one booked output",
    RequestState: "of one request between steps",
    PoolState: "of the KV pool between steps",
    bool: "of one call",
}
"""What the records are to a reader."""


NEVER_WITHOUT = (
    "No execution shows what breaks without it: every execution of the model is played under it."
)


def list_all() -> str:
    """Every id that ``explain``, ``--only`` and ``--policy`` take, a line each."""
    blocks = [
        ("invariants", [(e, _first(e)) for e in IDS]),
        ("waivers of uniform-decode", [(w.id, w.statement) for w in WAIVERS]),
        ("assumptions", [(a.id, a.statement) for a in ASSUMPTIONS]),
        ("policies", [(p.name, f"{p.title} ({p.status})") for p in POLICIES.values()]),
        ("knobs", [(k.name, f"{k.symbol}, {k.unit}: {k.meaning}") for k in KNOBS]),
        ("flags", list(FLAGS.items())),
    ]
    lines: list[str] = []
    for title, rows in blocks:
        lines += [title, *(f"  {line}" for line in table(rows)), ""]
    return "\n".join(lines).rstrip()


def explain(name: str) -> str:
    """One id at length.

    Raises:
        UsageError: nothing has that id.
    """
    for invariant in CATALOGUE:
        if invariant.id == name:
            return _explain_invariant(name)
    for waiver in WAIVERS:
        if waiver.id == name:
            fields = {
                "applies when": waiver.statement,
                "why": waiver.why,
                "source": waiver.source,
            }
            page = _page(waiver.id, "waiver of uniform-decode", fields)
            return page + _shown_without(waiver.id, "A step that needs it")
    for assumption in ASSUMPTIONS:
        if assumption.id == name:
            return _explain_assumption(assumption)
    if name in POLICIES:
        return _explain_policy(POLICIES[name])
    for knob in KNOBS:
        if name in (knob.name, knob.symbol):
            high = "no upper limit" if knob.high is None else f"at most {knob.high}"
            legal = f"at least {knob.low}, {high}, {knob.unit}"
            return _page(knob.name, f"knob {knob.symbol}", {"says": knob.meaning, "legal": legal})
    if name in FLAGS:
        return _page(name, "flag", {"says": FLAGS[name]})
    explained = [*(waiver.id for waiver in WAIVERS), *(a.id for a in ASSUMPTIONS)]
    knobs = [word for knob in KNOBS for word in (knob.name, knob.symbol)]
    raise unknown("id", name, [*IDS, *POLICIES, *explained, *knobs, *FLAGS])


def unknown(kind: str, name: str, legal: list[str]) -> UsageError:
    """The error for a name nobody knows, with the nearest ones."""
    begun = [word for word in legal if len(name) > 1 and word.startswith(name)]
    near = begun[:3] or get_close_matches(name, legal, n=3, cutoff=0.75)
    hint = f"did you mean {' or '.join(near)}?" if near else f"legal: {', '.join(legal)}"
    return UsageError(f"unknown {kind} {name!r}; {hint} (python -m proofs list shows all)")


def _first(identifier: str) -> str:
    return next(entry.statement for entry in CATALOGUE if entry.id == identifier)


def _explain_invariant(name: str) -> str:
    entries = [entry for entry in CATALOGUE if entry.id == name]
    clauses = [
        f"{SPEAKS_OF[entry.about]}: {(entry.claim.__doc__ or '').strip()}" for entry in entries
    ]
    fields = {
        "promises": entries[0].statement,
        "why": entries[0].why,
        "sources": ", ".join(entries[0].sources),
    }
    page = _page(name, "invariant", fields)
    lines = [page, "", "  clauses", *_listed(clauses)]
    if name == "uniform-decode":
        lines += ["", "  waivers", *_listed(f"{w.id}: {w.statement}" for w in WAIVERS)]
    return "\n".join(lines)


def _listed(entries: Iterable[str]) -> list[str]:
    return [line for entry in entries for line in wrapped("    - ", " ".join(entry.split()), WIDTH)]


def _explain_assumption(assumption: Assumption) -> str:
    fields = {
        "says": assumption.statement,
        "why": assumption.why,
        "source": assumption.source,
    }
    page = _page(assumption.id, f"assumption about the {assumption.about}", fields)
    shown = _shown_without(assumption.id, "Without it the recommended policy breaks, for example")
    return page + (shown or f"\n\n{NEVER_WITHOUT}")


def _shown_without(name: str, lead: str) -> str:
    """An execution of the recommended policy that breaks a promise without this id."""
    trace = without(name, Limits(seconds=60))
    return "" if trace is None else f"\n\n{lead}:\n\n{render(trace)}"


def _explain_policy(policy: PaddingPolicy) -> str:
    yes = {True: "yes", False: "no"}
    fields = {
        "title": policy.title,
        "status": policy.status,
        "pads at all": yes[policy.pads],
        "only autoregressive models": yes[policy.autoregressive_only],
        "pads without running work if C > 0": yes[policy.resumed_alone],
        "reserves the sampled token": yes[policy.reserves_sampled_token],
        "at the length limit": policy.at_length_limit,
        "minds the long-prefill threshold": yes[policy.threshold_aware],
        "when Mamba alignment clips": policy.when_clipped,
        "asserts the padded width": yes[policy.asserts_width],
        "clamps negative running rows": yes[policy.clamps_running],
    }
    kind = "padding policy" + (" (recommended)" if policy is RECOMMENDED else "")
    return _page(policy.name, kind, fields)


def _page(name: str, kind: str, fields: dict[str, str]) -> str:
    width = max(map(len, fields)) + 2
    rows = [wrapped(f"  {field:<{width}}", text, WIDTH) for field, text in fields.items()]
    return "\n".join([f"{name}: {kind}", "", *(line for row in rows for line in row)])
