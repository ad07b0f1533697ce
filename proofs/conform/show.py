"""A difference in words: the configuration, the calls that led there, both sides side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from proofs.conform.compare import Difference, Execution
from proofs.conform.lockstep import Call, Seen
from spec.config import Config

HEADINGS = ("", "model", "engine")


def show(execution: Execution, found: Difference, policy: str, version: str) -> str:
    """The whole story, for a terminal."""
    upto = found.index + 1
    lines = ["configuration: " + configuration(execution.config), ""]
    for call, seen in zip(execution.calls[:upto], execution.seen[:upto], strict=True):
        lines.append(f"  {in_words(call, seen)}")
    lines += ["", f"then the model (policy {policy}) and vLLM {version} differ:", ""]
    lines += table([HEADINGS, *((n, str(m), str(e)) for n, (m, e) in found.values.items())])
    if found.where:
        lines += ["", f"the engine raised at {found.where}"]
    return "\n".join(lines)


def configuration(config: Config) -> str:
    """Every knob that is not at its default, and the mode."""
    default = Config()
    named = [
        f"{field.name} = {getattr(config, field.name)}"
        for field in fields(config)
        if getattr(config, field.name) != getattr(default, field.name)
        and field.name != "async_scheduling"
    ]
    return ", ".join(["async" if config.async_scheduling else "sync", *named])


def in_words(call: Call, seen: Seen) -> str:
    """One call and what the model made of it."""
    name, *arguments = call
    if name == "add":
        request, prompt, most, priority, _ = arguments
        urgency = f", priority {priority}" if priority else ""
        return f"{request} arrives: {prompt} prompt tokens, max_tokens {most}{urgency}"
    if name == "abort":
        return f"{arguments[0]} is aborted"
    if name == "book":
        return f"book: {'; '.join(_booked(*arguments)) or 'nothing sampled'}"
    told = "; ".join(_answers(arguments[0]))
    rows = ", ".join(
        f"{request} {rows} rows {seen.get('drafts', {}).get(request, 0)} drafts"
        for request, rows in seen.get("rows", ())
    )
    made = f"raises {seen['raised']}" if "raised" in seen else rows or "nothing"
    return f"schedule{f' ({told})' if told else ''}: {made}"


def table(rows: list[tuple[str, str, str]]) -> list[str]:
    """Aligned columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    return [f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows]


def _answers(answers: dict[str, dict[str, Any]]) -> Iterator[str]:
    for request, told in answers.items():
        if "loaded" in told:
            yield f"{request} {'loaded' if told['loaded'] else 'still loading'}"
        if told.get("hit"):
            yield f"{request} hits {told['hit']}"
        hit, matched, load_async = told.get("match", (0, 0, False))
        if matched:
            how = "to load" if load_async else "loaded"
            yield f"{request} matches {matched} after {hit}, {how}"


def _booked(samples: dict[str, list[int]], drafts: dict[str, int]) -> Iterator[str]:
    for request, (generated, stop_after) in samples.items():
        stop = f", token {stop_after} stops it" if stop_after else ""
        yield f"{request} gets {generated}{stop}"
    for request, number in drafts.items():
        if number:
            yield f"{request} has {number} drafts"
