"""The verbs of ``trace`` that have to do with a real engine: record, check, write a test."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from proofs.conform.engine import VARIABLE, find
from proofs.conform.releases import release_of
from proofs.documents import open_ordinary
from proofs.errors import EXIT_PROVED, EXIT_UNDECIDED, EXIT_VIOLATED, UsageError
from proofs.recorder.exercise import DEFAULTS
from proofs.recorder.lines import END, FORMAT
from proofs.recorder.settings import ACTS
from proofs.recording.check import check
from proofs.recording.emit import emit
from proofs.recording.exercise import Died, exercise
from proofs.recording.script import from_recording, from_trace
from proofs.report import outputs, recording_text, terminal, trace_file
from proofs.report.files import write_whole

DEFAULT_STEPS = 500
MOST_STEPS = 10**6
LEAST_BLOCKS = 4
"""One request of the tiny engine's max_model_len, and the block that stands for none."""


def add_verbs(verbs: Any) -> None:
    """Each verb with its arguments and what it does."""
    record = verbs.add_parser(
        "record",
        help="run a tiny real engine and record its steps",
        description="Run a whole engine with a tiny model on the CPU under traffic that looks for "
        "trouble, and record every step of its scheduler.",
        epilog="Exit status: 0 recorded, 2 bad input or no such engine, 3 the engine died: what it "
        "did until then is recorded.",
    )
    record.add_argument("--vllm", metavar="VERSION", required=True, help="the release")
    record.add_argument("--python", metavar="PATH", help=f"its interpreter (default: ${VARIABLE})")
    record.add_argument(
        "--unpacked", metavar="DIR", type=Path, help="an unpacked wheel, first on its import path"
    )
    record.add_argument("--output", metavar="FILE", type=Path, required=True)
    record.add_argument("--async", dest="asynchronous", action="store_true")
    record.add_argument("--priority", action="store_true", help="priority scheduling")
    record.add_argument("--steps", metavar="N", type=int, default=DEFAULT_STEPS)
    record.add_argument("--seed", metavar="X", type=int, default=0)
    record.add_argument(
        "--threshold",
        metavar="N",
        type=int,
        default=0,
        help="long_prefill_token_threshold; 0 is off (default)",
    )
    record.add_argument(
        "--blocks",
        metavar="N",
        type=int,
        default=DEFAULTS["num_gpu_blocks"],
        help="KV blocks; 4 sequences need 12 (default: %(default)s, of which one stands for none)",
    )
    record.add_argument("--monitor", choices=ACTS, help="also check every invariant live")
    record.set_defaults(act=_record)

    checking = verbs.add_parser(
        "check",
        help="hold a recording against every invariant and the model",
        description="Check a recording of a real engine: every invariant on every step, and the "
        "model of its release beside it.",
        epilog="Exit status: 0 clean, 1 a broken promise or a difference, 2 bad input, 3 clean as "
        "far as it goes, but the model was not compared, or not to the end.",
    )
    checking.add_argument("file", metavar="FILE", type=Path, help="as written by the recorder")
    checking.add_argument(
        "--partial", action="store_true", help="take a recording that a killed engine left"
    )
    checking.set_defaults(act=_check)

    emitting = verbs.add_parser(
        "emit-test",
        help="write a regression test for the engine's own test tree",
        description="Write a self-contained pytest that drives the engine's real scheduler into "
        "the broken promise of a saved trace, or into the first one of a recording.",
        epilog="The test needs vLLM and pytest only.",
    )
    emitting.add_argument("file", metavar="FILE", type=Path, help="a trace or a recording")
    emitting.add_argument("--vllm", metavar="VERSION", help="a release the test should fail on")
    emitting.add_argument("--output", metavar="FILE", type=Path, help="write there, not to stdout")
    emitting.add_argument(
        "--partial", action="store_true", help="take a recording that a killed engine left"
    )
    emitting.set_defaults(act=_emit)


def _record(arguments: argparse.Namespace) -> int:
    release_of(arguments.vllm)
    if not 1 <= arguments.steps <= MOST_STEPS:
        raise UsageError(f"--steps {arguments.steps} is illegal; legal: 1 to {MOST_STEPS}")
    if arguments.blocks < LEAST_BLOCKS:
        raise UsageError(f"--blocks {arguments.blocks} is illegal; legal: {LEAST_BLOCKS} or more")
    if arguments.threshold < 0:
        raise UsageError(f"--threshold {arguments.threshold} is illegal; legal: 0 or more")
    outputs.writable(arguments.output)
    installation = find(arguments.python, arguments.unpacked)
    told = {
        "steps": arguments.steps,
        "seed": arguments.seed,
        "async": arguments.asynchronous,
        "priority": arguments.priority,
        "num_gpu_blocks": arguments.blocks,
        "long_prefill_token_threshold": arguments.threshold,
    }
    try:
        done, recording, said = exercise(installation, arguments.vllm, told, arguments.monitor)
    except Died as error:
        raise UsageError(f"the engine cannot run: {error}") from None
    write_whole(arguments.output, recording)
    for line in said:
        print(line, file=sys.stderr)
    print(json.dumps(done))
    if done["died"]:
        whole = f'"kind":"{END}"' in recording[recording.rstrip().rfind("\n") + 1 :]
        check_it = f"trace check {'' if whole else '--partial '}{arguments.output}"
        died = f"the engine died: {done['died'].rstrip(': ')}; what it did until then is recorded"
        raise UsageError(f"{died}: {check_it}", EXIT_UNDECIDED)
    return EXIT_PROVED


def _emit(arguments: argparse.Namespace) -> int:
    release = release_of(arguments.vllm) if arguments.vllm else None
    if _is_recording(arguments.file):
        script = from_recording(arguments.file, arguments.partial)
    else:
        script = from_trace(trace_file.load(arguments.file), release)
    text = emit(script)
    if arguments.output is not None:
        outputs.writable(arguments.output)
        write_whole(arguments.output, text)
    else:
        terminal.write(text)
    return EXIT_PROVED


def _is_recording(path: Path) -> bool:
    """A recording's first line says so; a saved trace is one document."""
    try:
        with open_ordinary(path) as file:
            return FORMAT.encode() in file.readline(4096)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def _check(arguments: argparse.Namespace) -> int:
    checked = check(arguments.file, arguments.partial)
    terminal.show(recording_text.render(checked) + "\n")
    if not checked.is_clean:
        return EXIT_VIOLATED
    return EXIT_PROVED if checked.is_whole else EXIT_UNDECIDED
