"""The fields of the model's objects that bodies give arbitrary values: all of them.

What the model keeps in another field would be proved for the value it begins with only, so with
one nothing is decided until a body gives it any value, and it stands here.
"""

from __future__ import annotations

from typing import Any

from model.engine import Engine
from model.kv_cache import KVCacheManager
from model.request import Request
from model.scheduler import Scheduler
from model.step import Step
from proofs.frame import names_of


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
    Request: _names(
        "request_id num_prompt_tokens max_tokens priority arrival_time status num_output_tokens"
        " num_computed_tokens num_output_placeholders num_spec_tokens num_in_flight_tokens"
        " num_stale_output_tokens is_prefill_chunk num_preemptions num_blocks"
    ),
}


def strange(*objects: Any) -> list[str]:
    """Fields of the model's objects that are not known, and known ones that are gone."""
    return [
        f"{kind.__name__}.{name}"
        for each in objects
        for kind, known in KNOWN.items()
        if isinstance(each, kind)
        for name in sorted(known ^ names_of(each))
    ]
