"""Random worlds for the runner's tests: answers, configurations and arrivals from one seed."""

from __future__ import annotations

import random

from model.environment import Sample
from model.request import Request
from model.runner.shim import RunnerEngine
from spec.config import Config


class RandomWorld:
    """An environment that keeps every assumption of ``spec.assumptions``.

    Args:
        config: the knobs.
        seed: of every answer.
        hit_all_but_one: caches and connectors hold all of a prompt but its last token, always.
    """

    def __init__(self, config: Config, seed: int, hit_all_but_one: bool = False) -> None:
        self.config = config
        self.draw = random.Random(seed)
        self.hit_all_but_one = hit_all_but_one

    def prefix_hit(self, request: Request) -> int:
        if self.hit_all_but_one or request.num_tokens <= 8:
            return 0
        return self.draw.choice((0, 0, request.num_tokens - 1, self.draw.randrange(8)))

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        left = request.num_tokens - 1 - num_local_tokens
        if self.hit_all_but_one:
            return left, False
        if left > 0 and self.draw.random() < 0.3:
            asynchronous = self.draw.random() < 0.3
            return self.draw.choice((left, self.draw.randint(1, left))), asynchronous
        return 0, False

    def load_finished(self, request: Request) -> bool:
        return self.draw.random() < 0.5

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        sampled = self.config.num_sampled_tokens_per_step
        accepted = 0 if padded else self.draw.randint(0, num_draft_tokens)
        stop = self.draw.random() < 0.01 and sampled + accepted > 0
        return Sample(sampled + accepted, 0, stop_after=1 if stop else 0)

    def draft(self, request: Request) -> int:
        if self.config.num_sampled_tokens_per_step == 0:
            return self.config.num_spec_tokens
        return self.draw.randint(0, self.config.num_spec_tokens)


def random_config(draw: random.Random, **fixed: object) -> Config:
    """A small legal configuration whose budgets cover a full batch of padded decodes."""
    spec = draw.randint(1, 4)
    seqs = draw.randint(1, 5)
    rows = max(seqs * (1 + spec), draw.randint(8, 40))
    knobs: dict[str, object] = {
        "max_model_len": draw.randint(16, 48),
        "num_spec_tokens": spec,
        "max_num_scheduled_tokens": rows,
        "max_num_batched_tokens": rows,
        "max_num_seqs": seqs,
        "block_size": draw.choice((1, 4, 16)),
        "num_gpu_blocks": draw.randint(64, 200),
        "async_scheduling": draw.random() < 0.7,
        "priority_scheduling": draw.random() < 0.2,
    }
    return Config.checked(**{**knobs, **fixed})


def random_request(draw: random.Random, config: Config, number: int) -> Request:
    """A request whose prompt likes the boundaries of blocks and of the length limit."""
    limit = config.max_model_len - 1
    around = draw.choice((1, config.block_size, limit, limit - config.num_spec_tokens))
    prompt = min(max(around + draw.randint(-1, 1), 1), limit)
    if draw.random() < 0.4:
        prompt = draw.randint(1, limit)
    return Request(
        f"r{number}",
        prompt,
        draw.choice((1, 4, 30, 200)),
        priority=draw.randint(0, 2),
        arrival_time=number,
    )


def drive(engine: RunnerEngine, draw: random.Random, steps: int) -> None:
    """Run an engine with random arrivals and aborts for a number of steps."""
    requests: list[Request] = []
    number = 0
    for _ in range(steps):
        if draw.random() < 0.4 and len(requests) < 12:
            request = random_request(draw, engine.config, number)
            requests.append(request)
            engine.add_request(request)
            number += 1
        engine.step()
        if requests and draw.random() < 0.02:
            engine.abort(draw.choice(requests))
        requests = [request for request in requests if not request.is_finished]
        engine.scheduler.finished.clear()
