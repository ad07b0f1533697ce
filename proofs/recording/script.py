"""The calls that lead to a broken promise: from a saved counterexample, or out of a recording."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from model.policies import POLICIES
from model.scheduler import Scheduler
from proofs.conform.findings import played, settable
from proofs.conform.lockstep import Call
from proofs.conform.releases import RELEASES, Release
from proofs.errors import UsageError
from proofs.recorder import lines
from proofs.recorder.known import LOADING, STOPPED, Story
from proofs.recording.catalogue import Catalogue
from proofs.recording.reading import read
from proofs.replay import NotReproduced, replay
from proofs.scenario import Scenario, ScenarioError
from proofs.trace import Trace
from spec.config import Config


@dataclass(frozen=True, slots=True)
class Script:
    """What to do with a scheduler, and what it then breaks."""

    invariant: str
    request: str
    config: Config
    calls: tuple[Call, ...]
    origin: str
    """Where it comes from, in words."""


def from_trace(trace: Trace, release: Release | None) -> Script:
    """From a counterexample of the model.

    Args:
        trace: as saved by ``check``.
        release: one it should break, whose knobs then count; None: the newest of its policy.

    Raises:
        UsageError: it holds no execution of the model, or none a release can be set to.
    """
    if trace.scenario is None:
        raise UsageError("the trace holds no execution of the model; save one with check --policy")
    try:
        scenario = Scenario.from_json(trace.scenario)
    except ScenarioError as error:
        raise UsageError(f"the trace holds {error}") from None
    if scenario.policy not in POLICIES:
        raise UsageError(f"the trace is of an unknown policy {scenario.policy[:40]!r}")
    target = release or _newest(scenario.policy)
    for settled in settable(target, scenario):
        try:
            shown = replay(settled, trace.invariant)
        except NotReproduced:
            continue
        rank = next(step.rank for step in shown.steps if step.violated is not None)
        execution = played(target, settled, rank)
        return Script(
            trace.invariant,
            shown.violation.request,
            settled.config,
            execution.calls,
            f"a counterexample of padding policy {scenario.policy}",
        )
    raise UsageError(f"the execution breaks nothing with the knobs of 0.{target.minor}")


def from_recording(path: Path, partial: bool) -> Script:
    """From the first violation in a recording, beginning where the engine was last idle.

    Raises:
        UsageError: it cannot be read, breaks nothing, or was never idle before.
    """
    given = read(path, partial)
    header = next(given)
    catalogue, kept, idle = Catalogue(header), list[tuple[lines.Line, dict[int, int]]](), True
    story: Story = catalogue.facts.story
    for line in given:
        if idle or line["kind"] == lines.SNAPSHOT:
            kept.clear()
            idle = False
        outputs = {n: known.num_output_tokens for n, known in story.requests.items()}
        kept.append((line, outputs))
        catalogue.take(line)
        if catalogue.judged.found:
            broken = catalogue.judged.found[0].broken
            if any(line["kind"] == lines.SNAPSHOT for line, _ in kept):
                raise UsageError(f"{path}: the engine was never idle before the violation")
            where = f"vLLM {header['engine']}, record {line['n']} of a recording"
            config = Config.checked(**header["config"])
            return Script(broken.invariant, broken.request, config, tuple(_calls(kept)), where)
        idle = all(known.is_finished for known in story.requests.values()) and not story.in_flight
    raise UsageError(f"{path} breaks no promise: there is nothing to write a test for")


def _newest(policy: str) -> Release:
    for release in sorted(RELEASES.values(), key=lambda release: -release.minor):
        if release.policy.name == policy:
            return release
    return replace(RELEASES[max(RELEASES)], policy=POLICIES[policy], scheduler=Scheduler)


def _calls(kept: list[tuple[lines.Line, dict[int, int]]]) -> Iterator[Call]:
    for index, (line, outputs) in enumerate(kept):
        kind = line["kind"]
        if kind == lines.ADD:
            number, prompt, most, priority, arrival = line["request"]
            yield ["add", f"r{number}", prompt, most, priority, arrival]
        elif kind == lines.FINISH:
            for state in line["state"]:
                yield ["abort", f"r{state[0]}"]
        elif kind in (lines.SCHEDULE, lines.RAISED):
            yield ["schedule", _answers(line)]
        elif kind == lines.BOOK:
            stop = {s[0]: s[2] - outputs[s[0]] for s in line["state"] if s[1] == STOPPED}
            samples = {f"r{n}": [count, stop.get(n, 0)] for n, count in line["samples"]}
            after = kept[index + 1][0] if index + 1 < len(kept) else line
            drafts = dict(after["drafts"]) if after["kind"] == lines.DRAFT else {}
            yield ["book", samples, {f"r{n}": count for n, count in drafts.items()}]


def _answers(line: lines.Line) -> dict[str, dict[str, Any]]:
    answers: dict[str, dict[str, Any]] = {}
    for what, number, *told in line["asked"]:
        answer = answers.setdefault(f"r{number}", {})
        if what == "hit" and told[0]:
            answer["hit"] = told[0]
        elif what == "match" and told[1] > 0:
            answer["match"] = [answer.get("hit", 0), told[1], bool(told[2])]
    for state in line.get("state", ()):
        if state[1] != LOADING and f"r{state[0]}" not in answers and state[0] in _admitted(line):
            answers[f"r{state[0]}"] = {"loaded": True}
    return {name: answer for name, answer in answers.items() if answer}


def _admitted(line: lines.Line) -> set[int]:
    """Requests that got slots without looking into a cache: their KV had been loaded."""
    looked = {ask[1] for ask in line["asked"] if ask[0] == "hit"}
    return {
        ask[1] for ask in line["asked"] if ask[0] == "slots" and ask[6] and ask[1] not in looked
    }
