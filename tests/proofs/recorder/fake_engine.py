"""A scheduler with the engine's interface and the model's decisions, to record without an engine.

Only what the recorder reads is here.  Its tokens are one conspicuous number and its request ids are
conspicuous words: neither may ever appear in a recording.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from model.engine import Engine
from model.environment import Sample
from model.output import propose_drafts
from model.policies import POLICIES
from model.request import Request, RequestStatus
from proofs.conform.releases import release_of
from proofs.recorder.watched import recording
from spec.config import Config

TOKEN = 918273645
NAME = "secret-name"
CONFIG = Config(
    max_model_len=24,
    num_spec_tokens=3,
    max_num_scheduled_tokens=32,
    max_num_batched_tokens=32,
    max_num_seqs=4,
    block_size=4,
    num_gpu_blocks=11,
    async_scheduling=False,
    exempt_only_request=True,
)
"""A configuration under which every situation occurs."""
Record = Callable[..., Path]
"""Makes a recording of random traffic; the fixture ``record``."""


class EngineRequest:
    """A request as the engine has it, around the model's."""

    def __init__(self, model: Request) -> None:
        self.model = model
        self.request_id = f"{NAME}-{model.request_id}"
        self.arrival_time = float(model.arrival_time)
        self.prompt_token_ids = [TOKEN] * model.num_prompt_tokens

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    @property
    def spec_token_ids(self) -> list[int]:
        return [TOKEN] * self.model.num_spec_tokens

    def is_finished(self) -> bool:
        return self.model.is_finished


class _World:
    """Draws every answer; asks for hits through the engine's own method, so that it is heard."""

    def __init__(self, scheduler: FakeScheduler, source: random.Random) -> None:
        self.scheduler, self.source = scheduler, source

    def prefix_hit(self, request: Request) -> int:
        found = self.scheduler.kv_cache_manager.get_computed_blocks(self.scheduler.by(request))
        return int(found[1])

    def connector_match(self, request: Request, num_local_tokens: int) -> tuple[int, bool]:
        return 0, False

    def load_finished(self, request: Request) -> bool:
        return True

    def sample(self, request: Request, num_draft_tokens: int, padded: bool) -> Sample:
        number = self.scheduler.generated[request.request_id]
        return Sample(number, 0, number if self.scheduler.stops(request) else 0)

    def draft(self, request: Request) -> int:
        return request.num_spec_tokens  # proposed in a call of its own


class _Manager:
    """The engine's KV cache manager, around the model's."""

    enable_caching = True

    def __init__(self, scheduler: FakeScheduler) -> None:
        self.scheduler = scheduler
        pool = scheduler.model.kv_cache_manager
        self.pool, self.block_size = pool, pool.block_size
        self.num_blocks = pool.num_free_blocks
        self.block_pool = SimpleNamespace(
            num_gpu_blocks=self.num_blocks + 1, get_num_free_blocks=lambda: pool.num_free_blocks
        )
        self.coordinator = SimpleNamespace(single_type_managers=(self,))

    @property
    def req_to_blocks(self) -> dict[str, list[Any]]:
        names: dict[str, list[Any]] = defaultdict(list)
        number = 0
        for request in self.scheduler.requests.values():
            for _ in range(request.model.num_blocks):
                number += 1
                names[request.request_id].append(SimpleNamespace(block_id=number, is_null=False))
        return names

    def get_computed_blocks(self, request: EngineRequest) -> tuple[None, int]:
        most, source = request.model.num_tokens - 1, self.scheduler.source
        return None, source.choice((0, most, source.randint(0, most)))

    def allocate_slots(
        self, request: EngineRequest, rows: int, num_new_computed_tokens: int = 0
    ) -> object:
        computed = request.model.num_computed_tokens + num_new_computed_tokens
        return self.pool.allocate_slots(request.model, computed + rows) or None


