"""Verdicts as plain text: the table of policies, one policy's list, and the summary line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from model.policies import POLICIES, RECOMMENDED
from proofs.report.run import KNOWN, Report, headline
from proofs.report.trace_text import render as render_trace
from proofs.report.trace_text import table
from proofs.trace import Trace
from proofs.verdict import ASYNC, PROVED, SYNC, UNDECIDED, VIOLATED, Obligation
from spec.invariants import IDS

MARKS = {PROVED: "ok", VIOLATED: "BROKEN", UNDECIDED: "?"}


def render(report: Report, verbose: bool = False, width: int | None = None) -> str:
    """The whole report: one policy or source at length, several as a table."""
    obligations = report.outcome.obligations
    names = list(dict.fromkeys(o.policy for o in obligations))
    if len(names) == 1:
        told = verbose or names[0] in POLICIES
        lines = [_title(names[0]), "", *policy_report(obligations, told, width)]
    else:
        lines = policy_table(obligations, width)
        lines += [
            "",
            "ok = proved, BROKEN = violated (replayed), ? = undecided; sync/async where they "
            "differ.",
            "Counterexamples: python -m proofs check --policy NAME",
        ]
        recommended = [o for o in obligations if o.policy == RECOMMENDED.name]
        if recommended:
            lines += ["", f"policy {RECOMMENDED.name} (recommended) rests on:"]
            lines += policy_report(recommended, verbose=True, width=width)
    return "\n".join([*lines, "", summary(report)]) + "\n"


def _title(name: str) -> str:
    known = POLICIES.get(name)
    return name if known is None else f"policy {name}: {known.title} ({known.status})"


def policy_table(obligations: Iterable[Obligation], width: int | None = None) -> list[str]:
    """Policies across, invariants down; ``sync/async`` where the two differ.

    A table wider than ``width`` columns of text is cut into several, one below the other.
    """
    cells = policy_cells(obligations)
    whole = table(cells)
    if width is None or len(cells[0]) <= 2 or max(map(len, whole)) <= width:
        return whole
    lines: list[str] = []
    first = 1
    while first < len(cells[0]):
        last = len(cells[0])
        part = table([[row[0], *row[first:last]] for row in cells])
        while last > first + 1 and max(map(len, part)) > width:
            last -= 1
            part = table([[row[0], *row[first:last]] for row in cells])
        lines += [*([""] if lines else []), *part]
        first = last
    return lines


def policy_cells(obligations: Iterable[Obligation]) -> list[list[str]]:
    """The table's cells; the first row is the heading."""
    cells: dict[tuple[str, str], list[Obligation]] = {}
    policies: dict[str, None] = {}
    for obligation in obligations:
        policies[obligation.policy] = None
        cells.setdefault((obligation.invariant, obligation.policy), []).append(obligation)
    wanted = {invariant for invariant, _ in cells}
    return [
        ["invariant", *policies],
        *(
            [name, *(_cell(_worst(cells.get((name, policy), []))) for policy in policies)]
            for name in IDS
            if name in wanted
        ),
    ]


def _worst(obligations: Iterable[Obligation]) -> dict[str, Obligation]:
    """Mode → its obligation; of several about one invariant the worst."""
    order = (VIOLATED, UNDECIDED, PROVED)
    ranked = sorted(obligations, key=lambda o: order.index(o.verdict), reverse=True)
    return {o.mode: o for o in ranked}


def _cell(modes: dict[str, Obligation]) -> str:
    marks = [_mark(modes[mode]) for mode in (SYNC, ASYNC) if mode in modes]
    return marks[0] if len(set(marks)) == 1 else "/".join(marks)


def _mark(obligation: Obligation) -> str:
    return MARKS[obligation.verdict] + ("" if obligation.as_expected else "!")


