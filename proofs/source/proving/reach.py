"""From a violation in an arbitrary state to a real execution, where a short one exists.

The inductive check starts from states that its own clauses allow; some may never occur.  So each
violation is followed by a bounded search for an execution of the same text from the empty engine,
switching on only what the violation itself used.  What is found is run again on integers; what is
not found is reported as *not shown reachable*, which is no proof that it is unreachable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from proofs.replay import count
from proofs.source.loader import Loaded
from proofs.source.objects.host import RanOn
from proofs.source.objects.world import CONNECTED
from proofs.source.proving.concrete import NotReplayed, replay
from proofs.source.proving.induct import explore
from proofs.source.proving.outcome import Outcome, Topic
from proofs.source.runs.harness import HELD_BACK
from proofs.source.runs.life import End, life
from proofs.source.runs.shapes import Task
from proofs.source.runs.state import Features
from proofs.source.verdicts import REACHABLE, Finding
from proofs.symbolic import Limits
from proofs.trace import Trace
from proofs.verdict import ASYNC, VIOLATED

DEPTHS = ((1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (3, 2))
"""(steps, requests), in the order they are tried."""
LENGTHS = (3, 24)
"""Bounds on ``max_model_len``, in the order they are tried: the least that most need, then any."""
AMPLE = 8192
"""A budget no search can exhaust, rows (vLLM's own default for max_num_batched_tokens)."""
ANY = (0, AMPLE)
MOST_PATHS = 12_000
"""For all findings of one mode together."""
SECONDS = 600.0
"""No search takes so long, unless Z3 does."""
POOL = "KV blocks for"
"""Beginning of the question whether the KV pool serves a request."""


@dataclass(frozen=True, slots=True)
class Corner:
    """What a violation used: the search switches on no more."""

    features: Features
    threshold: bool
    diffusion: bool
    chunked: bool
    slots: bool
    end: End
    pool: bool
    """Whether the KV pool refused somebody."""

    @classmethod
    def of(cls, finding: Finding) -> Corner:
        """Read off the trace of a finding."""
        trace = finding.trace
        assert trace is not None and trace.scenario is not None
        config = trace.config
        name = str(trace.scenario["scenario"])
        answers = trace.scenario["answers"]
        refused = [q for q, answer in answers.items() if q.startswith(POOL) and not answer]
        return cls(
            Features(
                finding.mode == ASYNC,
                "connector" in name or bool(answers.get(CONNECTED)),
                bool(config["priority_scheduling"]),
                bool(config["mamba_align"]),
                HELD_BACK in name,
            ),
            config["long_prefill_token_threshold"] > 0,
            config["num_sampled_tokens_per_step"] == 0,
            bool(config["enable_chunked_prefill"]),
            config.get("draft_slots", 0) > 0,
            _end_of(name),
            bool(refused),
        )

    @property
    def extras(self) -> tuple[tuple[str, ...], ...]:
        """What the small world leaves open besides, in the order tried: refusals of the KV pool,
        the budgets, how many tokens come back."""
        first: tuple[tuple[str, ...], ...] = (("pool",),) if self.pool else ((),)
        return (*first, ("budget", *first[0]), ("budget", "pool", "runner"))

    def ranges(
        self, requests: int, longest: int, extra: Iterable[str]
    ) -> dict[str, tuple[int, int]]:
        """The small world: question → bounds on its answer."""
        s = 0 if self.diffusion else 1
        fixed = {
            "nothing was scheduled before": (1, 1),
            "a request elsewhere": (0, 0),
            "max_model_len": (2, longest),
            "num_spec_tokens": (1, longest),
            "num_sampled_tokens_per_step": (s, s),
            "draft_slots": (1, longest) if self.slots else (0, 0),
            "long_prefill_token_threshold": (1, longest) if self.threshold else (0, 0),
            "max_num_seqs": (requests, requests),
            "max_num_scheduled_tokens": (AMPLE, AMPLE),
            "max_num_batched_tokens": (AMPLE, AMPLE),
            "num_gpu_blocks": (AMPLE, AMPLE),
            "block_size": (16, 16),
            "enable_chunked_prefill": (1, 1),
            "exempt_only_request": (0, 0),
            "stop token": (0, 0),
            POOL: (1, 1),
            "tokens for": (s, s) if s else (0, 3),
        }
        if "budget" in extra or self.slots:
            fixed["max_num_scheduled_tokens"] = fixed["max_num_batched_tokens"] = ANY
            fixed["enable_chunked_prefill"] = (int(self.chunked), int(self.chunked))
        if "pool" in extra:
            del fixed[POOL]
        if "runner" in extra:
            fixed["tokens for"] = (0, 3)
        return fixed


def _end_of(run: str) -> End:
    """Where an execution has to end to break what a run has broken."""
    if run.startswith("abort"):
        return End.ABORT
    return End.BOOKING if "booking" in run else End.STEP


def with_executions(loaded: Loaded, findings: Iterable[Finding], paths: int) -> list[Finding]:
    """The findings, each violation with a real execution if one was found among so many paths.

    Args:
        paths: for each finding.  They are counted, not timed: a busy machine finds the same.
    """
    findings = list(findings)
    groups: dict[Corner, list[Finding]] = {}
    for finding in findings:
        if finding.verdict == VIOLATED and finding.trace is not None:
            groups.setdefault(Corner.of(finding), []).append(finding)
    found: dict[tuple[str, Topic], Trace] = {}
    left = MOST_PATHS
    for corner, members in groups.items():
        wanted = {(finding.invariant, finding.site) for finding in members}
        traces, used = search(loaded, corner, wanted, min(paths * len(members), left))
        left -= used
        found |= {(members[0].mode, topic): trace for topic, trace in traces.items()}
    return [
        replace(finding, trace=found[key], reachability=REACHABLE)
        if (key := (finding.mode, (finding.invariant, finding.site))) in found
        else finding
        for finding in findings
    ]


def search(
    loaded: Loaded, corner: Corner, wanted: Iterable[Topic], paths: int
) -> tuple[Mapping[Topic, Trace], int]:
    """Executions that break the wanted promises, shallowest first, and how many paths it took."""
    missing = set(wanted)
    found: dict[Topic, Trace] = {}
    used = 0
    for extra in corner.extras:
        for steps, requests in DEPTHS:
            for longest in LENGTHS:
                if not missing or used >= paths:
                    return found, used
                ranges = corner.ranges(requests, longest, extra)
                name = f"from add_request: {count(steps, 'step')}, {count(requests, 'request')}"
                play = life(steps, requests, {invariant for invariant, _ in missing}, corner.end)
                task = Task(name, play, corner.features, tuple(ranges.items()))
                limits = Limits(paths=paths - used, seconds=SECONDS)
                traces, took = _tried(loaded, task, missing, limits)
                found.update(traces)
                used += took
                missing -= traces.keys()
    return found, used


def _tried(
    loaded: Loaded, task: Task, missing: Iterable[Topic], limits: Limits
) -> tuple[Mapping[Topic, Trace], int]:
    """One depth and length: the executions found, run again on integers, and how many paths."""
    outcome = Outcome(enough=frozenset(missing))
    try:
        explore(loaded, task, frozenset(), limits, outcome)
    except RanOn:  # pragma: no cover - the one-step check has refused such a text before
        return {}, limits.paths
    traces: dict[Topic, Trace] = {}
    for (topic, _), candidate in sorted(outcome.candidates.items(), key=lambda c: c[1].size):
        invariant, site = topic
        if topic in traces:
            continue
        try:
            traces[topic] = replay(loaded, task, candidate.answers, invariant, site=site)
        except NotReplayed:
            continue
    return traces, 1 + outcome.statistics.paths
