"""The real runner's host side, told in plain numbers; run by the engine's interpreter.

    python runner.py '{"steps": 200, "async": false}'

Prints JSON lines: ``batch``, what ``_prepare_inputs`` made of each step of the tiny engine;
``layout``, the sampler's indices for generated batches; ``dispatch``, the graph each rank of a
generated data-parallel group settles on.  The last is the runner's own method, run for each rank
with the all-reduce between them done by hand: there is one process and no GPU.
"""

from __future__ import annotations

import json
import os
import random
import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from proofs.recorder import exercise

LAYOUTS, GROUPS = 500, 3000
FULL_AND_PIECEWISE = "FULL_AND_PIECEWISE"


def tell(kind: str, **told: Any) -> None:
    """One line."""
    print("told", json.dumps({"kind": kind, **told}), flush=True)


def watch(runner: Any) -> None:
    """Tell every batch the runner prepares."""
    update, prepare = runner._update_states, runner._prepare_inputs
    reorder, placed = runner._may_reorder_batch, list[int]()
    names: dict[str, int] = {}

    def numbers(given: Any) -> list[int]:
        return [names.setdefault(name, len(names)) for name in given]

    def _may_reorder_batch(output: Any) -> Any:
        placed[:] = numbers(runner.input_batch.req_ids)
        return reorder(output)

    def _update_states(output: Any) -> Any:
        placed.clear()
        result = update(output)
        tell(
            "states",
            finished=numbers(output.finished_req_ids),
            preempted=numbers(output.preempted_req_ids or ()),
            rows=[
                [*numbers([name]), n, len(output.scheduled_spec_decode_tokens.get(name, ()))]
                for name, n in output.num_scheduled_tokens.items()
            ],
            placed=placed,  # before the attention backend asks for another order
            batch=numbers(runner.input_batch.req_ids),
        )
        return result

    def _prepare_inputs(output: Any, scheduled: Any) -> Any:
        logits, metadata, most = prepare(output, scheduled)
        batch, total = runner.input_batch, output.total_num_scheduled_tokens
        reqs, table = batch.num_reqs, batch.block_table[0]
        tell(
            "batch",
            batch=numbers(batch.req_ids),
            rows=scheduled[:reqs].tolist(),
            drafts=metadata.num_draft_tokens if metadata is not None else [0] * reqs,
            computed=runner.num_computed_tokens[:reqs].tolist(),
            blocks=table.block_table.np[:reqs].tolist(),
            req_indices=runner.req_indices.np[:total].tolist(),
            query_pos=runner.query_pos.np[:total].tolist(),
            positions=runner.positions[:total].tolist(),
            slot_mapping=table.slot_mapping.gpu[:total].tolist(),
            drafted=indices(metadata),
        )
        return logits, metadata, most

    runner._may_reorder_batch = _may_reorder_batch
    runner._update_states, runner._prepare_inputs = _update_states, _prepare_inputs


def indices(metadata: Any) -> dict[str, list[int]]:
    """The sampler's view of a batch."""
    names = (
        "cu_num_draft_tokens",
        "cu_num_sampled_tokens",
        "logits_indices",
        "target_logits_indices",
        "bonus_logits_indices",
    )
    return {name: getattr(metadata, name).tolist() for name in names}


def layouts(runner: Any, told: dict[str, Any], source: random.Random) -> None:
    """The sampler's indices for generated row and draft counts."""
    np = import_module("numpy")
    for _ in range(LAYOUTS):
        left, rows, drafts = told["max_num_batched_tokens"], [], []
        for _ in range(source.randint(1, told["max_num_seqs"])):
            n = source.choice((1, 1 + told["num_spec_tokens"], source.randint(1, left)))
            n = min(n, left)
            attached = source.choice((0, min(n - 1, told["num_spec_tokens"])))
            rows.append(n)
            drafts.append(attached)
            left -= n
            if left == 0:
                break
        cumulated = np.cumsum(rows, dtype=np.int32)
        made = runner._calc_spec_decode_metadata(np.array(drafts, dtype=np.int32), cumulated)
        tell("layout", rows=rows, drafts=drafts, drafted=indices(made))


