# ruff: noqa: E501
"""The table of the environment profile; see ``profile`` for the format and the kinds.

Grouped by the object an attribute belongs to.  ``since`` and ``until`` are the first and the last
release that reads the attribute; an empty cell means: all that are known.
"""

TABLE = """
# --- the configuration ------------------------------------------------------------------------
vllm_config.num_speculative_tokens                  | knob   | num_spec_tokens | | | K
vllm_config.num_lookahead_tokens                    | free   | 0       | 0.28 | | slots beyond the rows, which the pool may refuse anyway
vllm_config.num_prefill_lookahead_tokens            | const  | 0       | 0.31 | | multi-module MTP off
vllm_config.num_hash_lookahead_tokens               | const  | 0       | 0.33 | | lookahead hashes off
vllm_config.max_in_flight_tokens                    | passed-on | 0       | 0.26 | | only sizes the KV cache manager
vllm_config.max_concurrent_batches                  | const  | 1       | | | blocks are never freed late
vllm_config.kv_transfer_config                      | world  |         | | | with and without a KV connector
vllm_config.kv_events_config                        | const  | None    | | | events change no decision
vllm_config.ec_transfer_config                      | const  | None    | | | no encoder-cache connector
vllm_config.lora_config                             | const  | None    | | | LoRA off
vllm_config.use_v2_model_runner                     | const  | False   | | | V1 runner: no decode stagger
vllm_config.is_encoder_only                         | const  | False   | 0.28 | 0.28 | a decoder
vllm_config.is_mm_encoder_only                      | const  | False   | 0.29 | | a decoder
vllm_config.speculative_config                      | object | speculative_config | | | K = 0 stands for no speculation
vllm_config.scheduler_config                        | object | scheduler_config | | |
vllm_config.cache_config                            | object | cache_config | | |
vllm_config.model_config                            | object | model_config | | |
vllm_config.parallel_config                         | object | parallel_config | | |
vllm_config.observability_config                    | object | observability_config | | |
vllm_config.aux_output_config.enabled               | const  | False   | 0.31 | | auxiliary outputs off
vllm_config.ec_manager_config.get_encoder_cache_manager_obj() | call | None | 0.27 | | the default encoder cache
scheduler_config.max_num_seqs                       | knob   | max_num_seqs | | | M
scheduler_config.max_num_active_seqs                | const  | None    | 0.31 | | defaults to max_num_seqs
scheduler_config.max_num_scheduled_tokens           | knob   | max_num_scheduled_tokens | | | B
scheduler_config.max_num_batched_tokens             | knob   | max_num_batched_tokens | | | I
scheduler_config.long_prefill_token_threshold       | knob   | long_prefill_token_threshold | | | θ
scheduler_config.long_prefill_token_threshold_adaptive | const | False | 0.31 | | the adaptive threshold only raises θ
scheduler_config.enable_chunked_prefill             | knob   | enable_chunked_prefill | | |
scheduler_config.async_scheduling                   | knob   | async_scheduling | | |
scheduler_config.policy                             | world  |         | | | FCFS or priority
scheduler_config.scheduler_reserve_full_isl         | passed-on | False   | | | how the pool reserves is its own business
scheduler_config.watermark                          | passed-on | 0.0     | | | how the pool reserves is its own business
scheduler_config.disable_chunked_mm_input           | const  | False   | | | no multi-modal input
scheduler_config.prefill_schedule_interval          | const  | 1       | 0.33 | | no prefill cadence
cache_config.num_gpu_blocks                         | knob   | num_gpu_blocks | | | G
cache_config.block_size                             | knob   | block_size | | | b
cache_config.enable_prefix_caching                  | free   | any-bool | | | hits are free, 0 included
cache_config.mamba_cache_mode                       | const  | 'align' | | | matters with Mamba layers only
cache_config.enable_mamba_fine_grained_prefix_cache | const  | False   | 0.30 | 0.30 | off
cache_config.enable_mamba_shared_prefix_checkpoint  | const  | False   | 0.31 | | off
model_config.max_model_len                          | knob   | max_model_len | | | L
model_config.is_diffusion                           | knob   | diffusion | | | s = 0
model_config.runner_type                            | const  | 'generate' | 0.32 | | no pooling
model_config.is_encoder_decoder                     | const  | False   | | | a decoder
model_config.supports_multimodal_inputs             | const  | False   | 0.31 | | no multi-modal input
model_config.uses_mrope                             | const  | False   | 0.29 | | positions change no decision
model_config.uses_xdrope                            | const  | False   | 0.29 | 0.29 | positions change no decision
model_config.enable_return_routed_experts           | const  | False   | | 0.30 | off
model_config.return_sampling_mask                   | const  | False   | 0.28 | | off
parallel_config.pipeline_parallel_size              | const  | 1       | | | no pipeline stages
parallel_config.data_parallel_index                 | free   | 0       | | | names a rank
parallel_config.data_parallel_size                  | free   | 1       | 0.33 | | any number of ranks
parallel_config.decode_context_parallel_size        | const  | 1       | | | off
parallel_config.prefill_context_parallel_size       | const  | 1       | | | off
observability_config.kv_cache_metrics               | const  | False   | | | off
observability_config.enable_mfu_metrics             | const  | False   | | | off
observability_config.enable_logging_iteration_details | const | False  | 0.26 | | off
observability_config.per_request_spec_decode_metrics | const | 'none'  | 0.29 | | off
speculative_config.max_num_new_slots_for_drafting   | knob   | draft_slots | 0.28 | | D
speculative_config.num_speculative_tokens_per_batch_size | const | None | | | fixed K: dynamic K pads nothing
speculative_config.use_eagle()                      | call   | False   | | | matters to look-ahead slots and hits only
speculative_config.use_eagle_block_drop()           | call   | False   | 0.30 | | matters to hits only
speculative_config.needs_eagle_block_drop()         | call   | False   | 0.33 | | matters to hits only
speculative_config.disable_eagle_block_drop         | const  | False   | 0.33 | | matters to hits only
speculative_config.use_multi_module_mtp()           | call   | False   | 0.28 | 0.30 | off
speculative_config.use_dflash()                     | call   | False   | | 0.27 | look-ahead slots only
speculative_config.use_dspark()                     | call   | False   | | 0.27 | look-ahead slots only
speculative_config.uses_draft_model()               | call   | False   | | 0.27 | look-ahead slots only
kv_transfer_config.kv_load_failure_policy           | const  | 'recompute' | | | loads do not fail
kv_transfer_config.is_kv_consumer                   | const  | True    | | | a decode node
kv_transfer_config.is_kv_producer                   | const  | False   | | | a decode node
kv_cache_config.has_mamba_layers                    | knob   | mamba_align | | |
kv_cache_config.needs_kv_cache_zeroing              | const  | False   | | | zeroing changes no decision
kv_cache_config.hisparse_host_num_blocks            | const  | None    | 0.33 | | off
kv_cache_config.kv_cache_groups                     | world  |         | | | one group
kv_cache_group.kv_cache_spec                        | object | kv_cache_spec | | |
kv_cache_spec.prefix_replay_tokens                  | const  | 0       | 0.31 | | bounded replay off
kv_cache_spec.prefill_checkpoint_alignment          | const  | None    | 0.29 | | no internal Mamba checkpoints
kv_cache_spec.num_prefill_checkpoint_blocks         | const  | 0       | 0.29 | | no internal Mamba checkpoints
# --- names the files import -------------------------------------------------------------------
import RequestStatus                                | python | | | | vLLM's statuses
import PauseState                                   | python | | | | never paused
import SchedulingPolicy                             | python | | | | FCFS or priority
import create_request_queue                         | python | | | | a queue of that policy
import check_stop                                   | python | | | | if the sibling utils.py is not given
import remove_all                                   | python | | | | if the sibling utils.py is not given
import init_logger                                  | python | | | | says nothing
import record_function_or_nullcontext               | python | | | | does nothing
import time                                         | python | | | | the time of day is passed on, and nobody may look at it
import cdiv                                         | python | | | | rounds up
import TYPE_CHECKING                                | const  | False | | | nothing is type-checked at run time
import Any                                          | class  | | | | annotations only
import VllmConfig                                   | class  | | | | annotations only
import Request                                      | python | | | | annotations, and whether something is one
import KVCacheManager                               | make   | kv_cache_manager | | |
import EncoderCacheManager                          | make   | encoder_cache_manager | | |
import EncoderDecoderCacheManager                   | make   | encoder_cache_manager | | |
EncoderCacheManager.create_manager()                | make   | encoder_cache_manager | 0.28 | |
import KVConnectorFactory                           | object | | | |
KVConnectorFactory.create_connector()               | make   | connector | | |
import KVConnectorRole                              | object | | | |
KVConnectorRole.SCHEDULER                           | object | | | |
import EventPublisherFactory                        | object | | | |
EventPublisherFactory.create()                      | make   | kv_event_publisher | | |
import MULTIMODAL_REGISTRY                          | object | | | |
MULTIMODAL_REGISTRY.supports_multimodal_inputs()    | call   | False | | 0.30 | no multi-modal input
import SchedulerInterface                           | class  | base | | | an interface
import SchedulerOutput                              | record | | | |
SchedulerOutput.has_structured_output_requests      | const  | False | | | no grammars
SchedulerOutput.pending_structured_output_tokens    | const  | False | | | no grammars
SchedulerOutput.num_invalid_spec_tokens             | const  | None  | | | no grammars
SchedulerOutput.num_spec_tokens_to_schedule         | const | 0     | | | what the field is worth if a fork does not fill it
import EngineCoreEventType                          | object | | | |
EngineCoreEventType.QUEUED                          | const  | 1 | | | an event changes no decision
EngineCoreEventType.SCHEDULED                       | const  | 2 | | | an event changes no decision
EngineCoreEventType.PREEMPTED                       | const  | 3 | | | an event changes no decision
import EngineCoreOutput                             | record | | | |
import EngineCoreOutputs                            | record | | | |
import CachedRequestData                            | record | | | |
import NewRequestData                               | object | | | |
NewRequestData.from_request()                       | world  | | | | data for the runner: its request's id
import KVConnectorBlockState                        | record | | | |
import SchedulerStats                               | record | | | |
import PrefixCacheStats                             | make   | statistics | | |
import SpecDecodingStats                            | make   | statistics | | |
SpecDecodingStats.new()                             | make   | statistics | | |
statistics.record()                                 | call   | None | | | statistics change no decision
statistics.observe_draft()                          | call   | None | | | statistics change no decision
import MambaSpec                                    | python | | | | the spec of the one group, if it is Mamba
import SupportsHMA                                  | class  | None connector | | | a plain connector
import RoutedExpertsManager                         | class  | | | 0.30 | off
import HybridKVCacheCoordinator                     | class  | coordinator | | 0.26 | one group
import get_mamba_prefill_checkpoint_position        | python | | 0.30 | | last block boundary of a prefill
import is_mamba_prefill_checkpoint_valid            | call   | False | 0.30 | | no internal Mamba checkpoints
import KV_FETCH_STAGES                              | const  | ('waiting_to_start', 'in_progress', 'completed_waiting') | 0.32 | | statistics
import KV_FETCH_COMPLETED_WAITING                   | const  | 'completed_waiting' | 0.32 | | statistics
import KV_FETCH_IN_PROGRESS                         | const  | 'in_progress' | 0.32 | | statistics
import KV_FETCH_WAITING_TO_START                    | const  | 'waiting_to_start' | 0.32 | | statistics
import current_platform                             | object | | 0.29 | |
current_platform.is_xpu()                           | call   | False | 0.29 | | not an XPU
# --- the KV cache manager ---------------------------------------------------------------------
kv_cache_manager.new_step_starts()                  | world  | | | | once, before blocks are asked for
kv_cache_manager.allocate_slots()                   | world  | | | | may fail at any time
kv_cache_manager.free()                             | world  | | | |
kv_cache_manager.get_computed_blocks()              | world  | | | | any hit up to N - 1
kv_cache_manager.get_computed_blocks_for_connector() | world | | 0.27 | | any hit up to N - 1
kv_cache_manager.truncate_computed_blocks()         | world  | | 0.27 | |
kv_cache_manager.get_blocks()                       | make   | blocks | | |
kv_cache_manager.get_block_ids()                    | call   | ([],) | | |
kv_cache_manager.get_block_ids_for_computed_tokens() | call  | ([],) | 0.25 | |
kv_cache_manager.empty_kv_cache_blocks              | object | blocks | | |
kv_cache_manager.cache_blocks()                     | world  | | | | no more than is computed
kv_cache_manager.take_events()                      | call   | None | | |
kv_cache_manager.take_new_block_ids()               | call   | [] | | | zeroing changes no decision
kv_cache_manager.take_kv_cache_block_copies()       | call   | ([], []) | 0.26 | | copies change no decision
kv_cache_manager.take_boundary_state_offloads()     | call   | {} | 0.29 | |
kv_cache_manager.take_partial_tail_offloads()       | call   | {} | 0.27 | 0.28 |
kv_cache_manager.record_prefix_cache_stats()        | call   | None | 0.27 | |
kv_cache_manager.get_num_common_prefix_blocks()     | call   | [0] | | 0.31 | attention kernels only
kv_cache_manager.remove_skipped_blocks()            | call   | None | | |
kv_cache_manager.estimate_cached_tokens()           | passed-on | 0       | 0.26 | | statistics
kv_cache_manager.make_prefix_cache_stats()          | make   | statistics | | | statistics
kv_cache_manager.usage                              | passed-on | 0.0     | | | statistics
kv_cache_manager.log_stats                          | const  | False | | 0.26 | statistics
kv_cache_manager.block_pool                         | object | block_pool | | |
block_pool.free_blocks()                            | call   | None | | |
kv_cache_manager.coordinator                        | object | coordinator | | |
coordinator.enable_partial_hash_hits                | const  | False | 0.28 | | off
coordinator.single_type_managers                    | const  | () | 0.32 | | only sizes a reservation: the pool's answer is free
coordinator.get_num_blocks_to_allocate()            | passed-on | 0       | | | only sizes a reservation
coordinator.num_uncached_common_prefix_tokens       | const  | 0 | | 0.25 | no shared prefix worth a checkpoint
kv_cache_manager.mamba_shared_prefix_checkpoint     | const  | False | 0.31 | | off
kv_cache_manager.mamba_fine_grained_prefix_cache    | const  | False | 0.30 | 0.30 | off
blocks.get_block_ids()                              | call   | ([],) | | |
blocks.blocks                                       | const  | () | | |
# --- other collaborators ----------------------------------------------------------------------
encoder_cache_manager.free()                        | call   | None | | | no encoder inputs
encoder_cache_manager.get_freed_mm_hashes()         | call   | [] | | | no encoder inputs
encoder_cache_manager.get_manager_metadata()        | call   | None | 0.27 | | no encoder inputs
kv_event_publisher.publish()                        | call   | None | | |
connector.get_num_new_matched_tokens()              | world  | | | | any match, loaded at once or by itself
connector.requires_kv_delivery                      | const  | False | 0.27 | | output in flight is delivered
connector.supports_divergent_local_hybrid_hits      | const  | False | 0.28 | | one group
connector.bind_gpu_block_pool()                     | call   | None | | 0.29 |
connector.bind_kv_cache_manager()                   | call   | None | 0.30 | |
connector.update_state_after_alloc()                | call   | None | | |
connector.build_connector_meta()                    | call   | None | | |
connector.has_pending_block_frees()                 | call   | False | 0.30 | | blocks are never freed late
connector.get_loaded_kv_cache_group_ids()           | call   | () | 0.32 | |
connector.on_new_request()                          | call   | None | | |
connector.take_events()                             | call   | () | | |
connector.get_kv_connector_stats()                  | call   | None | | |
connector.update_connector_output()                 | call   | None | | |
connector.request_finished()                        | call   | (False, None) | | | blocks are freed at once
structured_output_manager.accept_tokens()           | call   | True | 0.30 | | no grammars
structured_output_manager.should_advance()          | call   | False | | 0.29 | no grammars
structured_output_manager.validate_tokens()         | world  | | 0.30 | | no grammars: drafts pass
# --- a request --------------------------------------------------------------------------------
request.lora_request                                | const  | None | | | LoRA off
request.pooling_params                              | const  | None | | | no pooling
request.sampling_params                             | object | sampling_params | | |
sampling_params.num_logprobs                        | const  | None | | | log-probabilities change no decision
sampling_params.eos_token_id                        | world  | | | | any token may end a request
sampling_params.stop_token_ids                      | const  | () | | | eos_token_id stands for all of them
sampling_params.min_tokens                          | const  | 0 | | | only delays a stop
sampling_params.repetition_detection                | const  | None | | | one more early stop
sampling_params.routed_experts_prompt_start         | const  | None | | 0.30 | off
request.structured_output_request                   | const  | None | | | no grammars
request.use_structured_output                       | const  | False | | | no grammars
request.has_encoder_inputs                          | const  | False | | | no multi-modal input
request.num_encoder_inputs                          | const  | 0 | | | no multi-modal input
request.mm_features                                 | const  | () | | | no multi-modal input
request.kv_transfer_params                          | const  | None | 0.32 | |
request.skip_reading_prefix_cache                   | const  | False   | 0.31 | | a request that skips the cache finds nothing, which it may anyway
request.resumable                                   | const  | False | | | no streaming input
request.streaming_queue                             | const  | None | | | no streaming input
request.prefill_stats                               | const  | None | | | statistics
request.take_prefill_stats()                        | call   | None | | | statistics
request.spec_decode_metrics                         | const  | None | 0.29 | | statistics
request.num_nans_in_logits                          | const  | 0 | | | statistics
request.record_event()                              | call   | None | | | statistics
request.take_events()                               | call   | None | | | statistics
request.trace_headers                               | const  | None | | |
request.client_index                                | const  | 0 | | |
request.stop_reason                                 | const  | None | | |
request.block_hashes                                | const  | () | | | hits are free
request.next_decode_eligible_step                   | const  | 0 | | | V1 runner: no decode stagger
request.last_sched_seq                              | const  | 0 | | | blocks are never freed late
request.async_tokens_to_discard                     | const  | 0 | | 0.26 | reset_prefix_cache is not called
request.shared_prefix_boundary                      | const  | 0 | 0.26 | | no shared prefix worth a checkpoint
request.replay_start                                | const  | 0 | 0.31 | | bounded replay off
# --- what the runner returns ------------------------------------------------------------------
ModelRunnerOutput.logprobs                          | const  | None | | |
ModelRunnerOutput.prompt_logprobs_dict              | const  | {} | | |
ModelRunnerOutput.prompt_token_id_logprobs_dict     | const  | {} | | |
ModelRunnerOutput.pooler_output                     | const  | None | | | no pooling
ModelRunnerOutput.num_nans_in_logits                | const  | None | | |
ModelRunnerOutput.kv_connector_output               | const  | None | | | but where a load is done
KVConnectorOutput.invalid_block_ids                 | const  | () | | | loads do not fail
KVConnectorOutput.failed_recving                    | const  | () | | | loads do not fail
KVConnectorOutput.kv_connector_stats                | const  | None | | |
ModelRunnerOutput.ec_connector_output               | const  | None | | |
ModelRunnerOutput.cudagraph_stats                   | const  | None | | |
ModelRunnerOutput.routed_experts                    | const  | None | | |
# --- scheduler state that an inductive step finds changed ------------------------------------
scheduler.waiting                                   | state  | harness | | | the harness fills it
scheduler.skipped_waiting                           | state  | harness | | 0.30 | the harness fills it
scheduler.kv_holding_waiting                        | state  | harness | 0.31 | | the harness fills it
scheduler.running                                   | state  | harness | | | the harness fills it
scheduler.requests                                  | state  | harness | | | the harness fills it
scheduler.finished_recving_kv_req_ids               | state  | harness | | | loads that are done
scheduler.current_step                              | state  | any-int | | | the number of the step
scheduler.prefill_capacity_bound                    | state  | any-bool | | | written by the step before
scheduler.num_executed_steps                        | state  | any-int | 0.33 | | how many steps had rows
scheduler.last_prefill_step                         | state  | any-int | 0.33 | | one of those
scheduler.deferred_waiting                          | state  | any-requests | 0.31 | | held back by earlier steps
scheduler.finished_req_ids                          | state  | any-ids | | | a report to the workers
scheduler.finished_req_ids_dict                     | state  | initial | | | a report to the clients
scheduler.reset_preempted_req_ids                   | state  | any-ids | | | a report to the workers
scheduler.prev_step_scheduled_req_ids               | state  | any-ids | | | who had rows in the step before
scheduler.num_waiting_for_streaming_input           | state  | initial | | | no streaming input
scheduler.failed_recving_kv_req_ids                 | state  | initial | | | loads do not fail
scheduler.grammar_compile_error_reqs                | state  | initial | 0.26 | | no grammars
scheduler.encoder_cache_mismatch_reqs               | state  | initial | 0.31 | | no multi-modal input
scheduler.sched_step_seq                            | state  | initial | | | blocks are never freed late
scheduler.processed_step_seq                        | state  | initial | | | blocks are never freed late
scheduler.deferred_frees                            | state  | initial | | | blocks are never freed late
scheduler.deferred_loads                            | state  | initial | 0.33 | | loads are never deferred
scheduler._inflight_prefills                        | state  | sink | | | only sizes a reservation
scheduler._pause_state                              | state  | initial | | | the engine is not paused
scheduler._pending_encoder_input_ids                | state  | initial | 0.31 | | no multi-modal input
scheduler._kv_fetch_stages                          | state  | initial | 0.32 | | statistics
scheduler._kv_fetch_counts                          | state  | initial | 0.32 | | statistics
scheduler._skip_zero_block_ids                      | state  | initial | 0.26 | | zeroing changes no decision
scheduler._re_block_ids                             | state  | initial | | 0.30 | routed experts off
scheduler._spec_token_placeholders                  | state  | initial | | | K placeholders
scheduler.connector_prefix_cache_stats              | state  | assumed | | | statistics: a new object each step, handed to the report
"""
