"""A run of the scheduler on a device, checked token for token, and timings of its graphs."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass
from statistics import median

import numpy as np

from model.environment import Quiet
from model.policies import RECOMMENDED
from model.request import Request
from model.runner.cudagraph import Dispatch, Dispatcher, Mode, Shape
from model.runner.device import Device, DeviceStep, Weights
from model.runner.reference import greedy_tokens
from model.runner.shim import RunnerEngine
from model.runner.tokens import TokenSource
from spec.config import Config

CONFIG = Config(
    max_model_len=128,
    num_spec_tokens=3,
    max_num_scheduled_tokens=128,
    max_num_batched_tokens=128,
    max_num_seqs=16,
    block_size=16,
    num_gpu_blocks=160,
)
"""The configuration of the exercise: 16 requests of up to 128 tokens, K = 3."""


class Resuming(Quiet):
    """A P/D decode node every other time: a connector holds all but the last prompt token."""

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        resumed = request.arrival_time % 2 == 1
        return (request.num_tokens - 1 - num_local_tokens if resumed else 0), False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did: steps per mode, and each finished request's tokens."""

    modes: Counter[Mode]
    num_drafts: int
    num_accepted: int
    weights: Weights
    prompts: dict[str, list[int]]
    outputs: dict[str, list[int]]

    def wrong(self) -> list[str]:
        """Requests whose output is not what plain greedy decoding gives."""
        return [
            name
            for name, tokens in self.outputs.items()
            if tokens != greedy_tokens(self.weights, self.prompts[name], len(tokens))
        ]


def exercise(config: Config, weights: Weights, device: Device, steps: int, seed: int) -> Outcome:
    """Serve random requests with the recommended policy for a number of steps, then drain.

    Raises:
        RunnerError: the scheduler handed over a step that no runner could execute.
    """
    draw = random.Random(seed)
    tokens = TokenSource(config, weights, device)
    engine = RunnerEngine(config, RECOMMENDED, Resuming(), tokens=tokens)
    modes: Counter[Mode] = Counter()
    requests: list[Request] = []
    step = 0
    while step < steps or engine.has_unfinished_requests or engine.in_flight:
        if step < steps and draw.random() < 0.3:
            prompt = draw.randint(1, config.max_model_len // 2)
            number = len(requests)
            request = Request(f"r{number}", prompt, draw.randint(1, 60), arrival_time=number)
            requests.append(request)
            engine.add_request(request)
        if engine.step().scheduled:
            modes[engine.runner.dispatcher.dispatch(engine.runner.shape).mode] += 1
        step += 1
    return Outcome(
        modes,
        tokens.num_drafts,
        tokens.num_accepted,
        weights,
        {request.request_id: tokens.prompt_tokens(request) for request in requests},
        {request.request_id: tokens.output_tokens(request) for request in requests},
    )


def decode_step(config: Config, num_reqs: int) -> DeviceStep:
    """A uniform decode step of ``num_reqs`` requests of half the longest length."""
    query_len = 1 + config.num_spec_tokens
    blocks = -(-config.max_model_len // config.block_size)
    tables = np.arange(num_reqs * blocks, dtype=np.int64).reshape(num_reqs, blocks)
    tables %= config.num_gpu_blocks
    rows = np.arange(num_reqs, dtype=np.int64).repeat(query_len)
    positions = config.max_model_len // 2 + np.tile(np.arange(query_len), num_reqs)
    slots = tables[rows, positions // config.block_size] * config.block_size
    return DeviceStep(rows % 7, positions, slots + positions % config.block_size, tables[rows])


def step_seconds(
    config: Config, device: Device, dispatcher: Dispatcher, repeats: int = 50
) -> dict[int, dict[Mode, float]]:
    """Median seconds of a decode step, per number of requests and mode."""
    query_len = dispatcher.query_len
    seconds: dict[int, dict[Mode, float]] = {}
    for size in dispatcher.full_sizes:
        step = decode_step(config, size // query_len)
        seconds[size // query_len] = {}
        for mode in (Mode.FULL, Mode.PIECEWISE, Mode.NONE):
            dispatch = dispatcher.dispatch(Shape(size, uniform=True), highest=mode)
            seconds[size // query_len][mode] = _median_seconds(device, step, dispatch, repeats)
    return seconds


def _median_seconds(device: Device, step: DeviceStep, dispatch: Dispatch, repeats: int) -> float:
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        device.forward(step, dispatch)  # the tokens are copied back, so this waits
        samples.append(time.perf_counter() - start)
    return median(samples)
