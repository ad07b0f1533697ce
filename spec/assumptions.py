"""What the theorems take for granted about the world around the scheduler.

Each assumption is a named condition with a source.  The prover adds it under its name and reads
from the solver which ones a proof really used; every verdict lists those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spec.config import Config, coupled_ranges, in_range
from spec.logic import all_of, any_of, implies


@dataclass(frozen=True, slots=True)
class Assumption:
    """One condition on the environment: who keeps it, and what breaks without it."""

    id: str
    about: str
    """Configuration, client, cache, connector, drafter, runner or engine."""
    statement: str
    why: str
    source: str
    condition: Callable[..., bool]


def _legal(config: Config) -> bool:
    return all_of(in_range(config), *(holds for holds, _ in coupled_ranges(config).values()))


def _covers_batch(config: Config) -> bool:
    rows = 1 + config.num_spec_tokens
    return all_of(
        config.max_num_scheduled_tokens >= config.max_num_seqs * rows,
        config.max_num_batched_tokens >= config.max_num_seqs * (rows + config.draft_slots),
    )


def _inputs_cover_rows(config: Config) -> bool:
    return (
        config.max_num_batched_tokens
        >= config.max_num_scheduled_tokens + config.max_num_seqs * config.draft_slots
    )


def _whole_prompts_fit(config: Config) -> bool:
    return any_of(
        config.enable_chunked_prefill, config.max_num_scheduled_tokens >= config.max_model_len
    )


LEGAL_CONFIG = Assumption(
    "legal-config",
    "configuration",
    "every knob lies in its documented range, B <= I, D < I",
    "The engine refuses other configurations at start-up.",
    "vllm/config/scheduler.py",
    _legal,
)
BUDGET_COVERS_BATCH = Assumption(
    "budget-covers-batch",
    "configuration",
    "B >= M * (1 + K) and I >= M * (1 + K + D): a full batch of padded decodes fits one step",
    "The waiting pass prefers not to schedule a request over scheduling it unpadded. If 1 + K rows "
    "never fit, a resumed request waits for ever (since #55126 even when it is alone).",
    "vllm/v1/core/sched/scheduler.py, waiting loop",
    _covers_batch,
)
INPUTS_COVER_ROWS = Assumption(
    "inputs-cover-rows",
    "configuration",
    "I >= B + M * D: the drafter's slots come on top of the row budget",
    "The engine derives B = I - M * D when B is not set by hand.",
    "vllm/config/speculative.py, max_num_new_slots_for_drafting",
    _inputs_cover_rows,
)
WHOLE_PROMPTS_FIT = Assumption(
    "whole-prompts-fit",
    "configuration",
    "with chunked prefill off, B >= L",
    "A prompt that cannot be split must fit one step; the engine checks this at start-up.",
    "vllm/config/scheduler.py",
    _whole_prompts_fit,
)
PROMPT_FITS = Assumption(
    "prompt-fits",
    "client",
    "1 <= P <= L - 1",
    "The front end refuses a prompt that leaves no room for one output token.",
    "vllm/v1/engine/input_processor.py",
    lambda config, prompt: all_of(prompt >= 1, prompt <= config.max_model_len - 1),
)
ASKS_FOR_OUTPUT = Assumption(
    "asks-for-output",
    "client",
    "max_tokens >= 1",
    "Sampling parameters with max_tokens < 1 are refused.",
    "vllm/sampling_params.py",
    lambda max_tokens: max_tokens >= 1,
)
HIT_LEAVES_ONE = Assumption(
    "hit-leaves-one",
    "cache, connector",
    "prefix-cache and synchronous connector hits together cover at most N - 1 tokens",
    "The last token must be computed to sample the next one; a full hit would leave no row.",
    "vllm/v1/core/kv_cache_manager.py, get_computed_blocks",
    lambda num_tokens, hit: all_of(hit >= 0, hit <= num_tokens - 1),
)
LOAD_WITHIN_REQUEST = Assumption(
    "load-within-request",
    "connector",
    "an asynchronous connector matches at least one token and at most the request's tokens",
    "It answers for this request's tokens only.",
    "vllm/distributed/kv_transfer/kv_connector/v1/base.py",
    lambda num_tokens, hit, matched: all_of(matched >= 1, hit + matched <= num_tokens),
)
DRAFTS_AT_MOST_K = Assumption(
    "drafts-at-most-k",
    "drafter",
    "0 <= S <= K drafts are proposed; a diffusion drafter proposes the whole canvas",
    "K sizes the runner's buffers; a diffusion step always refines K positions.",
    "vllm/v1/spec_decode",
    lambda config, drafts: all_of(
        drafts >= 0,
        drafts <= config.num_spec_tokens,
        implies(config.num_sampled_tokens_per_step == 0, drafts == config.num_spec_tokens),
    ),
)
RUNNER_SAMPLES = Assumption(
    "runner-samples",
    "runner",
    "a sampling step of d drafts returns s to s + d tokens",
    "The rejection sampler emits the accepted drafts and one token more.",
    "vllm/v1/sample/rejection_sampler.py",
    lambda config, drafts, generated: all_of(
        generated >= config.num_sampled_tokens_per_step,
        generated <= config.num_sampled_tokens_per_step + drafts,
    ),
)
PLACEHOLDERS_REJECTED = Assumption(
    "placeholders-rejected",
    "runner",
    "placeholder drafts (-1) are never accepted",
    "An accepted placeholder becomes an output token nobody sampled. #54102 reports a GPU path "
    "that turned -1 into token 0, and #53812 saw 262145 tokens at max_model_len 262144.",
    "#53812, #54102, vllm/v1/sample/rejection_sampler.py",
    lambda padded, accepted: implies(padded, accepted == 0),
)
OUTPUT_IN_ORDER = Assumption(
    "output-in-order",
    "engine",
    "each step's output is booked once, oldest first",
    "What returns is part of what is in flight: its rows are counted in H and in the rows in "
    "flight.",
    "vllm/v1/engine/core.py, step_with_batch_queue",
    lambda in_flight, returned: in_flight >= returned,
)

CRASH_IS_THE_END = Assumption(
    "crash-is-the-end",
    "runner",
    "after a step with n < 1 for some request, or an exception, there is no further step",
    "np.repeat refuses a negative count and the engine core ends; what such an engine would do "
    "next is no verdict about the scheduler.",
    "#53962, vllm/v1/worker/gpu_model_runner.py",
    lambda rows: rows >= 1,
)

PROGRESS_NEEDS = (BUDGET_COVERS_BATCH, INPUTS_COVER_ROWS, WHOLE_PROMPTS_FIT)
"""What ``progress`` is claimed under: nobody can be served from a budget that cannot hold them."""

ASSUMPTIONS: tuple[Assumption, ...] = (
    LEGAL_CONFIG,
    BUDGET_COVERS_BATCH,
    INPUTS_COVER_ROWS,
    WHOLE_PROMPTS_FIT,
    PROMPT_FITS,
    ASKS_FOR_OUTPUT,
    HIT_LEAVES_ONE,
    LOAD_WITHIN_REQUEST,
    DRAFTS_AT_MOST_K,
    RUNNER_SAMPLES,
    PLACEHOLDERS_REJECTED,
    OUTPUT_IN_ORDER,
    CRASH_IS_THE_END,
)
