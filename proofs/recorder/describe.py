"""What a scheduler of the engine is: its knobs, its release, what the model leaves out of it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from proofs.recorder import lines


def header(scheduler: Any) -> lines.Line:
    """The first line of a recording."""
    return {
        "format": lines.FORMAT,
        "schema": lines.SCHEMA,
        "engine": release(),
        "scheduler": next(
            kind.__name__ for kind in type(scheduler).__mro__ if kind.__module__.startswith("vllm.")
        ),
        "rank": scheduler.parallel_config.data_parallel_index,
        "prefix_caching": bool(scheduler.kv_cache_manager.enable_caching),
        "config": config(scheduler),
        "beyond": beyond(scheduler),
    }


def release() -> str:
    """The engine's version, without the name of its build."""
    return str(import_module("vllm.version").__version__).partition("+")[0]


def config(scheduler: Any) -> dict[str, Any]:
    """The knobs of ``spec.config``, read off the scheduler."""
    scheduling, spec = scheduler.scheduler_config, scheduler.vllm_config.speculative_config
    asynchronous = any(kind.__name__ == "AsyncScheduler" for kind in type(scheduler).__mro__)
    rows = scheduler.max_num_scheduled_tokens
    return {
        "max_model_len": scheduler.max_model_len,
        "num_spec_tokens": scheduler.num_spec_tokens,
        "num_sampled_tokens_per_step": getattr(scheduler, "num_sampled_tokens_per_step", 1),
        "max_num_scheduled_tokens": rows,
        "max_num_batched_tokens": max(rows, scheduling.max_num_batched_tokens),
        "draft_slots": getattr(spec, "max_num_new_slots_for_drafting", 0) if has_slots() else 0,
        "max_num_seqs": scheduler.max_num_running_reqs,
        "long_prefill_token_threshold": scheduling.long_prefill_token_threshold,
        "block_size": scheduler.block_size,
        # One block stands for no block and is never given out.
        "num_gpu_blocks": scheduler.kv_cache_manager.block_pool.num_gpu_blocks - 1,
        "enable_chunked_prefill": bool(scheduling.enable_chunked_prefill),
        "async_scheduling": asynchronous,
        "priority_scheduling": scheduler.policy.value == "priority",
        "mamba_align": bool(getattr(scheduler, "need_mamba_block_aligned_split", False)),
        "exempt_only_request": minor() >= 31,
    }


def minor() -> int:
    """0.``minor``; a development build counts as the newest release."""
    parts = release().split(".")
    return int(parts[1]) if parts[0] == "0" and len(parts) > 2 and parts[1].isdigit() else 10**6


def has_slots() -> bool:
    """The scheduler knows an input budget, and slots for the drafter (0.28)."""
    return minor() >= 28


def beyond(scheduler: Any) -> list[str]:
    """Features in use that the model leaves out: a recording with one is not held against it."""
    parallel = scheduler.parallel_config
    in_use = {
        "pipeline parallelism": parallel.pipeline_parallel_size > 1,
        "LoRA": bool(scheduler.lora_config),
        "dynamic number of drafts": getattr(scheduler, "dynamic_sd_lookup", None) is not None,
        "encoder cache connector": getattr(scheduler, "ec_connector", None) is not None,
        "adaptive long-prefill threshold": bool(
            getattr(scheduler, "adaptive_long_prefill_threshold", False)
        ),
        "deferred block frees": bool(getattr(scheduler, "defer_block_free", False)),
        "several KV cache groups": len(scheduler.kv_cache_config.kv_cache_groups) > 1,
    }
    return [name for name, used in in_use.items() if used]


def held(scheduler: Any) -> Iterable[Any]:
    """The waiting requests that are served before ``waiting``."""
    kept = getattr(scheduler, "kv_holding_waiting", None)
    return kept if kept is not None else getattr(scheduler, "skipped_waiting", ())


def paused(scheduler: Any) -> bool:
    """The engine was told to stop admitting, or to stop altogether."""
    state = getattr(scheduler, "_pause_state", None)
    return state is not None and state.name != "UNPAUSED"
