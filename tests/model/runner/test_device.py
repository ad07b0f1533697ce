"""Real tokens: every schedule on every device must give what plain greedy decoding gives."""

from __future__ import annotations

import numpy as np
import pytest

from model.policies import RECOMMENDED
from model.request import Request
from model.runner.__main__ import main
from model.runner.batch import Ints, PersistentBatch
from model.runner.cuda import CudaDevice, GraphedDevice
from model.runner.cudagraph import Dispatch, Dispatcher, Mode
from model.runner.device import VOCAB, DeviceStep, Weights
from model.runner.errors import Miscounted
from model.runner.exercise import CONFIG, Resuming, decode_step, exercise
from model.runner.inputs import BatchInputs, InputPreparer
from model.runner.reference import NumpyDevice
from model.runner.shim import RunnerEngine
from model.runner.tokens import PLACEHOLDER, TokenSource, accepted_tokens
from model.runner.torch_model import DeviceUnavailable, TorchDevice
from spec.config import Config

WEIGHTS = Weights.random(CONFIG.max_model_len)


def reason_without_gpu() -> str:
    """Why the CUDA tests cannot run here; empty if they can."""
    try:
        CudaDevice(CONFIG, WEIGHTS, Dispatcher(CONFIG, sizes=[]))
    except DeviceUnavailable as error:
        return str(error)
    return ""


def reason_without_torch() -> str:
    """Why the torch model cannot run here; empty if it can."""
    try:
        TorchDevice(CONFIG, WEIGHTS, "cpu", 1)
    except DeviceUnavailable as error:
        return str(error)
    return ""


needs_gpu = pytest.mark.skipif(bool(reason_without_gpu()), reason=reason_without_gpu())
needs_torch = pytest.mark.skipif(bool(reason_without_torch()), reason=reason_without_torch())


def test_greedy_rejection_keeps_drafts_up_to_the_first_wrong_one() -> None:
    greedy = np.array([5, 6, 7, 8])
    assert accepted_tokens(greedy, np.array([5, 6, 7])) == [5, 6, 7, 8]
    assert accepted_tokens(greedy, np.array([5, 9, 7])) == [5, 6]
    assert accepted_tokens(greedy, np.array([PLACEHOLDER] * 3)) == [5]
    assert accepted_tokens(greedy[:1], np.array([], np.int64)) == [5]


def test_a_placeholder_is_never_accepted_whatever_the_model_chooses() -> None:
    """``PLACEHOLDER_TOKEN_ID`` of ``vllm/v1/sample/rejection_sampler.py``."""
    assert PLACEHOLDER == -1
    for token in range(VOCAB):
        chosen = np.full(3, token)
        assert accepted_tokens(chosen, np.full(2, PLACEHOLDER)) == [token]


class Listening(NumpyDevice):
    """Keeps the token ids of every step."""

    def forward(self, step: DeviceStep, dispatch: Dispatch) -> Ints:
        self.input_ids = step.input_ids.tolist()
        return super().forward(step, dispatch)


def test_padded_rows_carry_the_placeholder() -> None:
    device = Listening(CONFIG, WEIGHTS)
    tokens = TokenSource(CONFIG, WEIGHTS, device)
    engine = RunnerEngine(CONFIG, RECOMMENDED, Resuming(), tokens=tokens)
    request = Request("resumed", 8, 20, arrival_time=1)
    engine.add_request(request)
    engine.step()
    assert device.input_ids == [tokens.prompt_tokens(request)[-1], -1, -1, -1]
    assert tokens.num_accepted == 0


def test_tokens_are_those_of_plain_greedy_decoding() -> None:
    outcome = exercise(CONFIG, WEIGHTS, NumpyDevice(CONFIG, WEIGHTS), steps=80, seed=1)
    assert len(outcome.outputs) > 10
    assert outcome.wrong() == []
    assert 0 < outcome.num_accepted < outcome.num_drafts, "drafts must be right only sometimes"
    assert outcome.modes[Mode.FULL] > 0 and outcome.modes[Mode.PIECEWISE] > 0


@pytest.mark.parametrize("asynchronous", [True, False])
def test_preemption_and_small_blocks_do_not_change_a_token(asynchronous: bool) -> None:
    config = Config.checked(
        max_model_len=128,
        max_num_scheduled_tokens=48,
        max_num_batched_tokens=48,
        max_num_seqs=6,
        block_size=4,
        num_gpu_blocks=70,
        async_scheduling=asynchronous,
    )
    outcome = exercise(config, WEIGHTS, NumpyDevice(config, WEIGHTS), steps=80, seed=2)
    assert outcome.wrong() == []


