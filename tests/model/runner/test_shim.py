"""The shim on the model: known-bug policies are caught, the recommended one survives."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from model.engine import Engine
from model.environment import Quiet, Sample
from model.policies import POLICIES, RECOMMENDED
from model.request import Request, RequestStatus
from model.runner.checks import check_sample
from model.runner.cudagraph import Shape
from model.runner.errors import (
    BufferOverrun,
    Miscounted,
    MixedShapes,
    NoRows,
    NoSlot,
    NothingSampled,
    NotRunning,
    PastModelLen,
    RowsWithoutDrafts,
    RunnerError,
)
from model.runner.inputs import InputPreparer
from model.runner.shim import Runner, RunnerEngine
from model.step import Scheduled, SchedulerOutput
from spec.config import Config
from spec.invariants import IDS
from tests.model.runner.runner_world import RandomWorld, drive, random_config

CONFIG = Config.checked(max_model_len=32, num_spec_tokens=3, async_scheduling=False)


def share(
    n: int, drafts: int, *, computed: int, prompt: int, samples: bool = True, blocks: int = 2
) -> Scheduled:
    """A share as the scheduler leaves it: C already includes the rows."""
    request = Request("victim", prompt, 8)
    request.status = RequestStatus.RUNNING
    request.num_computed_tokens = computed + n
    request.num_blocks = blocks
    return Scheduled(request, n, drafts, False, samples)


def execute(*shares: Scheduled, config: Config = CONFIG) -> None:
    Runner(config).execute(SchedulerOutput(shares, ()))


def test_every_error_names_an_invariant_of_the_catalogue() -> None:
    for error in RunnerError.__subclasses__():
        assert error.invariant_id in IDS, f"{error.__name__}: unknown id {error.invariant_id}"


@pytest.mark.parametrize(
    ("error", "broken"),
    [
        (NoRows, lambda: share(-1, 0, computed=9, prompt=8)),
        (NoRows, lambda: share(0, 0, computed=8, prompt=8)),
        (PastModelLen, lambda: share(4, 3, computed=28, prompt=29)),
        (PastModelLen, lambda: share(40, 0, computed=0, prompt=50, samples=False)),
        (RowsWithoutDrafts, lambda: share(2, 3, computed=7, prompt=8)),
        (RowsWithoutDrafts, lambda: share(4, 0, computed=7, prompt=8)),
        (RowsWithoutDrafts, lambda: share(4, 3, computed=0, prompt=20, samples=False)),
        (NoSlot, lambda: share(4, 3, computed=15, prompt=16, blocks=1)),
    ],
)
def test_what_a_row_must_not_be(error: type[RunnerError], broken: Callable[[], Scheduled]) -> None:
    with pytest.raises(error, match=f"{error.invariant_id}: request victim, row 0: ") as raised:
        execute(broken())
    assert (raised.value.request_id, raised.value.row) == ("victim", 0)


def test_a_share_in_order_passes() -> None:
    execute(share(4, 3, computed=7, prompt=8))
    execute(share(4, 3, computed=27, prompt=28))


@pytest.mark.parametrize(("chunk", "uniform"), [(4, True), (3, False)])
def test_the_shape_is_that_of_all_rows(chunk: int, uniform: bool) -> None:
    runner = Runner(CONFIG)
    shares = (
        share(4, 3, computed=7, prompt=8),
        share(chunk, 0, computed=0, prompt=20, samples=False),
    )
    runner.execute(SchedulerOutput(shares, ()))
    assert runner.shape == Shape(4 + chunk, uniform)
    runner.execute(SchedulerOutput((), ()))
    assert runner.shape == runner.dispatcher.dummy, "an idle rank runs the dummy again"


@pytest.mark.parametrize("drafts", [2, 4])
def test_a_decode_of_any_other_width_is_odd(drafts: int) -> None:
    runner = Runner(replace(CONFIG, async_scheduling=True))
    decode = share(1 + drafts, drafts, computed=7, prompt=8)
    decode.request.num_output_placeholders = 1 + drafts
    runner.execute(SchedulerOutput((decode,), ()))
    runner.check_uniform(group_has_prefill=True)
    with pytest.raises(MixedShapes, match="uniform-decode: request victim, row 0"):
        runner.check_uniform(group_has_prefill=False)


def test_rows_for_a_finished_request_are_refused() -> None:
    broken = share(4, 3, computed=7, prompt=8)
    broken.request.status = RequestStatus.FINISHED_ABORTED
    with pytest.raises(NotRunning, match="request-conservation"):
        execute(broken)


def test_a_step_beyond_the_budgets_is_refused() -> None:
    two = [share(4, 3, computed=7, prompt=8) for _ in range(2)]
    tight = replace(CONFIG, max_num_scheduled_tokens=7)
    with pytest.raises(BufferOverrun, match=r"row 1: 8 rows in the step > .* = 7"):
        execute(*two, config=tight)
    inputs = replace(CONFIG, max_num_batched_tokens=9, draft_slots=1)
    with pytest.raises(BufferOverrun, match=r"row 1: 10 inputs in the step > .* = 9"):
        execute(*two, config=inputs)


class Answers(Quiet):
    """One fixed sample for every step."""

    def __init__(self, sample: Sample) -> None:
        self.answer = sample

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        return self.answer


@pytest.mark.parametrize(
    ("error", "sample"),
    [
        (NothingSampled, Sample(0)),
        (Miscounted, Sample(5)),
        (Miscounted, Sample(2, num_accepted_placeholders=1)),
    ],
)
def test_what_a_sample_must_not_be(error: type[RunnerError], sample: Sample) -> None:
    engine = RunnerEngine(CONFIG, RECOMMENDED, Answers(sample))
    engine.add_request(Request("victim", 8, 8))
    with pytest.raises(error, match=f"{error.invariant_id}: request victim, row 0: "):
        engine.step()


def test_the_drafts_of_padded_rows_are_never_accepted() -> None:
    class Resumed(Answers):
        def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
            return request.num_tokens - 1, False

    engine = RunnerEngine(CONFIG, RECOMMENDED, Resumed(Sample(2)))
    engine.add_request(Request("victim", 8, 8))
    with pytest.raises(Miscounted, match=r"1 placeholders \(-1\) accepted"):
        engine.step()


def test_sampled_tokens_past_the_length_limit_are_caught_at_booking() -> None:
    request = Request("victim", 30, 8)
    check_sample(CONFIG, request, 0, 3, False, Sample(2))
    with pytest.raises(PastModelLen, match="request victim, row 0: sampled tokens end at 33 > "):
        check_sample(CONFIG, request, 0, 3, False, Sample(3))


def test_the_45237_crash_ends_in_np_repeat() -> None:
    """Without the shim's length check the bug takes its published course: C = L, then n < 0."""

    class Resumed(Quiet):
        def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
            return (request.num_tokens - 1 if request.request_id == "boundary" else 0), False

    config = Config.checked(max_model_len=32, num_spec_tokens=3, async_scheduling=True)
    engine = Engine(config, POLICIES["45237"], Resumed())
    engine.add_request(Request("filler", 4, 16))
    engine.step()
    engine.add_request(Request("boundary", 29, 16))
    engine.step()
    output = engine.scheduler.schedule()
    rows = [s.num_scheduled_tokens for s in output.scheduled]
    assert rows == [4, -1]
    runner = Runner(config)
    runner.batch.update(output)
    with pytest.raises(NoRows, match="positive-schedule: request boundary, row 1"):
        InputPreparer(config).prepare(runner.batch, rows, [8, 32], [3, 0])


