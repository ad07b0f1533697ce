"""The engine's side: a released scheduler object, told what to do in JSON lines.

Run by the interpreter the engine is installed for, never imported by the project; needs nothing of
it.  One line in is one execution: a configuration and the calls to make.  One line out is what
could be seen after each call.  The scheduler, its queues, its KV block pool and its bookkeeping
are the release's own; what is put in place of the world around it is marked *stub* below.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import tempfile
import traceback
from collections import deque
from importlib import import_module
from pathlib import Path
from typing import Any

TOKEN, STOP_TOKEN = 7, 9
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "num_hidden_layers": 1,
    "vocab_size": 32,
    "max_position_embeddings": 4096,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
COUNTERS = (
    "num_output_tokens",
    "num_computed_tokens",
    "num_output_placeholders",
    "num_in_flight_tokens",
    "num_stale_output_tokens",
    "is_prefill_chunk",
    "num_preemptions",
)


def vllm(module: str) -> Any:
    """A module of the engine."""
    return import_module(f"vllm.{module}")


def fitting(function: Any, **arguments: Any) -> Any:
    """Call a function of the engine with those of the arguments its release knows."""
    known = inspect.signature(function).parameters
    return function(**{name: value for name, value in arguments.items() if name in known})


class Questions:
    """Stub: the answers of cache and connector, decided elsewhere, one per request and step."""

    def __init__(self) -> None:
        self.answers: dict[str, dict[str, Any]] = {}

    def take(self, request: Any, question: str) -> Any:
        """The answer; asking for one that was not decided is a difference."""
        try:
            return self.answers[request.request_id].pop(question)
        except KeyError:
            raise LookupError(f"asks {question} of {request.request_id}") from None

    def left(self) -> list[str]:
        """Answers nobody asked for."""
        return sorted(f"{name}.{q}" for name, asked in self.answers.items() for q in asked)


class Engine:
    """One configuration object for the life of the process; a fresh scheduler per execution."""

    def __init__(self) -> None:
        config = vllm("config")
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
            model = config.ModelConfig(
                model=folder, tokenizer=folder, skip_tokenizer_init=True, dtype="float32"
            )
            parallel = config.ParallelConfig()
            self.drafter = config.SpeculativeConfig(
                method="ngram",
                num_speculative_tokens=3,
                prompt_lookup_max=2,
                prompt_lookup_min=1,
                target_model_config=model,
                target_parallel_config=parallel,
            )
            self.config = config.VllmConfig(
                model_config=model,
                cache_config=config.CacheConfig(block_size=16, enable_prefix_caching=False),
                scheduler_config=fitting(
                    config.SchedulerConfig,
                    max_model_len=4096,
                    max_num_batched_tokens=4096,
                    max_num_seqs=4,
                    is_encoder_decoder=False,
                    async_scheduling=False,
                ),
                parallel_config=parallel,
                speculative_config=self.drafter,
                device_config=config.DeviceConfig(device="cpu"),
            )
        self.slots = 0
        slots = property(lambda drafter: self.slots)
        type(self.drafter).max_num_new_slots_for_drafting = slots
        self.structured = vllm("v1.structured_output").StructuredOutputManager(self.config)

    def scheduler(self, knobs: dict[str, Any], questions: Questions) -> Any:
        """The release's scheduler object for one configuration of ``spec.config``."""
        config, scheduling = self.config, self.config.scheduler_config
        self.slots = knobs["draft_slots"]
        self.drafter.num_speculative_tokens = knobs["num_spec_tokens"]
        config.speculative_config = self.drafter if knobs["num_spec_tokens"] else None
        config.model_config.max_model_len = knobs["max_model_len"]
        config.cache_config.block_size = knobs["block_size"]
        config.cache_config.num_gpu_blocks = knobs["num_gpu_blocks"] + 1  # one is never given out
        scheduling.max_model_len = knobs["max_model_len"]
        scheduling.max_num_seqs = knobs["max_num_seqs"]
        scheduling.max_num_scheduled_tokens = knobs["max_num_scheduled_tokens"]
        scheduling.max_num_batched_tokens = knobs["max_num_batched_tokens"]
        scheduling.long_prefill_token_threshold = knobs["long_prefill_token_threshold"]
        scheduling.enable_chunked_prefill = knobs["enable_chunked_prefill"]
        scheduling.async_scheduling = knobs["async_scheduling"]
        scheduling.policy = "priority" if knobs["priority_scheduling"] else "fcfs"
        # Left out of the model: admission only if the whole sequence fits, and a watermark.
        scheduling.scheduler_reserve_full_isl = False
        scheduling.watermark = 0.0
        mode = "async_scheduler.AsyncScheduler" if knobs["async_scheduling"] else None
        module, name = (mode or "scheduler.Scheduler").split(".")
        scheduler = getattr(vllm(f"v1.core.sched.{module}"), name)(
            vllm_config=config,
            kv_cache_config=self.blocks(knobs),
            structured_output_manager=self.structured,
            block_size=knobs["block_size"],
            log_stats=False,
        )
        scheduler.need_mamba_block_aligned_split = knobs["mamba_align"]
        scheduler.num_sampled_tokens_per_step = knobs["num_sampled_tokens_per_step"]
        scheduler.connector = connector(questions)
        # Left out of the model: blocks kept free for other prefills when a load is admitted.
        scheduler._inflight_prefill_reserved_blocks = lambda: 0
        scheduler._spec_decode_step_blocks = 0
        patch_cache(scheduler.kv_cache_manager, questions)
        return scheduler

    def blocks(self, knobs: dict[str, Any]) -> Any:
        """The real pool: one full-attention layer, a few blocks."""
        interface = vllm("v1.kv_cache_interface")
        spec = fitting(
            interface.FullAttentionSpec,
            block_size=knobs["block_size"],
            num_kv_heads=1,
            head_size=64,
            dtype=import_module("torch").float32,
        )
        return interface.KVCacheConfig(
            num_blocks=knobs["num_gpu_blocks"] + 1,
            kv_cache_tensors=[],
            kv_cache_groups=[interface.KVCacheGroupSpec(["layer"], spec)],
        )


