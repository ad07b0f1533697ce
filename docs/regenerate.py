"""Writes everything in ``docs/examples`` and, if asked, the pictures.

    python docs/regenerate.py                render the saved counterexamples again, and check the
                                             releases with the same bugs (needs a package index)
    python docs/regenerate.py --find         let the prover find them again first (a minute)
    python docs/regenerate.py --simulation   also run the simulation (seconds)
    python docs/regenerate.py --pictures     also take the pictures (needs chromium; minutes)

Tests compare what is committed with what the first and the third form write.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import browser  # noqa: E402
from rich.console import Console  # noqa: E402

from model.policies import POLICIES  # noqa: E402
from proofs import campaign, simulate  # noqa: E402
from proofs.campaign import Outcome  # noqa: E402
from proofs.check import Task, check  # noqa: E402
from proofs.commands.trace import FORMATS as TRACE_FORMATS  # noqa: E402
from proofs.replay import replay  # noqa: E402
from proofs.report import github, outputs, terminal, trace_file, verdicts_text  # noqa: E402
from proofs.report.from_source import outcome_of  # noqa: E402
from proofs.report.run import Report  # noqa: E402
from proofs.scenario import Scenario  # noqa: E402
from proofs.source.check import check_source  # noqa: E402
from proofs.source.fetch import fetch_release  # noqa: E402
from proofs.trace import Trace  # noqa: E402
from proofs.verdict import SCOPE, VIOLATED, Obligation, Statistics  # noqa: E402
from spec.invariants import IDS  # noqa: E402

EXAMPLES = HERE / "examples"
PICTURES = HERE / "pictures"
SIMULATION = HERE / "simulation.md"
SAVED = "trace.json"
SECONDS = 600.0
PATHS = 20_000


@dataclass(frozen=True, slots=True)
class Example:
    """A bug the world knows: the pull request that mends it, and how to find it."""

    name: str
    policy: str
    invariant: str
    mode: str


KNOWN = (
    Example("53962", "45237", "positive-schedule", "async"),
    Example("55126", "53962", "uniform-decode", "sync"),
    Example("54028", "55126", "no-reachable-assert", "sync"),
)


@dataclass(frozen=True, slots=True)
class OnRelease:
    """The same bug in the text of a release; its examples quote none of it."""

    name: str
    version: str
    invariant: str
    mode: str


ON_RELEASES = (
    OnRelease("53962-on-0.25.0", "0.25.0", "within-model-len", "async"),
    OnRelease("55126-on-0.29.0", "0.29.0", "uniform-decode", "sync"),
    OnRelease("54028-on-0.33.0", "0.33.0", "no-reachable-assert", "sync"),
)
SUFFIXES = {
    "text": "trace.txt",
    "markdown": "trace.md",
    "html": "trace.html",
    "json": SAVED,
    "itf": "trace.itf.json",
}
RUN_SUFFIXES = {
    "text": "check.txt",
    "json": "check.json",
    "markdown": "check.md",
    "junit": "check.junit.xml",
    "sarif": "check.sarif",
}


def documents(example: Example, trace: Trace) -> dict[str, str]:
    """File name → text, for one counterexample in every format."""
    obligation = Obligation(
        example.invariant,
        example.policy,
        example.mode,
        VIOLATED,
        SCOPE.format(mode=example.mode),
        trace=trace,
    )
    return _written(f"policy {example.policy}", obligation, trace)


def documents_of_release(example: OnRelease) -> dict[str, str]:
    """File name → text, for the counterexample that a release's text has now."""
    texts, version, mode = fetch_release(example.version).texts, example.version, example.mode
    name = f"vLLM {version}"
    report = check_source(texts, name, version, modes=(mode,), reach_paths=PATHS)
    for obligation in outcome_of(report, (), f"--vllm {version}").obligations:
        if obligation.invariant == example.invariant and obligation.trace is not None:
            timeless = replace(obligation, statistics=Statistics(), work=Statistics())
            return _written(name, timeless, obligation.trace)
    raise SystemExit(f"{example.name}: no counterexample")


def _written(target: str, obligation: Obligation, trace: Trace) -> dict[str, str]:
    written = {SUFFIXES[name]: render(trace) for name, render in TRACE_FORMATS.items()}
    report = Report(Outcome(target, (obligation,), 0.0))
    for name, render_run in outputs.FORMATS.items():
        written[RUN_SUFFIXES[name]] = render_run(report, False)
    written["annotations.txt"] = "\n".join(github.workflow_commands(report)) + "\n"
    return written