class _Pool:
    """The model's way to the engine's manager."""

    def __init__(self, scheduler: FakeScheduler) -> None:
        self.scheduler = scheduler
        self.real = scheduler.model.kv_cache_manager

    def allocate_slots(self, request: Request, num_tokens: int) -> bool:
        rows = num_tokens - request.num_computed_tokens
        named = self.scheduler.by(request)
        if request.status is RequestStatus.RUNNING:
            return self.scheduler.kv_cache_manager.allocate_slots(named, rows) is not None
        allocate = self.scheduler.kv_cache_manager.allocate_slots
        hit = self.scheduler.hit
        return allocate(named, rows - hit, hit) is not None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class FakeScheduler:
    """The interface of ``vllm.v1.core.sched.scheduler.Scheduler`` that the recorder uses."""

    connector = lora_config = None

    def __init__(self, config: Config, version: str, seed: int, policy: str | None = None) -> None:
        release = release_of(version)
        self.config, self.source = config, random.Random(seed)
        chosen = POLICIES[policy] if policy else release.policy
        self.engine = Engine(config, chosen, _World(self, self.source))
        self.model = self.engine.scheduler = release.scheduler(
            config, chosen, self.engine.environment
        )
        self.requests: dict[str, EngineRequest] = {}
        self.generated: dict[str, int] = {}
        self.hit = 0
        self.kv_cache_manager = _Manager(self)
        self._hear_hits()
        self.model.kv_cache_manager = _Pool(self)  # type: ignore[assignment]
        speculative = SimpleNamespace(max_num_new_slots_for_drafting=config.draft_slots)
        self.vllm_config = SimpleNamespace(speculative_config=speculative)
        self.parallel_config = SimpleNamespace(pipeline_parallel_size=1, data_parallel_index=0)
        self.kv_cache_config = SimpleNamespace(kv_cache_groups=[None])
        self.policy = SimpleNamespace(value="priority" if config.priority_scheduling else "fcfs")
        self.scheduler_config = config
        self.max_num_running_reqs = config.max_num_seqs

    def __getattr__(self, name: str) -> Any:
        if name in Config.__dataclass_fields__:
            return getattr(self.config, name)
        raise AttributeError(name)

    def _hear_hits(self) -> None:
        asked = self.kv_cache_manager.get_computed_blocks

        def heard(request: EngineRequest) -> tuple[None, int]:
            found = asked(request)
            self.hit = found[1]
            return found

        self.kv_cache_manager.get_computed_blocks = heard  # type: ignore[method-assign]

    def by(self, request: Request) -> EngineRequest:
        return self.requests[f"{NAME}-{request.request_id}"]

    def stops(self, request: Request) -> bool:
        return self.generated[request.request_id] > 0 and self.source.randint(0, 30) == 0

    @property
    def running(self) -> list[EngineRequest]:
        return [self.by(request) for request in self.model.running]

    @property
    def waiting(self) -> list[EngineRequest]:
        return [self.by(request) for request in self.model.waiting]

    @property
    def kv_holding_waiting(self) -> list[EngineRequest]:
        return [self.by(request) for request in self.model.kv_holding_waiting]

    # -- the engine's calls ---------------------------------------------------------------------

    def add_request(self, request: EngineRequest) -> None:
        self.requests[request.request_id] = request
        self.engine.add_request(request.model)

    def schedule(self) -> Any:
        self.hit = 0
        output = self.model.schedule()
        rows = {self.by(s.request).request_id: s.num_scheduled_tokens for s in output.scheduled}
        drafts = {
            self.by(s.request).request_id: [TOKEN] * s.num_draft_tokens
            for s in output.scheduled
            if s.num_draft_tokens
        }
        if output.scheduled:
            self.engine.in_flight.append(output)
        return SimpleNamespace(
            num_scheduled_tokens=rows,
            scheduled_spec_decode_tokens=drafts,
            preempted_req_ids={self.by(r).request_id for r in output.preempted_reqs},
        )

    def update_from_output(self, output: Any, returned: Any) -> dict[int, Any]:
        if output.num_scheduled_tokens:
            tokens = returned.sampled_token_ids
            self.generated = {
                name.removeprefix(f"{NAME}-"): len(tokens[index])
                for name, index in returned.req_id_to_index.items()
            }
            booked = self.engine.in_flight.popleft()
            self.engine.book(booked)
            for share in booked.scheduled:
                name = f"{NAME}-{share.request.request_id}"
                if share.request.is_finished:
                    self.requests.pop(name, None)
        return {}

    def update_draft_token_ids(self, drafts: Any) -> None:
        for name in drafts.req_ids:
            request = self.requests[name].model
            if request.status is RequestStatus.RUNNING:
                proposed = self.source.randint(0, self.config.num_spec_tokens)
                propose_drafts(self.config, request, proposed)

    def finish_requests(self, names: Any, status: RequestStatus) -> list[EngineRequest]:
        found = [self.requests[n] for n in names if n in self.requests]
        for request in found:
            self.engine.abort(request.model)
            del self.requests[request.request_id]
        return found

    def reset_prefix_cache(self, reset_running_requests: bool = False) -> bool:
        return True

    def shutdown(self) -> None:
        """Nothing to end."""


class AsyncScheduler(FakeScheduler):
    """The name by which the recorder tells async scheduling."""


Recorded, RecordedAsync = recording(FakeScheduler), recording(AsyncScheduler)
for _kind in (FakeScheduler, AsyncScheduler):
    _kind.__module__ = "vllm.fake"
FakeScheduler.__name__ = "Scheduler"


def drive(scheduler: Any, steps: int, seed: int = 0) -> list[Any]:
    """Random traffic; every output of ``schedule``, as plain data."""
    source = random.Random(f"traffic/{seed}")
    config, outputs, flying, arrived = scheduler.config, [], [], 0
    for _ in range(steps):
        if len(scheduler.requests) < 2 * config.max_num_seqs and source.randint(0, 1):
            most = config.max_model_len - 1
            prompt = source.choice(
                (source.randint(1, most), source.randint(1, 5), most, max(1, most - 3))
            )
            model = Request(str(arrived), prompt, source.randint(1, most), arrival_time=arrived)
            scheduler.add_request(EngineRequest(model))
            arrived += 1
        if scheduler.requests and source.randint(0, 40) == 0:
            scheduler.finish_requests([next(iter(scheduler.requests))], None)
        output = scheduler.schedule()
        outputs.append((dict(output.num_scheduled_tokens), sorted(output.preempted_req_ids)))
        if output.num_scheduled_tokens:
            flying.append(output)
        if len(flying) > (1 if config.async_scheduling and output.num_scheduled_tokens else 0):
            scheduler.update_from_output(flying[0], _returned(scheduler, flying.pop(0), source))
            names = list(scheduler.requests)
            if not config.async_scheduling:
                scheduler.update_draft_token_ids(SimpleNamespace(req_ids=names))
    return outputs


def _returned(scheduler: Any, output: Any, source: random.Random) -> Any:
    names = list(output.num_scheduled_tokens)
    tokens = []
    booked = scheduler.engine.in_flight[0].scheduled
    for share in booked:
        accepted = 0 if share.padded else source.randint(0, share.num_draft_tokens)
        tokens.append([TOKEN] * (1 + accepted if share.samples else 0))
    index = {name: i for i, name in enumerate(names)}
    return SimpleNamespace(sampled_token_ids=tokens, req_id_to_index=index)
