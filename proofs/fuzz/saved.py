"""A failure on disk: versioned, bounded, and checked field by field before it is believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from model.policies import POLICIES
from proofs.documents import is_version, read_bounded
from proofs.errors import UsageError
from proofs.fuzz.execution import BY_CATALOGUE, BY_RUNNER, Failure
from proofs.report.files import write_whole
from proofs.scenario import Scenario, ScenarioError
from spec.config import KNOBS
from spec.invariants import IDS

FORMAT = "schedproof-failure"
SCHEMA = 1
LARGEST = 2**20
"""Bytes of the longest file that is read; a shrunk failure has a few thousand."""
MOST_STEPS = 10_000
MOST_TOKENS = 2**16
"""Bound on every number in a file: the runner allocates buffers of these sizes."""
ANSWERS: dict[str, tuple[type, ...]] = {
    "prefix_hit": (int,),
    "connector_match": (int, bool),
    "load_finished": (bool,),
    "sample": (int, int, int),
    "draft": (int,),
}
"""What the world answers → the types of its values."""


def save(failure: Failure, path: Path) -> None:
    """Write a failure, whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    document = {
        "format": FORMAT,
        "schema": SCHEMA,
        "invariant": failure.invariant,
        "seen_by": failure.seen_by,
        "sentence": failure.sentence,
        "scenario": failure.scenario.to_json(),
    }
    write_whole(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def load(path: Path) -> Failure:
    """Read a failure.

    Raises:
        UsageError: it cannot be read, is too long, or holds no failure of this version.
    """
    content = read_bounded(path, LARGEST, "a saved failure")
    try:
        data = json.loads(content)
    except RecursionError:
        raise UsageError(f"{path} is not a saved failure: nested too deep") from None
    except ValueError:
        raise UsageError(
            f"{path} is not a saved failure, or a truncated one: run fuzz again to save it"
        ) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UsageError(f'{path} is not a saved failure: it does not say "format": "{FORMAT}"')
    if not is_version(data.get("schema"), SCHEMA):
        raise UsageError(
            f"{path} is a failure of schema {str(data.get('schema'))[:20]}; this program reads "
            f"{SCHEMA}: run fuzz again to save it"
        )
    try:
        return _failure(data)
    except ScenarioError as error:
        raise UsageError(f"{path} is a damaged failure: {_short(error)}") from None


def _failure(data: dict[str, Any]) -> Failure:
    invariant, seen_by, sentence = (
        data.get("invariant"),
        data.get("seen_by"),
        data.get("sentence"),
    )
    _require(invariant in IDS, f"unknown invariant {invariant!r}")
    _require(seen_by in (BY_CATALOGUE, BY_RUNNER), f"unknown observer {seen_by!r}")
    _require(isinstance(sentence, str), "sentence is not text")
    raw = data.get("scenario")
    _require(isinstance(raw, dict), "scenario is not an object")
    _check_arrivals(raw)
    scenario = Scenario.from_json(raw)
    _check(scenario)
    return Failure(str(invariant), str(seen_by), str(sentence), scenario)


def _check_arrivals(raw: Any) -> None:
    """Types of what ``Scenario.from_json`` passes on as it is."""
    numbers = ("step", "num_prompt_tokens", "max_tokens", "priority", "rank")
    _require(isinstance(raw.get("arrivals"), list), "arrivals is not a list")
    for arrival in raw["arrivals"]:
        _require(isinstance(arrival, dict), "an arrival is not an object")
        _require(isinstance(arrival.get("request_id"), str), "a request_id is not text")
        for name in numbers:
            _require(_is_number(arrival.get(name)), f"an arrival's {name} is not a number in range")
    _require(_is_number(raw.get("num_steps")), "num_steps is not a number in range")
    _require(isinstance(raw.get("aborts"), list), "aborts is not a list")
    for abort in raw["aborts"]:
        sound = isinstance(abort, list) and len(abort) == 2 and _is_number(abort[0])
        _require(sound and isinstance(abort[1], str), f"{abort!r} is no abort")


def _check(scenario: Scenario) -> None:
    """Bounds, names, and the shape of every answer."""
    _require(scenario.policy in POLICIES, f"unknown policy {scenario.policy!r}")
    _require(0 < scenario.num_steps <= MOST_STEPS, f"num_steps is not 1 to {MOST_STEPS}")
    for knob in KNOBS:
        value = getattr(scenario.config, knob.name)
        _require(value <= MOST_TOKENS, f"{knob.name} = {value} is larger than {MOST_TOKENS}")
    slots = scenario.config.max_num_seqs * scenario.config.max_model_len
    _require(slots <= 64 * MOST_TOKENS, "max_num_seqs * max_model_len is too large to replay")
    ranks = len(scenario.answers)
    _require(1 <= ranks <= 64, "answers are not those of 1 to 64 ranks")
    names = [arrival.request_id for arrival in scenario.arrivals]
    _require(len(set(names)) == len(names), "two requests have the same request_id")
    when = [arrival.step for arrival in scenario.arrivals]
    _require(when == sorted(when), "the arrivals are not in order")
    _require(max(when, default=0) < scenario.num_steps, "an arrival after the last step")
    arrived = dict(zip(names, when, strict=True))
    for step, name in scenario.aborts:
        _require(name in arrived, f"an abort of an unknown request {name!r}")
        _require(arrived[name] <= step < scenario.num_steps, f"an abort of {name!r} out of time")
    for arrival in scenario.arrivals:
        room = scenario.config.max_model_len - 1
        _require(1 <= arrival.num_prompt_tokens <= room, "an illegal number of prompt tokens")
        _require(arrival.max_tokens >= 1, "an illegal max_tokens")
        _require(0 <= arrival.rank < ranks, "an arrival on a rank without answers")
    for answer in (answer for rank in scenario.answers for answer in rank):
        sound = isinstance(answer, tuple) and len(answer) > 0 and isinstance(answer[0], str)
        _require(sound, f"{answer!r} is no answer")
        kind, *values = answer
        _require(ANSWERS.get(kind) == tuple(map(type, values)), f"{answer!r} is no answer")
        for value in values:
            _require(0 <= value <= MOST_TOKENS, f"{answer!r} is no answer")


def _is_number(value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and 0 <= value <= MOST_TOKENS


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise ScenarioError(problem)


def _short(error: ScenarioError) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 160 else text[:157] + "..."