class Misplaced(InputPreparer):
    """Writes every KV entry one slot too far."""

    def prepare(
        self, batch: PersistentBatch, n: list[int], starts: list[int], drafts: list[int]
    ) -> BatchInputs:
        inputs = super().prepare(batch, n, starts, drafts)
        inputs.slot_mapping = inputs.slot_mapping ^ 1
        return inputs


def test_one_wrong_slot_shows_in_the_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.runner.shim.InputPreparer", Misplaced)
    outcome = exercise(CONFIG, WEIGHTS, NumpyDevice(CONFIG, WEIGHTS), steps=30, seed=1)
    assert outcome.wrong(), "the device model does not notice wrong KV slots"


def test_a_counter_off_by_one_is_told_from_the_tokens() -> None:
    engine = RunnerEngine(
        CONFIG,
        RECOMMENDED,
        Resuming(),
        tokens=TokenSource(CONFIG, WEIGHTS, NumpyDevice(CONFIG, WEIGHTS)),
    )
    request = Request("victim", 8, 20)
    engine.add_request(request)
    engine.step()
    engine.step()
    request.num_computed_tokens -= 1
    request.num_output_placeholders -= 1
    with pytest.raises(Miscounted, match="placeholder-accounting: request victim, row 0"):
        engine.step()


def test_diffusion_has_no_device_model() -> None:
    config = Config.checked(num_sampled_tokens_per_step=0)
    with pytest.raises(ValueError, match="autoregressive"):
        TokenSource(config, WEIGHTS, NumpyDevice(config, WEIGHTS))


@needs_torch
def test_the_torch_model_agrees_with_the_reference() -> None:
    runs = [
        exercise(CONFIG, WEIGHTS, device, steps=60, seed=3)
        for device in (NumpyDevice(CONFIG, WEIGHTS), TorchDevice(CONFIG, WEIGHTS, "cpu", 256))
    ]
    assert runs[0].outputs == runs[1].outputs


@needs_torch
def test_padding_and_choice_of_graph_without_a_gpu() -> None:
    """Everything about captured steps but the capture itself."""
    dispatcher = Dispatcher(CONFIG)
    device = GraphedDevice(CONFIG, WEIGHTS, "cpu", dispatcher)
    replayed = exercise(CONFIG, WEIGHTS, device, steps=80, seed=4)
    reference = exercise(CONFIG, WEIGHTS, NumpyDevice(CONFIG, WEIGHTS), steps=80, seed=4)
    assert replayed.outputs == reference.outputs
    assert device.steps_run == replayed.modes, "a dispatched graph was not the one replayed"


@needs_gpu
def test_replayed_graphs_agree_with_the_reference_token_for_token() -> None:
    device = CudaDevice(CONFIG, WEIGHTS, Dispatcher(CONFIG))
    on_gpu = exercise(CONFIG, WEIGHTS, device, steps=80, seed=4)
    reference = exercise(CONFIG, WEIGHTS, NumpyDevice(CONFIG, WEIGHTS), steps=80, seed=4)
    assert on_gpu.outputs == reference.outputs
    assert device.steps_run == on_gpu.modes, "a dispatched graph was not the one replayed"


def check_fallback(device: GraphedDevice) -> None:
    """Two decodes on a device with a graph for one: kernel by kernel, and the same tokens."""
    step = decode_step(CONFIG, 2)
    tokens = device.forward(step, Dispatch(Mode.FULL, 8))
    assert dict(device.steps_run) == {Mode.NONE: 1}
    expected = NumpyDevice(CONFIG, WEIGHTS).forward(step, Dispatch(Mode.NONE, 8))
    assert tokens.tolist() == expected.tolist()


@needs_torch
def test_a_shape_without_a_graph_falls_back() -> None:
    check_fallback(GraphedDevice(CONFIG, WEIGHTS, "cpu", Dispatcher(CONFIG, sizes=[4])))


@needs_gpu
def test_a_shape_without_a_cuda_graph_really_falls_back() -> None:
    check_fallback(CudaDevice(CONFIG, WEIGHTS, Dispatcher(CONFIG, sizes=[4])))


def test_the_command_line_on_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--device", "numpy", "--steps", "20"]) == 0
    assert "all as plain greedy decoding gives" in capsys.readouterr().out


@pytest.mark.skipif(not reason_without_gpu(), reason="this machine has a GPU")
def test_cuda_asked_for_where_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--device", "cuda"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: --device cuda: ") and printed.err.count("\n") == 1


@pytest.mark.parametrize("bad", [["--steps", "-1"], ["--seed", "x"], ["--device", "tpu"]])
def test_bad_input_is_exit_status_2(bad: list[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(bad)
    assert raised.value.code == 2
