"""What has become of one request, as records: between two steps, and when its output is booked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from model.output import due
from model.request import FINISHED
from model.request import RequestStatus as ModelStatus
from proofs.source.objects.requests import Request, RequestStatus
from proofs.source.objects.tokens import Token
from proofs.source.runs.harness import Harness
from spec.logic import all_of, ite, min, not_
from spec.records import Booking, RequestState


def request_state(harness: Harness, request: Request) -> RequestState:
    """One request between two steps."""
    scheduler = harness.scheduler
    queues = [scheduler.running, *(queue.shown__ for queue in harness.queues())]
    name, finished = request.request_id, request.status > RequestStatus.PREEMPTED
    gone = finished or request.status is RequestStatus.PREEMPTED
    has_left = gone and harness.before[name].status is ModelStatus.RUNNING
    held = sum(1 for queue in queues for item in queue if item is request) + int(finished)
    return RequestState(
        config=harness.config,
        request_id=request.request_id,
        num_tokens=request.num_tokens,
        num_computed_tokens=request.num_computed_tokens,
        num_output_placeholders=request.num_output_placeholders,
        is_decode=_is_decode(request),
        num_queues=held,
        num_blocks=int(name not in harness.world.freed),  # one at least
        needs_no_blocks=has_left,
    )


def booking(harness: Harness, request: Request, samples: Any, tokens: Sequence[Token]) -> Booking:
    """One request's output booked.

    What is due follows from what came back alone: the text is measured by it.

    Args:
        samples: whether the rows that came back sample.
        tokens: what the runner returned.
    """
    config, was = harness.config, harness.before[request.request_id]
    alive = was.status not in FINISHED
    returned = len(tokens) if alive else 0
    to_length = min(
        config.max_model_len - was.num_tokens, request.max_tokens - was.num_output_tokens
    )
    to_stop: Any = 0
    for number, token in reversed(list(enumerate(tokens[:returned], 1))):
        to_stop = ite(token.stops__, number, to_stop)
    within, stop_due = due(returned, to_length, to_stop)
    running = was.status is ModelStatus.RUNNING
    return Booking(
        config=config,
        request_id=request.request_id,
        max_tokens=request.max_tokens,
        num_output_tokens=request.num_output_tokens,
        num_tokens=request.num_tokens,
        num_computed_tokens=request.num_computed_tokens,
        num_output_placeholders=request.num_output_placeholders,
        num_accepted_placeholders=request.num_invented__,
        is_decode=_is_decode(request),
        is_finished=request.status > RequestStatus.PREEMPTED,
        is_length_capped=request.status is RequestStatus.FINISHED_LENGTH_CAPPED,
        stopped_early=stop_due | (not alive),
        num_emitted_tokens=request.num_output_tokens - was.num_output_tokens,
        must_emit=all_of(samples, running, config.num_sampled_tokens_per_step > 0),
        num_returned_tokens=returned,
        num_due_tokens=ite(stop_due, to_stop, within) if alive else -1,
        stop_due=stop_due,
        is_stopped=request.status is RequestStatus.FINISHED_STOPPED,
    )


def _is_decode(request: Request) -> Any:
    if request.status is not RequestStatus.RUNNING:
        return False
    return not_(request.is_prefill_chunk)
