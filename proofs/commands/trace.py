"""``trace``: what to do with a saved counterexample, or with a recording of a real engine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from proofs.commands import trace_engine
from proofs.report import (
    outputs,
    terminal,
    trace_file,
    trace_html,
    trace_itf,
    trace_markdown,
    trace_text,
)
from proofs.report.files import write_whole
from proofs.trace import Trace

FORMATS: dict[str, Callable[[Trace], str]] = {
    "text": lambda trace: trace_text.render(trace) + "\n",
    "markdown": lambda trace: trace_markdown.render(trace) + "\n",
    "html": trace_html.render,
    "json": trace_file.dumps,
    "itf": trace_itf.render,
}
EXAMPLES = (
    "examples:\n"
    "  python -m proofs check --policy 55126 --save-traces traces\n"
    "  python -m proofs trace show traces/55126-no-reachable-assert-sync.trace.json\n"
    "  python -m proofs trace show FILE --format html --output trace.html\n"
    "  python -m proofs trace record --vllm 0.32.0 --python engine/bin/python --output run.jsonl\n"
    "  python -m proofs trace check run.jsonl"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One verb each; more of them join here."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    show = verbs.add_parser(
        "show",
        help="show a saved trace",
        description="Show a saved trace for a terminal, a pull request, a browser or a program.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    show.add_argument("file", metavar="FILE", type=Path, help="as saved by check --save-traces")
    show.add_argument("--format", choices=tuple(FORMATS), default="text")
    show.add_argument("--output", metavar="FILE", type=Path, help="write there, not to stdout")
    show.set_defaults(act=_show)
    trace_engine.add_verbs(verbs)


def run(arguments: argparse.Namespace) -> int:
    """Do what the verb says."""
    status: int = arguments.act(arguments)
    return status


def _show(arguments: argparse.Namespace) -> int:
    trace = trace_file.load(arguments.file)
    if arguments.format == "text" and arguments.output is None:
        terminal.show(trace_text.render(trace, terminal.width_of(sys.stdout)) + "\n")
        return 0
    text = FORMATS[arguments.format](trace)
    if arguments.output is not None:
        outputs.writable(arguments.output)
        write_whole(arguments.output, text)
    else:
        terminal.write(text)
    return 0
