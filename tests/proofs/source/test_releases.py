"""Published releases: what must be found in them, and every trace run again on its numbers.

Needs the package index once; afterwards the cache.  Skipped, with the reason, where neither helps.
``SCHEDPROOF_ALL_RELEASES=1`` runs all releases instead of three.
"""

from __future__ import annotations

import os
from functools import cache

import pytest

from proofs.clauses import SERVES
from proofs.source.check import check_source
from proofs.source.errors import CANNOT_TELL, SourceError
from proofs.source.fetch import PADDED, Release, fetch_release
from proofs.source.loader import load
from proofs.source.profile import profile_for
from proofs.source.proving.concrete import replay
from proofs.source.proving.reach import Corner, search
from proofs.source.runs.harness import UNJUDGED
from proofs.source.runs.life import End
from proofs.source.runs.scenarios import one_step, whole_loop
from proofs.source.runs.state import Features
from proofs.source.verdicts import REACHABLE, SourceReport
from proofs.verdict import ASYNC, MODES, PROVED, UNDECIDED, VIOLATED
from spec.claims import RELATIONS

ALL = bool(os.environ.get("SCHEDPROOF_ALL_RELEASES"))
VERSIONS = PADDED if ALL else ("0.25.0", "0.29.0", "0.33.0")

PADDING = frozenset(
    {
        "within-model-len",
        "uniform-decode",
        "rows-match-drafts",
        "progress",
        "placeholder-accounting",
    }
)
ASSERTION = frozenset({"no-reachable-assert"})
EXPECTED: dict[str, frozenset[str]] = {
    "0.25.0": PADDING | {"no-padding-diffusion"},
    "0.26.0": PADDING,
    "0.27.0": PADDING,
    "0.28.0": PADDING,
    "0.29.0": ASSERTION | {"uniform-decode"},
    "0.30.0": ASSERTION,
    "0.31.0": ASSERTION,
    "0.32.0": ASSERTION,
    "0.33.0": ASSERTION,
}
"""Release → the invariants one step over one running and one waiting request breaks."""


@cache
def _release(version: str) -> Release:
    try:
        return fetch_release(version)
    except SourceError as error:
        if error.status == CANNOT_TELL:
            pytest.skip(str(error))
        raise


@cache
def _report(version: str) -> SourceReport:
    return check_source(_release(version).texts, version, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_exactly_the_known_bugs_are_found(version: str) -> None:
    report = _report(version)
    assert not any(f.verdict == UNDECIDED for f in report.findings), report.findings
    assert {f.invariant for f in report.findings if f.verdict == VIOLATED} == EXPECTED[version]
    assert any(f.verdict == PROVED for f in report.findings)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_violation_names_its_line_and_runs_again(version: str) -> None:
    loaded = load(_release(version).texts, profile_for(version))
    tasks = {(mode, task.name): task for mode in MODES for task in one_step(mode == ASYNC)}
    for finding in _report(version).findings:
        if finding.verdict != VIOLATED:
            continue
        trace = finding.trace
        assert trace is not None and trace.scenario is not None and trace.source is not None
        assert trace.source["file"] == "scheduler.py" and trace.source["line"] > 0
        task = tasks[finding.mode, trace.scenario["scenario"]]
        assert replay(loaded, task, trace.scenario["answers"], finding.invariant) == trace


@cache
def _matrix(version: str) -> SourceReport:
    """One column of the matrix, as ``python -m proofs releases`` computes it."""
    return check_source(_release(version).texts, version, version, whole_loop_too=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_violated_cell_of_the_matrix_runs_again(version: str) -> None:
    report = _matrix(version)
    assert not any(f.verdict == UNDECIDED for f in report.findings), report.findings
    loaded = load(_release(version).texts, profile_for(version))
    violated = [finding for finding in report.findings if finding.verdict == VIOLATED]
    for finding in violated:
        trace = finding.trace
        assert trace is not None and trace.scenario is not None
        tasks = {task.name: task for task in whole_loop(finding.mode == ASYNC, loaded.mentioned)}
        dropped = {d.split(" ")[0] for d in report.dropped if d.endswith(f"({finding.mode})")}
        kept = frozenset(SERVES) - UNJUDGED - dropped
        task, answers = tasks[trace.scenario["scenario"]], trace.scenario["answers"]
        again = replay(loaded, task, answers, finding.invariant, kept, finding.site)
        assert again == trace
        violation = again.violation
        assert not RELATIONS[violation.relation](violation.left, violation.right)
    assert {f.invariant for f in violated} >= EXPECTED[version]


@pytest.mark.parametrize("version", [v for v in VERSIONS if v >= "0.29.0"])
def test_the_assertion_of_54028_needs_a_threshold_below_the_padded_width(version: str) -> None:
    found = _report(version).finding("no-reachable-assert", ASYNC)
    assert found is not None and found.trace is not None
    config = found.trace.config
    assert 0 < config["long_prefill_token_threshold"] < 1 + config["num_spec_tokens"]
    violation, width = found.trace.violation, 1 + config["num_spec_tokens"]
    assert "AssertionError" in violation.sentence
    assert (violation.left, violation.relation, violation.right) == (
        config["long_prefill_token_threshold"],
        "==",
        width,
    )


def test_padding_to_the_end_of_the_model_length_in_0_25() -> None:
    found = _report("0.25.0").finding("within-model-len", ASYNC)
    assert found is not None and found.trace is not None
    violation = found.trace.violation
    assert violation.left == violation.right + 1
    assert violation.terms["max_model_len"] == found.trace.config["max_model_len"]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_one_step_breaks_is_reached_by_a_real_execution(version: str) -> None:
    report = check_source(_release(version).texts, version, version, reach_paths=2_000)
    for finding in report.findings:
        if finding.verdict != VIOLATED:
            continue
        assert finding.reachability == REACHABLE, finding.invariant
        assert finding.trace is not None
        first, last = finding.trace.steps[0], finding.trace.steps[-1]
        assert first.events[0].startswith("A arrives: ")
        assert last.violated is not None and last.violated.id == finding.invariant


def test_the_three_steps_of_53962_kill_the_engine_of_0_25() -> None:
    release = _release("0.25.0")
    loaded = load(release.texts, profile_for("0.25.0"))
    features = Features(async_scheduling=True)
    corner = Corner(features, False, False, True, False, End.STEP, False)
    found, _ = search(loaded, corner, {("positive-schedule", "")}, 2_000)
    trace = found["positive-schedule", ""]
    assert [len(step.requests) for step in trace.steps] == [1, 2, 2]
    violation = trace.violation
    assert (violation.left, violation.relation, violation.right) == (-1, ">=", 1)
    assert trace.config["max_model_len"] == 3