def first_error(policy: str, fixed: dict[str, object], seeds: int = 40) -> str:
    """Drive random worlds until the shim objects; the invariant it names."""
    for seed in range(seeds):
        draw = random.Random(seed)
        config = random_config(draw, **fixed)
        engine = RunnerEngine(config, POLICIES[policy], RandomWorld(config, seed))
        try:
            drive(engine, draw, 100)
        except RunnerError as error:
            return error.invariant_id
    return f"nothing found for {policy} in {seeds} worlds of 100 steps"


@pytest.mark.parametrize(
    ("policy", "fixed", "invariant"),
    [
        ("45237", {}, "within-model-len"),
        ("45237", {"num_sampled_tokens_per_step": 0}, "rows-match-drafts"),
        ("47464", {}, "within-model-len"),
        ("50342", {}, "within-model-len"),
        ("53812", {"long_prefill_token_threshold": 2}, "rows-match-drafts"),
        ("53812", {"mamba_align": True, "block_size": 4}, "rows-match-drafts"),
    ],
)
def test_known_bugs_are_caught(policy: str, fixed: dict[str, object], invariant: str) -> None:
    assert first_error(policy, fixed) == invariant


@pytest.mark.parametrize("policy", ["53962", "54102", "55126"])
def test_merged_policies_die_of_the_schedulers_own_assertion(policy: str) -> None:
    """#54028: below the threshold the scheduler raises before a runner sees anything."""
    with pytest.raises(AssertionError, match="uniform width"):
        first_error(policy, {"long_prefill_token_threshold": 2})


def test_the_recommended_policy_survives_thousands_of_steps() -> None:
    for seed in range(60):
        draw = random.Random(seed)
        config = random_config(
            draw,
            long_prefill_token_threshold=draw.choice((0, 0, 2, 5)),
            mamba_align=draw.random() < 0.2,
            num_sampled_tokens_per_step=draw.choice((1, 1, 1, 0)),
            num_gpu_blocks=draw.choice((64, 12 if draw.random() < 0.3 else 100)),
        )
        engine = RunnerEngine(config, RECOMMENDED, RandomWorld(config, seed))
        try:
            drive(engine, draw, 120)
        except RunnerError as error:
            raise AssertionError(f"seed {seed}, {config}: {error}") from error


def test_the_shim_changes_nothing_about_the_run() -> None:
    """Same questions in the same order, same steps, with and without the runner."""
    config = Config.checked(max_num_seqs=4, max_model_len=40, num_gpu_blocks=24, block_size=4)
    histories = []
    for make in (Engine, RunnerEngine):
        draw = random.Random(7)
        engine = make(config, RECOMMENDED, RandomWorld(config, 7))
        history = []
        for number in range(300):
            if draw.random() < 0.3:
                engine.add_request(Request(f"r{number}", draw.randint(1, 39), 20))
            output = engine.step()
            history.append(
                [(s.request.request_id, s.num_scheduled_tokens) for s in output.scheduled]
            )
        histories.append(history)
    assert histories[0] == histories[1]
