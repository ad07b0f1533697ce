"""The engine's side: a released scheduler object, told what to do in JSON lines.

Run by the interpreter the engine is installed for, never imported by the project; needs nothing of
it but ``released.py`` and ``raising.py`` beside it and the recorder.  One line in is one execution:
a configuration and the calls to make.  One line out is what could be seen after each call; if asked
for, with the lines a recorder writes of it.
"""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from importlib import import_module
from pathlib import Path
from typing import Any

TOKEN, STOP_TOKEN = 7, 9
COUNTERS = (
    "num_output_tokens",
    "num_computed_tokens",
    "num_output_placeholders",
    "num_in_flight_tokens",
    "num_stale_output_tokens",
    "is_prefill_chunk",
    "num_preemptions",
)
BESIDE = "" if __name__ == "__main__" else "proofs.conform."
released: Any = import_module(f"{BESIDE}released")
raising: Any = import_module(f"{BESIDE}raising")
fitting, vllm = released.fitting, released.vllm


class Unwatched:
    """Nobody watches the scheduler."""

    def __getattr__(self, name: str) -> Any:
        return lambda *told: None


class Execution:
    """One scheduler and the steps in flight; ``lines`` gets what a recorder writes of it."""

    def __init__(self, engine: Any, knobs: dict[str, Any], lines: list[Any] | None = None) -> None:
        self.questions = released.Questions()
        self.asynchronous = knobs["async_scheduling"]
        self.scheduler = engine.scheduler(knobs, self.questions)
        self.watch: Any = Unwatched()
        if lines is not None:
            watch = import_module("proofs.recorder.watch")
            self.watch = watch.Watch(self.scheduler, lines.append, count_pool_every=1)
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
        self.watch.added(request)

    def place(self, name: str, told: dict[str, int]) -> None:
        """A request in the middle of its life, as some unknown past has left it."""
        self.add(name, told["num_prompt_tokens"], told["max_tokens"], told["priority"], 0)
        scheduler, request = self.scheduler, self.requests[name]
        request.arrival_time = float(told["arrival_time"])
        request.append_output_token_ids([TOKEN] * told["num_output_tokens"])
        request.spec_token_ids = [-1 if self.asynchronous else TOKEN] * told["len_spec_token_ids"]
        request.is_prefill_chunk = bool(told["is_prefill_chunk"])
        for counter in ("num_computed_tokens", "num_output_placeholders", *COUNTERS[3:5]):
            if hasattr(request, counter):
                setattr(request, counter, told[counter])
        status = vllm("v1.request").RequestStatus
        if told["is_running"]:
            scheduler.waiting.remove_request(request)
            request.status = status.RUNNING
            scheduler.running.append(request)
        else:
            request.status, request.num_preemptions = status.PREEMPTED, 1
        self.watch.interrupted("placed")

    def fly(self, name: str, rows: int, drafts: int, samples: bool) -> None:
        """A step in flight that nobody saw scheduled."""
        output = vllm("v1.core.sched.output").SchedulerOutput.make_empty()
        output.num_scheduled_tokens, output.total_num_scheduled_tokens = {name: rows}, rows
        if drafts:
            output.scheduled_spec_decode_tokens = {name: [-1] * drafts}
        self.in_flight.append(output)
        self.watch.flies(output, name, rows, drafts, samples)

    def abort(self, name: str) -> None:
        """The client goes away; a KV load of its request ends at once."""
        status = vllm("v1.request").RequestStatus
        loading = self.requests[name].status is status.WAITING_FOR_REMOTE_KVS
        living = self.watch.living(name)
        self.scheduler.finish_requests(name, status.FINISHED_ABORTED)
        self.watch.finished(living)
        if loading:
            self.loaded([name])

    def schedule(self, answers: dict[str, dict[str, Any]]) -> None:
        """One step; what the scheduler may ask is answered."""
        self.loaded([name for name, told in answers.items() if told.pop("loaded", False)])
        self.questions.answers = answers
        self.watch.schedules()
        output = self.scheduler.schedule()
        self.watch.scheduled(output, False)
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
        self.watch.returns(output, returned)
        self.scheduler.update_from_output(output, returned)
        self.watch.booked(output)
        if not self.asynchronous:
            proposed = [[TOKEN] * number for number in drafts.values()]
            self.scheduler.update_draft_token_ids(outputs.DraftTokenIds(list(drafts), proposed))
            self.watch.drafted(drafts)

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


def play(
    engine: Any, knobs: dict[str, Any], calls: list[Any], watched: bool = False
) -> list[dict[str, Any]]:
    """Make the calls; ends at the first exception, which is an observation too."""
    seen: list[dict[str, Any]] = []
    lines: list[Any] = []
    execution = Execution(engine, knobs, lines if watched else None)
    for name, *arguments in calls:
        try:
            getattr(execution, name)(*arguments)
            saw = execution.seen()
        except Exception as error:
            execution.watch.raised(name, error)
            saw = raising.seen(error)
        seen.append(saw | {"lines": lines.copy()} if watched else saw)
        lines.clear()
        if "raised" in saw:
            break
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
    engine: Any = None
    for line in sys.stdin:
        asked = json.loads(line)
        if engine is None:
            engine = released.Engine()
        answer({"seen": play(engine, asked["config"], asked["calls"], asked["watched"])})


HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    main()
