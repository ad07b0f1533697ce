"""A run as JUnit XML: one test suite per policy or source, one test case per obligation."""

from __future__ import annotations

import re

from proofs.report.markup import Html, join, tag
from proofs.report.run import ACCEPTED, FAILED, KNOWN, LOST, OPEN, Report, headline
from proofs.report.trace_text import render as trace_text
from proofs.verdict import Obligation

ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters XML 1.0 has no way to write."""


def render(report: Report) -> str:
    """The whole document, one trailing newline."""
    suites: dict[str, list[Obligation]] = {}
    for obligation in report.outcome.obligations:
        suites.setdefault(obligation.policy, []).append(obligation)
    written = [_suite(report, name, members) for name, members in suites.items()]
    if report.stale:
        written.append(_stale(report))
    root = tag(
        "testsuites", Html("\n"), written, name=clean(f"schedproof: {report.outcome.target}")
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{root}\n'


def clean(text: str) -> str:
    """Text without the characters XML cannot carry."""
    return ILLEGAL.sub("\ufffd", text)


def _suite(report: Report, name: str, obligations: list[Obligation]) -> Html:
    states = [report.state(o) for o in obligations]
    cases = [_case(report, o) for o in obligations]
    return join(
        tag(
            "testsuite",
            Html("\n"),
            (join(case, Html("\n")) for case in cases),
            name=clean(f"schedproof.{name}"),
            tests=len(obligations),
            failures=sum(s in (FAILED, LOST) for s in states),
            errors=states.count(OPEN),
            skipped=states.count(ACCEPTED),
            time=f"{sum(o.statistics.seconds for o in obligations):.3f}",
        ),
        Html("\n"),
    )


def _case(report: Report, obligation: Obligation) -> Html:
    state, line = report.state(obligation), clean(headline(report, obligation))
    trace = clean(trace_text(obligation.trace)) if obligation.trace is not None else line
    inside: list[Html] = []
    if state in (FAILED, LOST):
        inside.append(tag("failure", trace, message=line, type=obligation.verdict))
    elif state == OPEN:
        inside.append(tag("error", line, message=line, type=obligation.verdict))
    elif state == ACCEPTED:
        inside.append(tag("skipped", message=line))
    elif state == KNOWN:
        inside.append(tag("system-out", f"known bug, still caught\n{trace}"))
    return tag(
        "testcase",
        inside,
        name=clean(f"{obligation.invariant} [{obligation.mode}] {obligation.site}".rstrip()),
        classname=clean(f"schedproof.{obligation.policy}"),
        time=f"{obligation.statistics.seconds:.3f}",
    )


def _stale(report: Report) -> Html:
    """Entries of the baseline that no longer apply fail the run, so they fail a test."""
    cases = [
        tag(
            "testcase",
            tag("failure", clean(line), message=clean(line), type="stale"),
            name=clean(f"baseline: {line.split(':')[0]}"),
            classname="schedproof.baseline",
            time="0.000",
        )
        for line in report.stale
    ]
    return tag(
        "testsuite",
        cases,
        name="schedproof.baseline",
        tests=len(cases),
        failures=len(cases),
        errors=0,
        skipped=0,
        time="0.000",
    )