def policy_report(
    obligations: Sequence[Obligation], verbose: bool, width: int | None = None
) -> list[str]:
    """One policy: a line per invariant, then the counterexamples."""
    shared, common = _shared(obligations), _common_reasons(obligations)
    lines: list[str] = []
    for name in IDS:
        both = [o for o in obligations if o.invariant == name]
        if not both:
            continue
        lines.append(f"  {name:<24} {_cell(_worst(both))}")
        for site in sorted({o.site for o in both if o.site}):
            modes = {o.mode: o for o in both if o.site == site}
            lines.append(f"      {'/'.join(modes)}: {site}")
        for place in dict.fromkeys(place for o in both for place in o.also):
            modes = {o.mode: o for o in both if place in o.also}
            lines.append(f"      {'/'.join(modes)}: also {place}")
        for obligation in both:
            if obligation.verdict == UNDECIDED and obligation.reason not in common:
                lines.append(f"      {obligation.mode}: undecided: {obligation.reason}")
        if verbose:
            lines += _used(both, shared)
    if verbose and shared:
        lines += ["", f"  every proof assumes: {', '.join(sorted(shared))}"]
    for reason, told in common.items():
        lines += ["", f"  {'/'.join(told)}: undecided: {reason}"]
    for trace in smallest_traces(obligations):
        lines += ["", "-" * 72, render_trace(trace, width)]
    return lines


def _common_reasons(obligations: Iterable[Obligation]) -> dict[str, list[str]]:
    """Why several invariants are undecided at once, told once: the reason → the modes."""
    about: dict[str, list[Obligation]] = {}
    for o in obligations:
        if o.verdict == UNDECIDED:
            about.setdefault(o.reason, []).append(o)
    return {
        reason: list(dict.fromkeys(o.mode for o in several))
        for reason, several in about.items()
        if len({o.invariant for o in several}) > 1
    }


def smallest_traces(obligations: Iterable[Obligation]) -> list[Trace]:
    """One counterexample per invariant and statement that raises: the shorter of the two modes',
    sync first."""
    best: dict[tuple[str, str], Trace] = {}
    for obligation in obligations:
        trace, about = obligation.trace, (obligation.invariant, obligation.site)
        if trace is not None:
            known = best.get(about)
            if known is None or len(trace.steps) < len(known.steps):
                best[about] = trace
    return list(best.values())


def _shared(obligations: Iterable[Obligation]) -> set[str]:
    """The assumptions every proof of a mode rests on: those under its inductive invariant."""
    modes: dict[str, set[str]] = {}
    for o in obligations:
        if o.verdict == PROVED:
            modes[o.mode] = modes.get(o.mode, set(o.assumptions)) & set(o.assumptions)
    return set().union(*modes.values())


def _used(obligations: Iterable[Obligation], shared: set[str]) -> list[str]:
    """What the proofs of one invariant rest on besides."""
    proved = [o for o in obligations if o.verdict == PROVED]
    assumptions = sorted({name for o in proved for name in o.assumptions} - shared)
    waivers = sorted({name for o in proved for name in o.waivers})
    lines = []
    if assumptions:
        lines.append(f"      assumes also: {', '.join(assumptions)}")
    if waivers:
        lines.append(f"      waivers used: {', '.join(waivers)}")
    return lines


def summary(report: Report) -> str:
    """The last lines: what it all comes to, and what made it so."""
    outcome = report.outcome
    known = sum(report.state(o) == KNOWN for o in outcome.obligations)
    counts = {v: sum(o.verdict == v for o in outcome.obligations) for v in MARKS}
    counts[VIOLATED] -= known
    counts["violated as known"] = known
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    verdict = {
        PROVED: "VERIFICATION SUCCESSFUL",
        VIOLATED: "VERIFICATION FAILED",
        UNDECIDED: "UNDECIDED",
    }[report.verdict]
    lines = [f"{verdict}: {outcome.target}: {told} ({outcome.seconds:.1f} s)"]
    for o in outcome.obligations:
        if not o.as_expected:
            name = f"{o.policy} {o.invariant} {o.mode}"
            lost = f", also with {' and '.join(o.lost)}" if o.lost else ""
            lines.append(f"  {name}: {o.verdict}, expected {o.expected}{lost}")
    lines += [f"  accepted: {headline(report, o)}" for o in outcome.obligations if report.reason(o)]
    lines += [f"  stale entry of the baseline: {line}" for line in report.stale]
    return "\n".join(lines)