def patch_cache(manager: Any, questions: Questions) -> None:
    """Stub: the prefix cache finds as many tokens as was decided, in blocks of nobody else."""
    lookup = inspect.signature(manager.get_computed_blocks)
    with_junction = "int, int" in str(lookup.return_annotation)  # a third value (0.26)

    def get_computed_blocks(request: Any, *_: Any) -> tuple[Any, ...]:
        found = manager.empty_kv_cache_blocks, questions.take(request, "hit")
        return (*found, 0) if with_junction else found

    manager.get_computed_blocks = get_computed_blocks
    manager.truncate_computed_blocks = lambda blocks, num_tokens: blocks


def connector(questions: Questions) -> Any:
    """Stub: a KV connector with the release's own defaults that finds what was decided."""
    base = vllm("distributed.kv_transfer.kv_connector.v1.base")

    def matched(self: Any, request: Any, num_local: int) -> tuple[int, bool]:
        # Newer releases show the connector whole blocks only and let a longer match replace a
        # partial one: answer for the tokens beyond the hit all the same.
        hit, found, load_async = questions.take(request, "match")
        return (hit + found - num_local, load_async) if found else (0, False)

    body = {
        "get_num_new_matched_tokens": matched,
        "update_state_after_alloc": lambda self, *_, **__: None,
        "build_connector_meta": lambda self, *_, **__: base.KVConnectorMetadata(),
        "bind_kv_cache_manager": lambda self, *_: None,
        "request_finished": lambda self, *_, **__: (False, None),
        "get_loaded_kv_cache_group_ids": lambda self, *_: (),
    }
    stub = type("Connector", (base.KVConnectorBase_V1,), body)
    stub.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
    return object.__new__(stub)


