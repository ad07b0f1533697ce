"""Breaks model and specification on purpose, one guard at a time, and expects it to be noticed.

    python tests/proofs/mutants.py          every mutant: an hour of one busy core
    python tests/proofs/mutants.py --list     what would be changed

``mutation`` says what is changed.  A mutant of the model is *killed* when some obligation is no longer proved.  A mutant
of a record or of a promise may make the check weaker, which no prover can tell: it is also killed
when an execution that breaks a promise is no longer told as one, or when a unit test fails.
Survivors are listed; those in ``EQUIVALENT`` are changes that cannot be seen, each with the reason.
"""

# ruff: noqa: E501  (names of mutants are quoted code)
from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Collection, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[2])]

import pytest  # noqa: E402
from editing import compiled  # noqa: E402
from mutation import ROOT, SWAPPED, SWAPPED_CALLS, Mutant, mutants  # noqa: E402

from model.policies import POLICIES, RECOMMENDED  # noqa: E402
from proofs.bodies import BODIES as EVERY_BODY  # noqa: E402
from proofs.check import Task, check  # noqa: E402
from proofs.clauses import SERVES  # noqa: E402
from proofs.induction import Cache, Results, explore, prove  # noqa: E402
from proofs.replay import NotReproduced, replay  # noqa: E402
from proofs.scenario import Scenario  # noqa: E402
from proofs.symbolic import Limits  # noqa: E402
from proofs.trace import Trace  # noqa: E402
from proofs.verdict import MODES, PROVED  # noqa: E402
from spec.invariants import IDS  # noqa: E402

TESTS = (
    "tests/spec",
    "tests/model/test_scheduler.py",
    "tests/model/test_output.py",
    "tests/model/test_records.py",
    "tests/model/test_dp.py",
)
"""What is asked about a mutant of ``RECORDS``."""

BODIES = (
    "places",
    "engine-runs",
    "whole-passes",
    "first-decision",
    "arrival",
    "preemption",
    "abort",
    "output",
    "running-pass",
    "waiting-pass",
)
"""Cheapest first: most mutants die early."""
assert set(BODIES) == set(EVERY_BODY), "a body is missing in BODIES"


def bodies_by_function() -> tuple[dict[str, set[str]], Results]:
    """Code name → the bodies that run it, found by running them; and what they prove unmutated."""
    callers: dict[str, set[str]] = {}
    cache = Cache()
    for body in BODIES:
        seen: set[str] = set()

        def note(frame: FrameType, event: str, _: Any, seen: set[str] = seen) -> None:
            if event == "call":
                seen.add(frame.f_code.co_qualname)

        for mode in MODES:
            sys.setprofile(note)
            try:
                explore(body, RECOMMENDED, mode, frozenset(SERVES), Limits(), cache)
            finally:
                sys.setprofile(None)
        for name in seen:
            callers.setdefault(name, set()).add(body)
    return callers, cache.results


LONGEST = 300
"""Seconds after which a mutant is said to have no end."""


def _no_end(*_: object) -> None:
    raise TimeoutError("no end: it goes round in circles")


def broken_executions() -> list[Trace]:
    """An execution for each cell of the table of known bugs, as it is told unmutated."""
    cache = Cache()
    tasks = [Task(policy, mode) for mode in MODES for policy in POLICIES.values()]
    traces = [obligation.trace for task in tasks for obligation in check(task, cache)]
    return [trace for trace in traces if trace is not None]


