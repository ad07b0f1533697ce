"""What became of a recording, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from proofs.recording.check import Checked
from spec.invariants import IDS

MOST_SHOWN = 10


def render(checked: Checked) -> str:
    """The whole report; no trailing newline."""
    return "\n".join(_lines(checked))


def _lines(checked: Checked) -> Iterator[str]:
    header, judged = checked.header, checked.judged
    config = header["config"]
    mode = "async" if config["async_scheduling"] else "sync"
    cached = "on" if header["prefix_caching"] else "off"
    yield (
        f"vLLM {header['engine']}, {header['scheduler']} ({mode}), rank {header['rank']}: "
        f"max_model_len {config['max_model_len']}, K {config['num_spec_tokens']}, "
        f"{config['num_gpu_blocks']} KV blocks of {config['block_size']}, prefix cache {cached}"
    )
    yield ", ".join(f"{count} {what}" for what, count in judged.met.items() if count)
    yield ""
    yield f"{'invariant':<26}{'evaluated':>10}{'applied':>10}{'violated':>10}"
    for name in IDS:
        yield (
            f"{name:<26}{judged.asked[name]:>10}{judged.applied[name]:>10}"
            f"{judged.violated[name]:>10}"
        )
    if judged.waived:
        told = ", ".join(f"{name} {count}" for name, count in sorted(judged.waived.items()))
        yield f"waivers that excused a step: {told}"
    for found in judged.found[:MOST_SHOWN]:
        who = f" for {found.broken.request}" if found.broken.request else ""
        yield f"  record {found.line} breaks {found.broken.invariant}{who}: {found.broken.sentence}"
    left = sum(judged.violated.values()) - MOST_SHOWN
    if left > 0:
        yield f"  and {left} more"
    yield ""
    if checked.policy:
        outcome = checked.unlike or "no difference"
        yield (f"model (policy {checked.policy}): {checked.num_compared} steps compared; {outcome}")
    if checked.why_not:
        yield f"model: not compared: {checked.why_not}"
    broken = sum(judged.violated.values())
    if not checked.is_clean:
        yield f"RECORDING VIOLATES: {broken} violations"
    elif checked.is_whole:
        yield "RECORDING CLEAN"
    else:
        yield f"RECORDING CLEAN, model not compared{' to the end' if checked.policy else ''}"