class Execution:
    """One scheduler and the steps in flight."""

    def __init__(self, engine: Engine, knobs: dict[str, Any]) -> None:
        self.questions = Questions()
        self.asynchronous = knobs["async_scheduling"]
        self.scheduler = engine.scheduler(knobs, self.questions)
        self.requests: dict[str, Any] = {}
        self.in_flight: deque[Any] = deque()
        self.step: dict[str, Any] = {}

    def add(self, name: str, prompt: int, max_tokens: int, priority: int, order: int) -> None:
        """A request arrives."""
        sampling = vllm("sampling_params").SamplingParams(
            max_tokens=max_tokens, stop_token_ids=[STOP_TOKEN], ignore_eos=True
        )
        request = fitting(
            vllm("v1.request").Request,
            request_id=name,
            prompt_token_ids=[TOKEN] * prompt,
            sampling_params=sampling,
            pooling_params=None,
            eos_token_id=None,
            arrival_time=float(order),
            priority=priority,
        )
        self.requests[name] = request
        self.scheduler.add_request(request)

    def abort(self, name: str) -> None:
        """The client goes away; a KV load of its request ends at once."""
        status = vllm("v1.request").RequestStatus
        loading = self.requests[name].status is status.WAITING_FOR_REMOTE_KVS
        self.scheduler.finish_requests(name, status.FINISHED_ABORTED)
        if loading:
            self.loaded([name])

    def schedule(self, answers: dict[str, dict[str, Any]]) -> None:
        """One step; what the scheduler may ask is answered."""
        self.loaded([name for name, told in answers.items() if told.pop("loaded", False)])
        self.questions.answers = answers
        output = self.scheduler.schedule()
        if output.num_scheduled_tokens:
            self.in_flight.append(output)
        drafts = output.scheduled_spec_decode_tokens
        self.step = {
            "rows": [[name, rows] for name, rows in output.num_scheduled_tokens.items()],
            "drafts": {name: len(tokens) for name, tokens in drafts.items()},
            "preempted": sorted(output.preempted_req_ids or ()),
            "unused": self.questions.left(),
        }

    def loaded(self, names: list[str]) -> None:
        """Asynchronous KV loads are done."""
        if names:
            output = vllm("v1.outputs").KVConnectorOutput(finished_recving=set(names))
            self.scheduler._update_from_kv_xfer_finished(output)

    def book(self, samples: dict[str, list[int]], drafts: dict[str, int]) -> None:
        """The output of the oldest step in flight is back."""
        outputs, output = vllm("v1.outputs"), self.in_flight.popleft()
        names = list(output.num_scheduled_tokens)
        tokens = {name: [TOKEN] * number for name, (number, _) in samples.items()}
        for name, (_, stop_after) in samples.items():
            if stop_after:
                tokens[name][stop_after - 1] = STOP_TOKEN
        returned = fitting(
            outputs.ModelRunnerOutput,
            req_ids=names,
            req_id_to_index={name: index for index, name in enumerate(names)},
            sampled_token_ids=[tokens.get(name, []) for name in names],
            logprobs=None,
            prompt_logprobs_dict={},
            pooler_output=None,
        )
        self.scheduler.update_from_output(output, returned)
        if not self.asynchronous:
            proposed = [[TOKEN] * number for number in drafts.values()]
            self.scheduler.update_draft_token_ids(outputs.DraftTokenIds(list(drafts), proposed))

    def seen(self) -> dict[str, Any]:
        """All that is compared."""
        scheduler, step = self.scheduler, self.step
        self.step = {}
        held = getattr(scheduler, "kv_holding_waiting", None)
        held = held if held is not None else scheduler.skipped_waiting
        return step | {
            "running": [request.request_id for request in scheduler.running],
            "waiting": [request.request_id for request in scheduler.waiting],
            "held": [request.request_id for request in held],
            "free_blocks": scheduler.kv_cache_manager.block_pool.get_num_free_blocks(),
            "requests": {name: state(request) for name, request in self.requests.items()},
        }


def state(request: Any) -> dict[str, Any]:
    """One request's counters; of a finished one only how it ended."""
    if request.is_finished():
        return {"status": request.status.name, "num_output_tokens": request.num_output_tokens}
    counters = {name: getattr(request, name) for name in COUNTERS if hasattr(request, name)}
    return counters | {
        "status": request.status.name,
        "num_spec_tokens": len(request.spec_token_ids),
    }


def play(engine: Engine, knobs: dict[str, Any], calls: list[Any]) -> list[dict[str, Any]]:
    """Make the calls; ends at the first exception, which is an observation too."""
    seen: list[dict[str, Any]] = []
    execution = Execution(engine, knobs)
    for name, *arguments in calls:
        try:
            getattr(execution, name)(*arguments)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}: {frame.line}"
            seen.append({"raised": type(error).__name__, "why": str(error), "where": where})
            break
        seen.append(execution.seen())
    return seen


def main() -> None:
    """Answer one line per line; standard output carries nothing else."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]

    def answer(line: dict[str, Any]) -> None:
        print(json.dumps(line), file=answers, flush=True)

    try:
        version = import_module("vllm").__version__
    except ImportError as error:
        answer({"absent": str(error)})
        return
    answer({"version": version})
    engine: Engine | None = None
    for line in sys.stdin:
        asked = json.loads(line)
        if engine is None:
            engine = Engine()
        answer({"seen": play(engine, asked["config"], asked["calls"])})


HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    main()
