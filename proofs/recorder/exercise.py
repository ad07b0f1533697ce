"""A whole engine, tiny, with traffic that looks for trouble; run by the engine's interpreter.

A Llama of two layers with dummy weights on the CPU: real scheduler, real KV pool and prefix cache,
real runner, real drafter.  Prompts come from a few shared beginnings (prefix hits), many requests
meet ``max_model_len``, and the pool is too small for all of them.

    python exercise.py '{"steps": 2000, "async": false, "seed": 0}'
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
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
    "num_hidden_layers": 2,
    "vocab_size": 32,
    "max_position_embeddings": 4096,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "OMP_NUM_THREADS": "1",
}
DEFAULTS = {
    "steps": 200,
    "seed": 0,
    "async": False,
    "scheduler": True,
    "num_spec_tokens": 3,
    "max_model_len": 96,
    "max_num_seqs": 4,
    "max_num_batched_tokens": 64,
    "num_gpu_blocks": 9,
    "long_prefill_token_threshold": 0,
    "priority": False,
}
BLOCK = 32
"""The CPU attention kernel's smallest block, tokens."""


def config(told: dict[str, Any]) -> Any:
    """The knobs of ``spec.config`` it runs under; one block stands for none."""
    rows = told["max_num_batched_tokens"]
    return import_module("spec.config").Config(
        max_model_len=told["max_model_len"],
        num_spec_tokens=told["num_spec_tokens"],
        max_num_scheduled_tokens=rows,
        max_num_batched_tokens=rows,
        max_num_seqs=told["max_num_seqs"],
        block_size=BLOCK,
        num_gpu_blocks=told["num_gpu_blocks"] - 1,
        async_scheduling=told["async"],
    )


def engine(told: dict[str, Any]) -> Any:
    """The engine; with ``scheduler`` on, its scheduler class is named as ``--scheduler-cls``."""
    if told["async"]:
        keep_async()
    folder = tempfile.mkdtemp()
    Path(folder, "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    drafts = {"method": "ngram", "prompt_lookup_max": 2, "prompt_lookup_min": 1}
    if told["async"]:  # the engine refuses n-gram drafts under async scheduling
        drafts = {"method": "draft_model", "model": folder}
    kind = "RecordingAsyncScheduler" if told["async"] else "RecordingScheduler"
    named = {"scheduler_cls": f"proofs.recorder.scheduler.{kind}"} if told["scheduler"] else {}
    llm = import_module("vllm").LLM(
        model=folder,
        load_format="dummy",
        skip_tokenizer_init=True,
        enforce_eager=True,
        dtype="float32",
        max_model_len=told["max_model_len"],
        max_num_seqs=told["max_num_seqs"],
        max_num_batched_tokens=told["max_num_batched_tokens"],
        long_prefill_token_threshold=told["long_prefill_token_threshold"],
        block_size=BLOCK,
        num_gpu_blocks_override=told["num_gpu_blocks"],
        enable_prefix_caching=True,
        scheduling_policy="priority" if told["priority"] else "fcfs",
        speculative_config={"num_speculative_tokens": told["num_spec_tokens"], **drafts},
        async_scheduling=told["async"],
        **named,
    )
    return llm.llm_engine


def keep_async() -> None:
    """The CPU platform turns async scheduling off, being in no need of it; here it is kept."""
    platform = type(import_module("vllm.platforms").current_platform)
    update = platform.check_and_update_config.__func__

    def check_and_update_config(cls: Any, config: Any) -> None:
        asked = config.scheduler_config.async_scheduling
        update(cls, config)
        config.scheduler_config.async_scheduling = asked

    platform.check_and_update_config = classmethod(check_and_update_config)


def traffic(told: dict[str, Any], source: random.Random) -> tuple[dict[str, Any], Any, int]:
    """One request: prompt, sampling, priority."""
    longest = told["max_model_len"] - 1
    kind = source.randint(0, 5)
    if kind == 0:  # its prompt ends at the boundary
        length = longest - source.randint(0, 2 + told["num_spec_tokens"])
    elif kind == 1:  # a whole number of blocks and one token: a full hit leaves one to compute
        length = BLOCK * source.randint(1, longest // BLOCK) + 1
    elif kind < 4:
        length = source.randint(1, longest)
    else:  # short, and free to grow until the pool is too small for all
        length = source.randint(1, BLOCK)
    beginning = random.Random(source.randint(0, 2))
    tokens = [beginning.randint(3, 31) for _ in range(length)]
    if source.randint(0, 1):
        tokens[-1] = source.randint(3, 31)
    sampling = import_module("vllm").SamplingParams(
        max_tokens=source.choice((1, 2, 20, told["max_model_len"], told["max_model_len"])),
        temperature=source.choice((0.0, 1.0)),
        ignore_eos=source.randint(0, 2) > 0,
        stop_token_ids=[2, 5] if source.randint(0, 1) else None,
        detokenize=False,
    )
    return {"prompt_token_ids": tokens}, sampling, source.randint(0, 2) if told["priority"] else 0


class Driver:
    """One engine under traffic."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self.source = random.Random(told["seed"])
        self.engine = engine(told)
        self.core = self.engine.engine_core.engine_core
        self.steps = 0
        self.names: list[str] = []

    def feed(self) -> None:
        """What clients do before a step."""
        source, names = self.source, self.names
        live = len(self.core.scheduler.requests)
        # Now and then only one request is alive, so that it also meets an idle engine.
        wanted = 1 if self.steps // 50 % 3 == 2 else 2 * self.told["max_num_seqs"]
        if live < wanted and (live == 0 or source.randint(0, 2) == 0):
            prompt, sampling, priority = traffic(self.told, source)
            names.append(str(len(names)))
            self.engine.add_request(names[-1], prompt, sampling, priority=priority)
        if names and source.randint(0, 60) == 0:
            self.engine.abort_request([source.choice(names[-wanted:])])

    def step(self) -> float:
        """One step; how long it took, seconds."""
        began = time.perf_counter()
        self.engine.step()
        self.steps += 1
        return time.perf_counter() - began


def run(told: dict[str, Any]) -> dict[str, Any]:
    """Run the traffic; how many steps it took, and how long."""
    driver = Driver(told)
    seconds, died = 0.0, ""
    while driver.steps < told["steps"]:
        driver.feed()
        try:
            seconds += driver.step()
        except Exception as error:
            died = f"{type(error).__name__}: {error}"[:300]
            break
    driver.core.shutdown()
    return {
        "steps": driver.steps,
        "requests": len(driver.names),
        "seconds": round(seconds, 3),
        "died": died,
    }


if __name__ == "__main__":
    given = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    unknown = given.keys() - DEFAULTS.keys()
    if unknown:
        sys.exit(f"unknown settings: {', '.join(sorted(unknown))}")
    os.environ.update(ENVIRONMENT)
    print(json.dumps(run(DEFAULTS | given)))
