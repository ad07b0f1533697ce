"""JUnit, SARIF, Markdown and GitHub's commands: valid, complete, and nothing escapes."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
import xmlschema
from report_samples import FILE, HOSTILE, SCHEMAS, report, saved, sourced

from proofs.campaign import Outcome
from proofs.report import github, junit, sarif, verdicts_markdown, verdicts_text
from proofs.report.run import Report
from proofs.verdict import PROVED, UNDECIDED, VIOLATED, Obligation

CODE = r"(?<![\\`])(`+)(?!`).*?(?<!`)\1(?!`)"
"""A code span of Markdown."""

HOSTILE_RUN = Report(
    Outcome(
        HOSTILE,
        (
            Obligation(
                "uniform-decode", HOSTILE + "\x00\x1b\ud800", "sync", VIOLATED, "",
                trace=sourced(HOSTILE, HOSTILE),
            ),
            Obligation("progress", HOSTILE, "sync", UNDECIDED, "", reason=f"{HOSTILE}\n::error::y"),
        ),
        0.0,
    )
)  # fmt: skip


def _accepting(*verdicts: str) -> Report:
    run = report(*verdicts)
    accepted = {(FILE, "uniform-decode", "sync"): "we accept it"}
    return replace(run, accepted=accepted, stale=("progress (x): proved now; remove the entry",))


RUNS = [report(), report(PROVED), _accepting(PROVED, VIOLATED), HOSTILE_RUN]


@pytest.mark.parametrize("run", RUNS)
def test_junit_is_valid_and_has_one_case_per_obligation(run: Report) -> None:
    text = junit.render(run)
    xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate(ElementTree.fromstring(text))
    cases = ElementTree.fromstring(text).findall(".//testcase")
    assert len(cases) == len(run.outcome.obligations) + len(run.stale)


def test_junit_tells_violated_from_undecided() -> None:
    root = ElementTree.fromstring(junit.render(report()))
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    failure, error = root.find(".//failure"), root.find(".//error")
    assert failure is not None and "n = 2 != 4 = 1 + 3" in str(failure.text)
    assert error is not None and "time is up" in str(error.get("message"))


def test_junit_skips_what_is_accepted_and_fails_what_is_stale() -> None:
    root = ElementTree.fromstring(junit.render(_accepting(PROVED, VIOLATED)))
    skipped, failure = root.find(".//skipped"), root.find(".//failure")
    assert skipped is not None and "we accept it" in str(skipped.get("message"))
    assert failure is not None and failure.get("type") == "stale"


@pytest.mark.parametrize("run", RUNS)
def test_sarif_is_valid_against_its_schema(run: Report) -> None:
    schema = json.loads((SCHEMAS / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
    checker = jsonschema.Draft4Validator.FORMAT_CHECKER
    text = sarif.render(run).encode(errors="backslashreplace")
    jsonschema.Draft4Validator(schema, format_checker=checker).validate(json.loads(text))


def test_sarif_points_at_the_line_of_the_source() -> None:
    (run,) = sarif.document(report())["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == FILE
    assert place["region"]["startLine"] == 9
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [stop["location"]["message"]["text"][:12] for stop in flow[:2]] == [
        "branch taken",
        "branch not t",
    ]
    assert "breaks here" in flow[-2]["location"]["message"]["text"]


def test_sarif_says_undecided_without_calling_it_a_result() -> None:
    (run,) = sarif.document(report(UNDECIDED))["runs"]
    assert run["results"] == []
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "time is up" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_sarif_suppresses_what_a_baseline_accepts() -> None:
    (run,) = sarif.document(_accepting(PROVED, VIOLATED))["runs"]
    (result,) = run["results"]
    assert result["suppressions"] == [{"kind": "external", "justification": "we accept it"}]


def test_a_violation_of_the_model_is_located_at_its_policy() -> None:
    obligation = Obligation(
        "positive-schedule", "45237", "async", VIOLATED, "", trace=saved("53962")
    )
    (run,) = sarif.document(Report(Outcome("policy", (obligation,), 0.0)))["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    file = Path(__file__).resolve().parents[3] / place["artifactLocation"]["uri"]
    line = file.read_text(encoding="utf-8").splitlines()[place["region"]["startLine"] - 1]
    assert line.startswith("PR_45237 =")


def test_annotations_are_one_line_each_whatever_they_say() -> None:
    lines = github.workflow_commands(HOSTILE_RUN)
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning"]
    assert not [line for line in lines if "\n" in line or "\r" in line]
    properties = lines[0].split("::")[1]
    assert properties.count("file=") == 1 and "line=9" in properties


def test_the_step_summary_is_appended(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("before\n", encoding="utf-8")
    assert github.write_summary(report(), {"GITHUB_STEP_SUMMARY": str(file)}) == ""
    text = file.read_text(encoding="utf-8")
    assert text.startswith("before\n## ❌ Verification failed")
    assert "| progress | ok |" in text
    assert "n = 2 != 4 = 1 + 3" in text


def test_a_summary_that_cannot_be_written_is_told_and_no_more(tmp_path: Path) -> None:
    told = github.write_summary(report(), {"GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert told.startswith("cannot write the step summary") and "\n" not in told
    assert github.write_summary(report(), {}) == ""


def test_markdown_stays_within_a_comment() -> None:
    many = tuple(
        replace(o, policy=f"{FILE} {i}")
        for i in range(40)
        for o in report(VIOLATED).outcome.obligations
    )
    text = verdicts_markdown.render(Report(Outcome("many", many, 0.0)))
    assert len(text) < 65_536
    text = re.sub(r"(?ms)^(`{3,})sh$.*?^\1$", "", verdicts_markdown.render(HOSTILE_RUN))
    outside = re.sub(CODE, "", text)
    assert "<script>" not in outside.replace("\\<script\\>", "")


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        (report(PROVED), "VERIFICATION SUCCESSFUL"),
        (report(PROVED, UNDECIDED), "UNDECIDED"),
        (report(), "VERIFICATION FAILED"),
        (_accepting(PROVED, VIOLATED), "VERIFICATION FAILED"),
        (replace(_accepting(PROVED, VIOLATED), stale=()), "VERIFICATION SUCCESSFUL"),
    ],
)
def test_the_verdict_counts_what_is_accepted_and_what_is_stale(run: Report, verdict: str) -> None:
    assert verdicts_text.summary(run).startswith(verdict)


def test_a_wide_table_is_cut_into_columns_that_fit() -> None:
    many = tuple(
        replace(report(PROVED).outcome.obligations[0], policy=f"policy-{i}") for i in range(12)
    )
    lines = verdicts_text.policy_table(many, 60)
    assert max(map(len, lines)) <= 60
    assert sum("ok" in line for line in lines) > 1
    assert len(verdicts_text.policy_table(many)) == 2