def dispatches(source: random.Random) -> None:
    """The graph each rank of a group runs, by the runner's own method."""
    worker = import_module("vllm.v1.worker.gpu_model_runner")
    coordination: Any = import_module("vllm.v1.worker.dp_utils")
    torch = import_module("torch")
    gathered: list[Any] = []

    def all_reduce(**contribution: Any) -> Any:
        order = (
            "orig_num_tokens_per_ubatch",
            "padded_num_tokens_per_ubatch",
            "should_ubatch",
            "cudagraph_mode",
        )
        gathered.append([int(contribution[name]) for name in order])
        if len(gathered) <= ranks:  # the first pass only collects what every rank contributes
            raise _Collected
        return torch.tensor(gathered[:ranks], dtype=torch.int32).T.contiguous()

    coordination._run_ar = all_reduce
    coordination.should_skip_dp_coordination = lambda: False
    for _ in range(GROUPS):
        drafts, seqs, ranks = source.choice((1, 3, 7)), source.randint(1, 40), source.randint(1, 4)
        sizes = sorted(source.sample(range(1, 129), source.randint(1, 12)))
        group = [batch(source, seqs, 1 + drafts) for _ in range(ranks)]
        try:
            runners = [rank(drafts, seqs, sizes, ranks, number) for number in range(ranks)]
        except ValueError:
            continue  # no size is left after rounding: the engine refuses to start
        gathered.clear()
        for runner, rows in zip(runners, group, strict=True):
            try:
                settled = decide(worker, runner, rows)
            except _Collected:
                continue
        results = [decide(worker, r, rows) for r, rows in zip(runners, group, strict=True)]
        told = [[mode.name, descriptor.num_tokens] for mode, descriptor, *_ in results]
        if ranks == 1:
            told = [[settled[0].name, settled[1].num_tokens]]
        tell("dispatch", drafts=drafts, seqs=seqs, sizes=sizes, group=group, settled=told)


class _Collected(Exception):
    """A rank's contribution is known; the others' are not yet."""


def batch(source: random.Random, seqs: int, width: int) -> list[int]:
    """Rows per request of one rank; mostly uniform."""
    count = source.randint(1, seqs)
    if source.randint(0, 2):
        return [width] * count
    return [source.choice((1, width, source.randint(1, 40))) for _ in range(count)]


def rank(drafts: int, seqs: int, sizes: list[int], ranks: int, number: int) -> Any:
    """What ``_determine_batch_execution_and_padding`` reads of a runner."""
    config = import_module("vllm.config")
    mode = config.CUDAGraphMode[FULL_AND_PIECEWISE]
    compilation = SimpleNamespace(
        cudagraph_mode=mode,
        is_attention_compiled_piecewise=lambda: True,
        cudagraph_capture_sizes=sizes,
        max_cudagraph_capture_size=sizes[-1],
        compile_sizes=None,
        cudagraph_specialize_lora=False,
        mode=None,
        splitting_ops=None,
    )
    config.CompilationConfig.adjust_cudagraph_sizes_for_spec_decode(compilation, 1 + drafts)
    parallel = SimpleNamespace(
        data_parallel_size=ranks,
        data_parallel_rank=number,
        num_ubatches=1,
        use_ubatching=False,
        enable_dbo=False,
        disable_nccl_for_dp_synchronization=True,
    )
    whole = SimpleNamespace(
        compilation_config=compilation,
        num_speculative_tokens=drafts,
        lora_config=None,
        scheduler_config=SimpleNamespace(max_num_seqs=seqs),
        parallel_config=parallel,
        observability_config=SimpleNamespace(cudagraph_metrics=False),
    )
    dispatcher = import_module("vllm.v1.cudagraph_dispatcher").CudagraphDispatcher(whole)
    dispatcher.initialize_cudagraph_keys(mode, 1 + drafts)
    runner = import_module("vllm.v1.worker.gpu_model_runner").GPUModelRunner
    return SimpleNamespace(
        uniform_decode_query_len=1 + drafts,
        _is_uniform_decode=runner._is_uniform_decode,
        model_config=SimpleNamespace(is_encoder_decoder=False),
        input_batch=SimpleNamespace(lora_id_to_lora_request={}),
        cudagraph_dispatcher=dispatcher,
        vllm_config=whole,
        parallel_config=parallel,
    )


def decide(worker: Any, runner: Any, rows: list[int]) -> Any:
    """Call the runner's method for one rank's batch."""
    np = import_module("numpy")
    return worker.GPUModelRunner._determine_batch_execution_and_padding(
        runner,
        num_tokens=sum(rows),
        num_reqs=len(rows),
        num_scheduled_tokens_np=np.array(rows, dtype=np.int32),
        max_num_scheduled_tokens=max(rows),
        allow_microbatching=False,
    )


def main(told: dict[str, Any]) -> None:
    """Everything, in this order."""
    source = random.Random(told["seed"])
    driver = exercise.Driver(told | {"scheduler": False})
    runner = driver.core.model_executor.driver_worker.worker.model_runner
    watch(runner)
    while driver.steps < told["steps"]:
        driver.feed()
        driver.step()
    layouts(runner, told, source)
    dispatches(source)
    tell("end")


if __name__ == "__main__":
    os.environ.update(exercise.ENVIRONMENT)
    main(exercise.DEFAULTS | (json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}))