def saved(example: Example) -> Trace:
    """The committed counterexample, replayed on the model as it is now."""
    scenario = trace_file.load(EXAMPLES / example.name / SAVED).scenario
    return replay(Scenario.from_json(scenario), example.invariant)


def found(example: Example) -> Trace:
    """The counterexample as the prover finds it now."""
    task = Task(POLICIES[example.policy], example.mode, frozenset({example.invariant}))
    (obligation,) = check(task, {})
    if obligation.trace is None:
        raise SystemExit(f"{example.name}: {example.invariant} is {obligation.verdict}")
    return obligation.trace


def picture_of_check() -> None:
    """The main command as a terminal shows it: the table, and one counterexample."""
    policies = list(POLICIES.values())
    deadline = time.time() + SECONDS
    jobs = campaign.default_jobs()
    whole = campaign.run("policy 54028 and all known bugs", policies, IDS, deadline, jobs, _quiet)
    _record("python -m proofs check", Report(whole), PICTURES / "check.svg")
    one = campaign.run(
        "policy 55126",
        [POLICIES["55126"]],
        ["no-reachable-assert"],
        deadline,
        jobs,
        _quiet,
    ).unexpecting()
    command = "python -m proofs check --policy 55126 --only no-reachable-assert"
    _record(command, Report(one), PICTURES / "counterexample.svg")


def _quiet(what: str, done: int, total: int) -> None:
    """No progress in a picture."""


def _record(command: str, report: Report, to: Path, width: int = 110) -> None:
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(f"[bold]$[/] {command}", highlight=False)
    for line in terminal.styled(terminal.wrap(verdicts_text.render(report, False, width), width)):
        console.print(line)
    picture = console.export_svg(title="schedproof", unique_id="schedproof")
    # The font would come from the network; every system has a monospaced one.
    to.write_text(re.sub(r"@font-face \{.*?\}", "", picture, flags=re.S), encoding="utf-8")


def picture_of_trace() -> None:
    """The HTML trace in light, in dark and on a phone."""
    chromium = browser.find()
    if chromium is None:
        raise SystemExit("no chromium here: apt-get install chromium, or set CHROMIUM")
    with browser.Browser(chromium) as page:
        page.open(EXAMPLES / "53962" / "trace.html")
        for name, width, height, scheme in (
            ("trace-light", 1000, 1250, "light"),
            ("trace-dark", 1000, 1250, "dark"),
            ("trace-phone", 390, 1250, "light"),
        ):
            page.view(width, height, scheme)
            page.press("b")
            page.screenshot(PICTURES / f"{name}.png")


def simulation() -> dict[Path, str]:
    """The default simulation: its page and its plot."""
    settings = simulate.Settings()
    points = simulate.sweep(settings, Console(stderr=True, quiet=True))
    title, caption = simulate.headline(settings)
    lines = [f"**{title}** ({caption})", "", "| " + " | ".join(simulate.HEADINGS) + " |"]
    lines.append("|" + " ---: |" * len(simulate.HEADINGS))
    lines += ["| " + " | ".join(row) + " |" for row in simulate.cells(settings, points)]
    page = SIMULATION.read_text(encoding="utf-8")
    table = "\n".join(["<!-- table -->", *lines, "<!-- /table -->"])
    told = re.sub(r"<!-- table -->.*<!-- /table -->", lambda _: table, page, flags=re.S)
    return {SIMULATION: told, PICTURES / "simulate.svg": simulate.plot(settings, points)}


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description="Regenerate docs/examples and the pictures.")
    parser.add_argument("--find", action="store_true", help="let the prover find them again")
    parser.add_argument("--simulation", action="store_true", help="also run the simulation")
    parser.add_argument("--pictures", action="store_true", help="also take the pictures")
    arguments = parser.parse_args()
    for example in KNOWN:
        trace = found(example) if arguments.find else saved(example)
        _write(example.name, documents(example, trace))
        print(f"{example.name}: {trace.violation.sentence}")
    for released in ON_RELEASES:
        _write(released.name, documents_of_release(released))
        print(released.name)
    if arguments.simulation:
        for path, text in simulation().items():
            path.write_text(text, encoding="utf-8")
    if arguments.pictures:
        PICTURES.mkdir(exist_ok=True)
        picture_of_trace()
        picture_of_check()


def _write(name: str, texts: dict[str, str]) -> None:
    folder = EXAMPLES / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
