"""The engine's objects, set up for the comparison; read by ``child`` in the engine's interpreter.

The scheduler, its queues, its KV block pool and its bookkeeping are the release's own; what is put
in place of the world around it is marked *stub*.
"""

from __future__ import annotations

import inspect
import json
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

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
SAME_NAME = (
    "async_scheduling",
    "enable_chunked_prefill",
    "long_prefill_token_threshold",
    "max_model_len",
    "max_num_batched_tokens",
    "max_num_scheduled_tokens",
    "max_num_seqs",
)
"""Knobs of ``spec.config`` that are fields of the engine's scheduler configuration."""


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
        settings = {name: knobs[name] for name in SAME_NAME} | {
            "policy": "priority" if knobs["priority_scheduling"] else "fcfs",
            # Left out of the model: admission only if the whole sequence fits, and a watermark.
            "scheduler_reserve_full_isl": False,
            "watermark": 0.0,
        }
        for name, value in settings.items():
            setattr(scheduling, name, value)
        asynchronous = knobs["async_scheduling"]
        kind = "async_scheduler.AsyncScheduler" if asynchronous else "scheduler.Scheduler"
        module, name = kind.split(".")
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
        blocks = getattr(scheduler, "_spec_decode_step_blocks", 0)
        scheduler._spec_decode_step_blocks = (lambda: 0) if callable(blocks) else 0
        patch_cache(scheduler.kv_cache_manager, questions)
        patch_pool(scheduler.kv_cache_manager, questions)
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


def patch_pool(manager: Any, questions: Questions) -> None:
    """Stub, where answers say so: the block pool refuses although it has blocks."""
    allocate = manager.allocate_slots

    def allocate_slots(request: Any, *more: Any, **named: Any) -> Any:
        granted = questions.answers.get(request.request_id, {}).get("slots")
        if granted and not granted.pop(0):
            return None
        return allocate(request, *more, **named)

    manager.allocate_slots = allocate_slots


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
