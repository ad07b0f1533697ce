"""A scheduler of our own, small enough to read: the same seams as vLLM's, none of its text.

``text`` puts a padding rule, an extra statement or a mutation into it, so that each test is about
one thing.
"""

from __future__ import annotations

from proofs.source.loader import Text

GOOD_PAD = """
                room = computed + 1 + self.num_spec_tokens + 1 <= self.max_model_len
                if room and self.threshold_allows():
                    if 1 + self.num_spec_tokens > budget:
                        break
                    rows, padded = 1 + self.num_spec_tokens, True
"""
OVERFLOWING_PAD = """
                if 1 + self.num_spec_tokens > budget:
                    break
                rows, padded = 1 + self.num_spec_tokens, True
"""

TEMPLATE = """
from collections import deque

from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.core.sched.interface import SchedulerInterface
from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.core.sched.request_queue import create_request_queue, SchedulingPolicy
from vllm.v1.core.sched.utils import check_stop, remove_all
from vllm.v1.request import RequestStatus
{imports}


class Scheduler(SchedulerInterface):
    def __init__(self, vllm_config, kv_cache_config, structured_output_manager, block_size,
                 log_stats=False):
        self.vllm_config = vllm_config
        self.scheduler_config = vllm_config.scheduler_config
        self.max_model_len = vllm_config.model_config.max_model_len
        self.num_spec_tokens = vllm_config.num_speculative_tokens
        self.diffusion = vllm_config.model_config.is_diffusion
        self.num_sampled_tokens_per_step = 0 if self.diffusion else 1
        self.kv_cache_manager = KVCacheManager(kv_cache_config=kv_cache_config)
        self.policy = SchedulingPolicy(self.scheduler_config.policy)
        self.waiting = create_request_queue(self.policy)
        self.running = []
        self.requests = {{}}
        {init}

    def add_request(self, request):
        self.waiting.add_request(request)
        self.requests[request.request_id] = request

    def threshold_allows(self):
        threshold = self.scheduler_config.long_prefill_token_threshold
        return threshold <= 0 or threshold >= 1 + self.num_spec_tokens

    def cap(self, rows):
        threshold = self.scheduler_config.long_prefill_token_threshold
        if 0 < threshold < rows:
            rows = threshold
        return rows

    def schedule(self):
        {schedule}
        self.kv_cache_manager.new_step_starts()
        budget = self.scheduler_config.max_num_scheduled_tokens
        budget = min(budget, self.scheduler_config.max_num_batched_tokens)
        rows_of: dict[str, int] = {{}}
        drafts_of: dict[str, list[int]] = {{}}
        preempted = []
        prefill = False
        index = 0
        while index < len(self.running) and budget > 0:
            request = self.running[index]
            rows = request.num_tokens_with_spec - request.num_computed_tokens
            rows = min(self.cap(rows), budget)
            room = self.max_model_len - request.num_computed_tokens
            rows = min(rows, room - self.num_sampled_tokens_per_step)
            if rows <= 0:
                index += 1
                continue
            while True:
                blocks = self.kv_cache_manager.allocate_slots(request, rows)
                if blocks is not None:
                    break
                victim = self.running[-1]
                if self.policy == SchedulingPolicy.PRIORITY:
                    victim = max(self.running, key=lambda r: (r.priority, r.arrival_time))
                if self.running.index(victim) < index:
                    index -= 1
                    budget += rows_of.pop(victim.request_id, 0)
                    drafts_of.pop(victim.request_id, None)
                self.running.remove(victim)
                self._preempt_request(victim)
                preempted.append(victim)
                if victim is request:
                    break
            if blocks is None:
                if self.policy == SchedulingPolicy.PRIORITY:
                    continue
                break
            rows_of[request.request_id] = rows
            prefill |= request.is_prefill_chunk
            budget -= rows
            index += 1
            drafts = rows + request.num_computed_tokens - request.num_tokens
            if request.spec_token_ids and drafts > 0:
                drafts_of[request.request_id] = request.spec_token_ids[:drafts]
            request.spec_token_ids = []
        while not preempted and self.waiting and budget > 0:
            if len(self.running) >= self.scheduler_config.max_num_seqs:
                break
            request = self.waiting.peek_request()
            blocks, computed = None, request.num_computed_tokens
            if computed == 0:
                blocks, computed = self.kv_cache_manager.get_computed_blocks(request)
            rows, padded = request.num_tokens - computed, False
            if (
                self.num_spec_tokens > 0
                and self.num_sampled_tokens_per_step > 0
                and rows == 1
                and computed > 0
                and not prefill
            ):{pad}
            rows = self.cap(rows)
            if rows > budget and not self.scheduler_config.enable_chunked_prefill:
                break
            rows = min(rows, budget)
            {admit}
            if self.kv_cache_manager.allocate_slots(
                request, rows, num_new_computed_tokens=computed, new_computed_blocks=blocks
            ) is None:
                break
            self.waiting.pop_request()
            self.running.append(request)
            request.status = RequestStatus.RUNNING
            request.num_computed_tokens = computed
            rows_of[request.request_id] = rows
            budget -= rows
            if padded:
                drafts_of[request.request_id] = [-1] * self.num_spec_tokens
        output = SchedulerOutput(
            num_scheduled_tokens=rows_of, scheduled_spec_decode_tokens=drafts_of
        )
        self._update_after_schedule(output)
        return output

    def _preempt_request(self, request):
        self.kv_cache_manager.free(request)
        request.status = RequestStatus.PREEMPTED
        request.num_computed_tokens = 0
        request.spec_token_ids = []
        request.num_preemptions += 1
        self.waiting.prepend_request(request)

    def _update_after_schedule(self, output):
        for name, rows in output.num_scheduled_tokens.items():
            request = self.requests[name]
            request.num_computed_tokens += rows
            request.is_prefill_chunk = request.num_computed_tokens < request.num_tokens

    def update_from_output(self, scheduler_output, model_runner_output):
        stopped = set()
        for name in scheduler_output.num_scheduled_tokens:
            request = self.requests.get(name)
            if request is None or request.is_finished():
                continue
            index = model_runner_output.req_id_to_index[name]
            tokens = model_runner_output.sampled_token_ids[index]
            drafts = scheduler_output.scheduled_spec_decode_tokens.get(name)
            if drafts and (tokens or self.num_sampled_tokens_per_step == 0):
                accepted = max(len(tokens) - self.num_sampled_tokens_per_step, 0)
                request.num_computed_tokens -= len(drafts) - accepted
            for count, token in enumerate(tokens, 1):
                request.append_output_token_ids(token)
                if check_stop(request, self.max_model_len):
                    request.num_computed_tokens -= len(tokens) - count
                    stopped.add(request)
                    self.kv_cache_manager.free(request)
                    del self.requests[name]
                    break
        self.running = remove_all(self.running, stopped)
        {update}

    def update_draft_token_ids(self, drafts):
        for name, tokens in zip(drafts.req_ids, drafts.draft_token_ids):
            request = self.requests.get(name)
            if request is None or request.is_finished():
                continue
            request.spec_token_ids = [] if request.is_prefill_chunk else tokens
{methods}
"""


def text(
    pad: str = GOOD_PAD,
    *,
    imports: str = "",
    init: str = "pass",
    schedule: str = "pass",
    admit: str = "pass",
    update: str = "pass",
    methods: str = "",
) -> str:
    """The scheduler with these parts in place."""
    return TEMPLATE.format(
        pad=pad,
        imports=imports,
        init=init,
        schedule=schedule,
        admit=admit,
        update=update,
        methods=methods,
    )


def texts(pad: str = GOOD_PAD, **parts: str) -> tuple[Text, ...]:
    """`text` as the loader takes it."""
    return (Text("scheduler.py", text(pad, **parts)),)


def line_of(content: str, part: str) -> int:
    """The number of the first line containing a part."""
    return next(n for n, line in enumerate(content.splitlines(), 1) if part in line)
