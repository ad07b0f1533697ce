"""From what exploring found to verdicts: proved, violated once run on integers, or undecided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proofs.clauses import SERVES
from proofs.source.loader import Loaded
from proofs.source.proving.concrete import NotReplayed, replay
from proofs.source.proving.outcome import Outcome, Topic
from proofs.source.proving.raised import INVARIANT as ASSERT
from proofs.source.runs.goals import SOUND_SO_FAR, UNLESS
from proofs.source.runs.harness import CLAUSE
from proofs.source.verdicts import NOT_SHOWN, Finding
from proofs.trace import Trace
from proofs.verdict import PROVED, UNDECIDED, VIOLATED
from spec.assumptions import CRASH_IS_THE_END

UP_TO_EXCEPTIONS = "; up to the first exception: a step that raises ends the engine"
"""Added to the scope of a verdict where some path raised."""
UP_TO_CORRUPTION = "; up to the first step that breaks {}: it corrupts the counters"
"""Added to the scope of a proof that supposes there was none, where there can be one."""
CORRUPTING = ("rows-match-drafts", "no-padding-diffusion")


def findings_about(
    loaded: Loaded,
    outcome: Outcome,
    invariant: str,
    mode: str,
    scope: str,
    kept: frozenset[str],
    dropped: Iterable[str],
) -> Iterator[Finding]:
    """The verdicts on one invariant: of exceptions one for each statement that raises, so that one
    that is known cannot hide another, and one for all others unless that is a mere *proved*."""
    violated: list[Finding] = []
    failures: list[str] = []
    for site in outcome.sites if invariant == ASSERT else ("",):
        traces = _replayed(loaded, outcome, (invariant, site), kept, failures)
        trace = next(traces, None)
        if trace is not None:
            also = () if site else _elsewhere(trace, traces)
            found = Finding(
                invariant, mode, VIOLATED, scope, trace, NOT_SHOWN, site=site, also=also
            )
            violated.append(found)
    rest = _held(outcome, invariant, mode, scope, failures, dropped)
    if not violated or (invariant == ASSERT and rest.verdict == UNDECIDED):
        yield rest
    yield from violated


def _replayed(
    loaded: Loaded, outcome: Outcome, topic: Topic, kept: frozenset[str], failures: list[str]
) -> Iterator[Trace]:
    """The counterexamples that break the topic on integers too, the smallest first."""
    proposed = [c for (about, _), c in outcome.candidates.items() if about == topic]
    for candidate in sorted(proposed, key=lambda c: (c.task.features.count, c.size)):
        try:
            yield replay(loaded, candidate.task, candidate.answers, topic[0], kept, topic[1])
        except NotReplayed as failure:
            failures.append(f"{candidate.task.name}: not replayed: {failure}")


def _elsewhere(shown: Trace, others: Iterable[Trace]) -> tuple[str, ...]:
    """The other lines behind violations of the same invariant, so that none hides another: one
    run each in which they are."""
    lines = {_line(shown): ""}
    for trace in others:
        lines.setdefault(_line(trace), trace.policy)
    return tuple(sorted(f"{line} ({run})" for line, run in lines.items() if run))


def _line(trace: Trace) -> str:
    return "{file}:{line}".format(**trace.source) if trace.source else ""


def _held(
    outcome: Outcome,
    invariant: str,
    mode: str,
    scope: str,
    failures: Iterable[str],
    dropped: Iterable[str],
) -> Finding:
    """The verdict on an invariant that no counterexample breaks."""
    reasons = [*outcome.doubts, *failures, outcome.doubtful.get(invariant, "")]
    # A clause serves its invariant: what is not kept is a promise that nobody keeps.
    reasons += [f"the clause {name} is not kept" for name in dropped if SERVES[name] == invariant]
    reason = next(filter(None, reasons), "")
    used = outcome.used.get(invariant, set()) | outcome.pruned_by
    if outcome.sites:
        # A path that raised was judged no further: what is promised, is promised of the others.
        used.add(CRASH_IS_THE_END.id)
        scope += UP_TO_EXCEPTIONS
    corrupting = [i for i in CORRUPTING if any(i == about for (about, _), _ in outcome.candidates)]
    if SOUND_SO_FAR in used and corrupting:
        scope += UP_TO_CORRUPTION.format(" or ".join(corrupting))
    used.discard(SOUND_SO_FAR)
    return Finding(
        invariant,
        mode,
        UNDECIDED if reason else PROVED,
        scope,
        reason=reason,
        assumptions=tuple(sorted(n for n in used if ":" not in n)),
        waivers=tuple(sorted(n.removeprefix(UNLESS) for n in used if n.startswith(UNLESS))),
        clauses=tuple(sorted(n.removeprefix(CLAUSE) for n in used if n.startswith(CLAUSE))),
        gaps=tuple(outcome.gaps) if reason else (),
    )
