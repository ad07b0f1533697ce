"""Where vLLM keeps what the profile's table knows by name.

A row speaks of one thing: `cdiv` of `vllm.utils.math_utils`, not whatever a text imports under
that name from elsewhere.  A row somebody adds by ``--profile`` speaks of the text that is checked,
and so of any module.
"""

from __future__ import annotations

from proofs.source.names import listed

SIBLINGS = "vllm.v1.core.sched"
"""The package of the files that are checked."""
_CONNECTOR = "vllm.distributed.kv_transfer.kv_connector"
_HOMES = {
    "typing": "Any TYPE_CHECKING",
    "vllm.config": "VllmConfig",
    "vllm.logger": "init_logger",
    "vllm.multimodal": "MULTIMODAL_REGISTRY",
    "vllm.platforms": "current_platform",
    "vllm.utils.math_utils": "cdiv",
    "vllm.distributed.kv_events": "EventPublisherFactory",
    f"{_CONNECTOR}.factory": "KVConnectorFactory",
    f"{_CONNECTOR}.v1": "KVConnectorRole SupportsHMA",
    f"{_CONNECTOR}.v1.base": "KVConnectorRole SupportsHMA",
    "vllm.model_executor.layers.fused_moe.routed_experts_capturer": "RoutedExpertsManager",
    "vllm.v1.core.encoder_cache_manager": "EncoderCacheManager EncoderDecoderCacheManager",
    "vllm.v1.core.kv_cache_coordinator": "HybridKVCacheCoordinator",
    "vllm.v1.core.kv_cache_manager": "KVCacheManager",
    "vllm.v1.engine": "EngineCoreEventType EngineCoreOutput EngineCoreOutputs",
    "vllm.v1.kv_cache_interface": "MambaSpec get_mamba_prefill_checkpoint_position"
    " is_mamba_prefill_checkpoint_valid",
    "vllm.v1.metrics.stats": "KV_FETCH_COMPLETED_WAITING KV_FETCH_IN_PROGRESS KV_FETCH_STAGES"
    " KV_FETCH_WAITING_TO_START PrefixCacheStats SchedulerStats",
    "vllm.v1.request": "Request RequestStatus",
    "vllm.v1.spec_decode.metrics": "SpecDecodingStats",
    "vllm.v1.utils": "record_function_or_nullcontext",
    f"{SIBLINGS}.interface": "PauseState SchedulerInterface",
    f"{SIBLINGS}.output": "CachedRequestData KVConnectorBlockState NewRequestData SchedulerOutput",
    f"{SIBLINGS}.request_queue": "SchedulingPolicy create_request_queue",
    f"{SIBLINGS}.utils": "check_stop remove_all",
}
"""Module → the names in it that have a row."""
_MODULES = frozenset({"time"})
"""Modules that have one themselves."""
_PAIRS = frozenset((module, name) for module, names in _HOMES.items() for name in names.split())

INTERFACE = listed(
    """
    schedule get_grammar_bitmask update_from_output update_draft_token_ids
    update_draft_token_ids_in_output add_request has_request finish_requests
    get_num_unfinished_requests has_unfinished_requests has_finished_requests has_requests
    pause_state set_pause_state reset_prefix_cache reset_encoder_cache get_request_counts
    get_kv_cache_usage make_stats shutdown get_kv_connector get_ec_connector
    get_kv_event_publisher_config
    """
)
"""What a scheduler has by its interface alone, in some release."""
YOUNG = listed(
    """
    num_output_placeholders num_in_flight_tokens num_stale_output_tokens drop_stale_output
    is_prefill_chunk num_preemptions
    """
)
"""What a request has in some releases, and whoever asks it for learns which."""


def is_at_home(module: str, name: str) -> bool:
    """Whether that is the thing the table's row of that name speaks of.

    Args:
        module: where it is imported from; empty: it is a module itself.
    """
    return (module, name) in _PAIRS if module else name in _MODULES