def fate(
    mutant: Mutant, bodies: Collection[str], proved: Results, executions: Sequence[Trace]
) -> str:
    """What is said of one mutant: the first thing that is not as it was, or ``survived``.

    Runs in a process of its own: the function is changed in place.

    Args:
        mutant: the change.
        bodies: those that run the changed function.
        proved: what the other bodies prove is still true.
        executions: what a mutant of a record or of a promise must still tell as a breach.
    """
    # Again every second: a run of the model takes the first for an exception of its own.
    signal.setitimer(signal.ITIMER_REAL, LONGEST, 1.0)
    try:
        original = vars(import_module(mutant.module))[mutant.function.split(".")[0]]
        for part in mutant.function.split(".")[1:]:
            original = vars(original)[part]
        mutated = dict(vars(import_module(mutant.module)))
        exec(compiled(mutant.source, mutant.name), mutated)
        changed = mutated[mutant.function.split(".")[0]]
        for part in mutant.function.split(".")[1:]:
            changed = vars(changed)[part]
        for name in SWAPPED_CALLS:
            original.__globals__[SWAPPED + name] = vars(import_module("spec.logic"))[name]
        original.__code__, original.__defaults__ = changed.__code__, changed.__defaults__
        if mutant.is_of_record:
            told = _told_otherwise(executions) or _failing_test()
            if told:
                return told
        cache = Cache({key: known for key, known in proved.items() if key[0] not in bodies})
        return _first_failure([body for body in BODIES if body in bodies], cache) or "survived"
    except Exception as error:
        return f"crashed: {type(error).__name__}: {error}"


def _fate(work: tuple[Mutant, Collection[str], Results, Sequence[Trace]]) -> str:
    return fate(*work)


def _told_otherwise(executions: Sequence[Trace]) -> str:
    """The first execution whose breach is not told any more, or told with other numbers."""
    for trace in executions:
        scenario = Scenario.from_json(trace.scenario)
        where = f"{scenario.policy}: {trace.violation.id}"
        try:
            if replay(scenario, trace.violation.id).violation != trace.violation:
                return f"{where} is told otherwise"
        except NotReproduced:
            return f"{where} is no longer caught"
    return ""


class _FirstFailure:
    """A pytest plugin that remembers which test failed."""

    name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid


def _failing_test() -> str:
    """The first unit test that fails."""
    first = _FirstFailure()
    arguments = ["-x", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--rootdir", str(ROOT)]
    paths = [str(ROOT / path) for path in TESTS]
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        status = pytest.main([*arguments, *paths], plugins=[first])
    return "" if status == pytest.ExitCode.OK else f"test: {first.name or status}"


def _first_failure(bodies: Sequence[str], cache: Cache) -> str:
    """The first promise that is no longer proved: as ``check`` would see it, and sooner."""
    dropped = ""
    for body in bodies:
        for mode in MODES:
            limits = Limits(seconds=120)
            result = explore(body, RECOMMENDED, mode, frozenset(SERVES), limits, cache)
            failed = [goal for goal in result.goals.values() if goal.refuted or goal.unknown]
            for goal in failed:
                if goal.name not in SERVES:
                    return f"{body} {mode}: {goal.invariant} ({goal.name})"
            if result.incomplete:
                return f"{body} {mode}: incomplete: {result.incomplete[:80]}"
            if failed and not dropped:
                dropped = f"{body} {mode}: clause {failed[0].name}"
    for mode in MODES:
        if dropped:  # a clause alone is no promise: what leant on it?
            induction = prove(RECOMMENDED, mode, lambda: Limits(seconds=120), cache)
            for invariant in IDS:
                for body_result, goal in induction.goals(invariant):
                    if goal.refuted or goal.unknown:
                        return f"{dropped}, so {body_result.name} {mode}: {goal.name}"
        # The loops and the engine around the bodies.
        for obligation in check(Task(RECOMMENDED, mode), cache):
            if obligation.verdict != PROVED:
                return f"whole passes {mode}: {obligation.invariant}"
    return ""


C_ZERO = "a one-token prompt on an idle rank is padded too: it costs K rows, no promise forbids it"
EXTRA_STEP = "a step is scheduled whose output is discarded: it costs rows, no promise forbids it"
NO_HIT = "a cache hit not asked for costs rows, no promise forbids it"
LIVES = (
    "no decision reads how often a request was preempted: the runner does, and `conform` compares"
)
NOTHING_ASKED = "of several 0s in this line; slots the pool was not asked for: one excuses where it has none left"
CHECKPOINT = "a Mamba checkpoint inside a prompt is passed over: later hits are shorter, no promise"

EQUIVALENT: dict[str, str] = {
    "spec.promises.progress_step: 1 -> 0 in `chunk = ite(needed == 1, 1 + c.num_spec_tokens, ite(c.enable_chunked_prefill, 1, unsplit))`": "one row is asked for at least",
    "spec.promises.length_capped_ends: 1 -> 2 in `ended = ite(b.is_length_capped, 1, 0)`": "2 is at least 1, too",
    "spec.promises.length_capped_only_there: 1 -> 2 in `return Claim({'at the boundary': ite(at_boundary, 1, 0)}, '>=', {'1': 1}, when=b.is_length_capped)`": "2 is at least 1, too",
    "model.scheduler.Scheduler._decided: 0 -> 1 in `def _decided(self, step: Step, request: Request, outcome: str, reason: str, rows: int=0, drafts: int=0, padded: bool=False, computed: int | None=None, slots_refused: int=0) -> str:`": NOTHING_ASKED,
    "model.scheduler.Scheduler._decided: 0 -> -1 in `def _decided(self, step: Step, request: Request, outcome: str, reason: str, rows: int=0, drafts: int=0, padded: bool=False, computed: int | None=None, slots_refused: int=0) -> str:`": NOTHING_ASKED,
    "model.engine.Engine.book_share: branch never taken in `record is None`": "a record is made that nobody is told",
    "model.hindsight.withdraw: branch never taken in `not lost`": "of no lost decision none was a prefill: nothing changes",
    "model.hindsight.missed: branch never taken in `len(looked_at) == len(running) + len(waiting)`": "a short cut: the list would be empty",
    "model.policies.PaddingPolicy.decide: branch never taken in `not self.pads`": "the recommended policy pads",
    "model.policies.PaddingPolicy.decide: branch always taken in `self.autoregressive_only`": "the recommended policy has this flag on",
    "model.policies.PaddingPolicy.decide: branch always taken in `self.threshold_aware`": "the recommended policy has this flag on",
    "model.policies.PaddingPolicy.decide: branch always taken in `self.reserves_sampled_token`": "the recommended policy has this flag on",
    "model.policies.PaddingPolicy.decide: Gt -> GtE in `wanted = all_of(config.num_spec_tokens > 0, num_new_tokens == 1, not_(prefill_scheduled), running_scheduled | self.resumed_alone & (num_computed_tokens > 0))`": "K = 0: padding to 1 + 0 rows changes nothing; C = 0 costs K rows, no promise forbids it",
    "model.policies.PaddingPolicy.decide: 0 -> -1 in `wanted = all_of(config.num_spec_tokens > 0, num_new_tokens == 1, not_(prefill_scheduled), running_scheduled | self.resumed_alone & (num_computed_tokens > 0))`": "K = 0: padding to 1 + 0 rows changes nothing; C = 0 costs K rows, no promise forbids it",
    "model.policies.PaddingPolicy.decide: & <-> | in `wanted = all_of(config.num_spec_tokens > 0, num_new_tokens == 1, not_(prefill_scheduled), running_scheduled | self.resumed_alone & (num_computed_tokens > 0))`": C_ZERO,
    "model.planning.surely_ends_in_flight: + <-> - in `certain = request.num_computed_tokens + 2 - request.num_output_placeholders`": EXTRA_STEP,
    "model.planning.surely_ends_in_flight: 2 -> 1 in `certain = request.num_computed_tokens + 2 - request.num_output_placeholders`": EXTRA_STEP,
    "model.planning.surely_ends_in_flight: GtE -> Gt in `return (request.num_output_placeholders > 0) & (certain >= limit)`": EXTRA_STEP,
    "model.planning.surely_ends_in_flight: 0 -> 1 in `return (request.num_output_placeholders > 0) & (certain >= limit)`": EXTRA_STEP,
    "model.planning.capped: Lt -> LtE in `return ite((threshold > 0) & (threshold < rows), threshold, rows)`": "rows == threshold: the same number either way",
    "model.planning.running_rows: branch never taken in `policy.clamps_running`": "rows are never negative under the recommended policy",
    "model.planning.running_rows: branch always taken in `policy.clamps_running`": "rows are never negative under the recommended policy",
    "model.planning.running_rows: max -> min in `rows = max(rows, 0)`": "the recommended policy does not clamp",
    "model.planning.running_rows: 0 -> 1 in `rows = max(rows, 0)`": "the recommended policy does not clamp",
    "model.planning.running_rows: 0 -> -1 in `rows = max(rows, 0)`": "the recommended policy does not clamp",
    "model.planning.waiting_rows: branch never taken in `decision == BREAK`": "with a budget that covers the batch the break only happens beside a prefill: one plain row in a step that is not uniform anyway",
    "model.policies.PaddingPolicy.decide: branch always taken in `self.at_length_limit == UNPADDED`": "the recommended policy has this setting",
    "model.planning.waiting_rows: Gt -> GtE in `assert rows > 0, 'a waiting request needs at least one row'`": "an assertion that never fails can be weakened unseen",
    "model.planning.waiting_rows: 0 -> -1 in `assert rows > 0, 'a waiting request needs at least one row'`": "an assertion that never fails can be weakened unseen",
    "model.planning.waiting_rows: branch never taken in `aligned == 0`": "0 rows are NO_ROWS, whichever line returns them",
    "model.planning.waiting_rows: 0 -> -1 in `aligned == 0`": "0 rows are NO_ROWS, whichever line returns them",
    "model.planning.waiting_rows: False -> True in `return (NO_ROWS, False)`": "whether no rows are padded is not read",
    "model.planning.waiting_rows: branch never taken in `aligned != 1 + config.num_spec_tokens and policy.when_clipped == DROP`": "all padded rows stay, as #54102 has it: no promise forbids it",
    "model.planning.waiting_rows: Eq -> NotEq in `aligned != 1 + config.num_spec_tokens and policy.when_clipped == DROP`": "all padded rows stay, as #54102 has it: no promise forbids it",
    "model.planning.mamba_aligned_rows: 1 -> 2 in `next_boundary = (start // block + 1) * block`": CHECKPOINT,
    "model.planning.mamba_aligned_rows: Lt -> LtE in `end = ite((start % block != 0) & (next_boundary < end), next_boundary, end)`": "the two are equal then",
    "model.planning.mamba_aligned_rows: Lt -> LtE in `end = ite((start < last_boundary) & (last_boundary < end), last_boundary, end)`": "the two are equal then",
    "model.planning.mamba_aligned_rows: 1 -> 2 in `last_boundary = (request.num_tokens - 1) // block * block`": CHECKPOINT,
    "model.step.Step.commit: branch always taken in `drafts > 0`": "an entry of 0 drafts reads like none",
    "model.step.Step.commit: Gt -> GtE in `drafts > 0`": "an entry of 0 drafts reads like none",
    "model.step.Step.commit: 0 -> -1 in `drafts > 0`": "an entry of 0 drafts reads like none",
    "model.output.book_counters: 0 -> -1 in `assert request.num_stale_output_tokens >= 0, 'more stale rows returned than were in flight'`": "an assertion that never fails can be weakened unseen",
    "model.output.roll_back_rejected: 0 -> -1 in `rejected = drafts - max(generated - config.num_sampled_tokens_per_step, 0)`": "a step with drafts returns at least s tokens",
    "model.output.append_tokens: branch always taken in `not stale`": "a request with stale output waits: H is 0, and C moves only if it ends",
    "model.output.append_tokens: 1 -> 0 in `to_length_stop = max(min(to_model_len, to_max_tokens), 1)`": "a live request is below its limits",
    "model.output.book_counters: Gt -> GtE in `drafts > 0 and (not stale)`": "without drafts nothing is rolled back",
    "model.output.book_counters: 0 -> -1 in `drafts > 0 and (not stale)`": "without drafts nothing is rolled back",
    "model.output.roll_back_rejected: branch always taken in `request.num_computed_tokens > 0`": "C is positive when drafts come back",
    "model.output.roll_back_rejected: Gt -> GtE in `request.num_computed_tokens > 0`": "C is positive when drafts come back",
    "model.output.roll_back_rejected: 0 -> 1 in `request.num_computed_tokens > 0`": "C is at least 2 when drafts come back: a prompt token and a row",
    "model.output.roll_back_rejected: 0 -> -1 in `request.num_computed_tokens > 0`": "C is positive when drafts come back",
    "model.output.append_tokens: += <-> -= in `request.num_computed_tokens -= generated - kept`": "who keeps fewer has ended: C is not read again",
    "model.output.append_tokens: 0 -> -1 in `assert request.num_output_placeholders >= 0, 'more rows returned than were in flight'`": "an assertion that never fails can be weakened unseen",
    "model.output.propose_drafts: branch never taken in `request.is_finished`": "drafts of a request that has ended are not read",
    "model.scheduler.Scheduler.schedule: branch never taken in `self.observer is not None`": "the record of a step, not the step: the bodies make their own",
    "model.scheduler.Scheduler.try_running: LtE -> Lt in `(step.token_budget <= 0) | (step.input_budget <= config.draft_slots)`": "a budget of 0 gives 0 rows, to this request and to all behind it",
    "model.scheduler.Scheduler.try_running: 0 -> -1 in `(step.token_budget <= 0) | (step.input_budget <= config.draft_slots)`": "a budget of 0 gives 0 rows, to this request and to all behind it",
    "model.scheduler.Scheduler.try_waiting: branch never taken in `computed == 0`": NO_HIT,
    "model.scheduler.Scheduler.try_waiting: 0 -> -1 in `computed == 0`": NO_HIT,
    "model.scheduler.Scheduler.try_waiting: branch never taken in `padded and self.policy.asserts_width`": "an assertion that never fails can be weakened unseen",
    "model.scheduler.Scheduler.preempt: += <-> -= in `victim.num_preemptions += 1`": LIVES,
    "model.scheduler.Scheduler.preempt: 1 -> 2 in `victim.num_preemptions += 1`": LIVES,
    "model.scheduler.Scheduler.preempt: 1 -> 0 in `victim.num_preemptions += 1`": LIVES,
    "model.scheduler.Scheduler.finish_load: Gt -> GtE in `preempted = request.num_preemptions > 0`": LIVES,
    "model.scheduler.Scheduler.finish_load: Gt -> LtE in `preempted = request.num_preemptions > 0`": LIVES,
    "model.scheduler.Scheduler.finish_load: 0 -> 1 in `preempted = request.num_preemptions > 0`": LIVES,
    "model.scheduler.Scheduler.finish_load: 0 -> -1 in `preempted = request.num_preemptions > 0`": LIVES,
    "model.scheduler.Scheduler.update_after_schedule: + <-> - in `known = request.num_tokens + request.num_output_placeholders`": "with rows in flight that sample, all that is known is computed either way",
}
"""Mutant name → why no promise of the catalogue can see the change."""


def main() -> int:
    """Run every mutant; exit 1 if one survives that is not known to be equivalent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--match", default="")
    parser.add_argument("--records", action="store_true", help="only records and promises")
    arguments = parser.parse_args()
    everyone = list(mutants())
    chosen = [mutant for mutant in everyone if arguments.match in mutant.name]
    if arguments.records:
        chosen = [mutant for mutant in chosen if mutant.is_of_record]
    for stale in EQUIVALENT.keys() - {mutant.name for mutant in everyone}:
        print(f"no such mutant any more: {stale}", file=sys.stderr)
    if arguments.list:
        for mutant in chosen:
            print(f"{mutant.line:4} {mutant.name}")
        return 0
    survivors = 0
    signal.signal(signal.SIGALRM, _no_end)
    callers, proved = bodies_by_function()
    executions = broken_executions() if any(m.is_of_record for m in chosen) else []
    work = [(m, callers.get(m.function, set()), proved, executions) for m in chosen]
    with get_context("fork").Pool(arguments.jobs, maxtasksperchild=1) as pool:
        for mutant, result in zip(chosen, pool.imap(_fate, work), strict=True):
            reason = EQUIVALENT.get(mutant.name)
            if result == "survived" and reason is None:
                survivors += 1
            told = f"equivalent: {reason}" if reason and result == "survived" else result
            print(f"{mutant.line:4} {mutant.name}\n       {told}", flush=True)
    print(f"{len(chosen)} mutants, {survivors} survived unexplained")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
