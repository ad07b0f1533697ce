"""The model's classes, and the fields of their objects that bodies give arbitrary values: all.

What the model keeps in another field would be proved for the value it begins with only, and what an
object of another class does not at all.  So with one nothing is decided until a body gives it any
value, and it stands here.
"""

from __future__ import annotations

from typing import Any

from model.engine import Engine
from model.kv_cache import KVCacheManager
from model.request import Request
from model.scheduler import Scheduler
from model.step import Scheduled, SchedulerOutput, Step
from proofs.frame import names_of
from proofs.symbolic import Context


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


KNOWN: dict[type, frozenset[str]] = {
    Engine: _names("config environment record scheduler in_flight max_in_flight"),
    Scheduler: _names(
        "config policy environment observer kv_cache_manager running waiting kv_holding_waiting"
        " finished num_waiting_for_streaming_input"
    ),
    KVCacheManager: _names("block_size num_free_blocks"),
    Step: _names(
        "token_budget input_budget threshold running_scheduled prefill_scheduled index"
        " num_scheduled_tokens num_draft_tokens padded preempted_reqs"
    ),
    Scheduled: _names("request num_scheduled_tokens num_draft_tokens padded samples"),
    SchedulerOutput: _names("scheduled preempted_reqs"),
    Request: _names(
        "request_id num_prompt_tokens max_tokens priority arrival_time status num_output_tokens"
        " num_computed_tokens num_output_placeholders num_spec_tokens num_in_flight_tokens"
        " num_stale_output_tokens is_prefill_chunk num_preemptions num_blocks"
    ),
}


ASKED_FOR = _names("request_id num_prompt_tokens max_tokens priority arrival_time")
FRESH = KNOWN[Request] - ASKED_FOR - {"status"}
"""What is 0 of a new request."""


def must_know(context: Context, *objects: Any) -> None:
    """The model made these objects: leave the path undecided if one is not what bodies know."""
    unknown = [name for each in objects for name in _strange(each)]
    if unknown:
        context.unsupported(f"the bodies know nothing of {', '.join(unknown)}")


def _strange(made: Any) -> list[str]:
    """The class of an object if it is not known; else fields not known, and known ones gone."""
    kind = type(made)
    if kind not in KNOWN:
        return [kind.__name__]
    return [f"{kind.__name__}.{name}" for name in sorted(KNOWN[kind] ^ names_of(made))]
